"""Kerberos authentication through GSSAPI, with the package `gssapi`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade._driver.transport.address import TcpAddress
from colonnade._words.extras import how_to_install
from colonnade.errors import AuthenticationError

if TYPE_CHECKING:
    from colonnade._driver.transport.address import Address


class GssExchange:
    """One exchange of tokens with a server, with mutual authentication."""

    def __init__(self, service: str, address: Address, library: str | None) -> None:
        if library == "sspi":
            msg = "the server asks for GSSAPI authentication, for which gsslib must be gssapi"
            raise AuthenticationError(msg)
        if not isinstance(address, TcpAddress):
            msg = "the server asks for GSSAPI authentication, which needs the name of its host"
            raise AuthenticationError(msg, hint="Connect over TCP.")
        try:
            import gssapi
        except (ImportError, OSError) as error:
            msg = "the server asks for GSSAPI authentication, which needs the package gssapi"
            hint = f"Let pg_hba.conf ask for a password, or install it: {how_to_install('gssapi')}"
            raise AuthenticationError(msg, hint=hint) from error
        self._gssapi: Any = gssapi
        self._principal = f"{service}@{address.host}"
        name = gssapi.Name(self._principal, gssapi.NameType.hostbased_service)
        self._context = gssapi.SecurityContext(
            name=name, usage="initiate", flags=gssapi.RequirementFlag.mutual_authentication
        )

    def step(self, token: bytes) -> bytes | None:
        """Return the next token to send, made from the server's last one; None if there is none.

        May block while the key distribution centre issues a ticket.
        """
        try:
            answer: bytes | None = self._context.step(token or None)
        except self._gssapi.exceptions.GSSError as error:
            msg = f"GSSAPI authentication with {self._principal} failed: {error}"
            raise AuthenticationError(
                msg, hint="Is there a ticket (klist), and is krbsrvname the service of the server?"
            ) from error
        return answer

    def check_end(self) -> None:
        """Raise AuthenticationError if the server ended the exchange without authenticating."""
        if not self._context.complete:
            msg = "the server ended GSSAPI authentication without proving who it is"
            raise AuthenticationError(msg)
