"""TLS: whether and how a connection uses it, by libpq's options.

The options are ``sslmode`` and its companions; the rules are libpq's, with these safer differences:

* a file that is named must exist and load, in every mode;
* ``allow`` and ``prefer`` verify only against a named root certificate: an existing
  ``~/.postgresql/root.crt`` would turn an unverified TLS connection into one without TLS.

A caller's `ssl.SSLContext` is used unchanged; for ``direct`` negotiation the caller must call
``set_alpn_protocols(["postgresql"])``, which the server requires.

Creating a context takes milliseconds (it reads files): create a policy once and use it for all
connections of a pool.
"""

from __future__ import annotations

import enum
import ssl
from typing import TYPE_CHECKING, Literal, NamedTuple

from colonnade._driver.transport.address import UnixAddress
from colonnade.errors import RemoteProtocolError

if TYPE_CHECKING:
    from colonnade._driver.transport.address import Address

Negotiation = Literal["postgres", "direct"]

# The name of the protocol inside TLS; servers since PostgreSQL 17 check it.
ALPN = "postgresql"
# The value of `sslrootcert` for the certificates that the operating system trusts.
SYSTEM_ROOTS = "system"


class TlsRefusedError(ConnectionError):
    """The server answered the TLS request with an error: no further attempt is made."""


class SslMode(enum.StrEnum):
    """The values of ``sslmode``, in order of strictness."""

    DISABLE = "disable"
    ALLOW = "allow"
    PREFER = "prefer"
    REQUIRE = "require"
    VERIFY_CA = "verify-ca"
    VERIFY_FULL = "verify-full"

    @property
    def is_required(self) -> bool:
        """Whether the connection must not continue without TLS."""
        return self in {SslMode.REQUIRE, SslMode.VERIFY_CA, SslMode.VERIFY_FULL}

    @property
    def is_verified(self) -> bool:
        """Whether the server's certificate must lead to a trusted root."""
        return self in {SslMode.VERIFY_CA, SslMode.VERIFY_FULL}


class TlsOptions(NamedTuple):
    """The TLS part of the connection options, as text; None means "not given"."""

    mode: SslMode = SslMode.PREFER
    root_certificate: str | None = None
    certificate: str | None = None
    key: str | None = None
    key_password: str | None = None
    revocation_list: str | None = None
    revocation_directory: str | None = None
    min_version: str | None = None
    max_version: str | None = None
    negotiation: Negotiation = "postgres"
    sends_server_name: bool = True

    def __repr__(self) -> str:
        """Without the key's password."""
        return f"TlsOptions(mode={self.mode.value!r}, negotiation={self.negotiation!r}, ...)"


class TlsPolicy(NamedTuple):
    """Whether and how one attempt to connect uses TLS, and the meaning of a refusal."""

    mode: SslMode
    context: ssl.SSLContext | None
    """None: this attempt is without TLS."""
    negotiation: Negotiation = "postgres"
    sends_server_name: bool = True

    @property
    def is_direct(self) -> bool:
        """Whether the handshake begins at once, without asking the server first."""
        return self.context is not None and self.negotiation == "direct"

    def server_hostname(self, host: str) -> str | None:
        """The name that the handshake sends, and that the certificate must carry if checked."""
        if self.context is None:
            return None
        return host if self.sends_server_name or self.context.check_hostname else None

    def accepts(self, answer: bytes) -> bool:
        """Whether the handshake may begin after the server's answer to the TLS request.

        False: the server refused, and the connection may continue without TLS.
        """
        if answer == b"S":
            return True
        if answer == b"N":
            if self.mode.is_required:
                raise ConnectionError(
                    "the server rejected SSL upgrade: it does not offer TLS, which "
                    f"sslmode={self.mode.value} requires"
                )
            return False
        if not answer:
            raise ConnectionError("the server closed the connection when asked for TLS")
        if answer[:1] in {b"S", b"N"}:
            # Bytes before the handshake may come from an attacker on the network; reading them as
            # if they had arrived under TLS would let the attacker speak for the server.
            raise RemoteProtocolError("the server sent unencrypted data after its answer for TLS")
        if answer[:1] == b"E":
            # Its text is not shown: the sender has not yet proved to be the server.
            raise TlsRefusedError(
                "the server sent an error response during SSL exchange; check the server logs"
            )
        raise RemoteProtocolError(
            "the answer to the TLS request is not PostgreSQL's: is it the right port?"
        )

    def check_protocol(self, selected: str | None) -> None:
        """Refuse a server that began TLS at once but did not select PostgreSQL's protocol.

        Other kinds of servers select another protocol or none; the client must not send them more.
        """
        if self.is_direct and selected != ALPN:
            raise ConnectionError(
                f"the server did not select the protocol {ALPN!r} in the TLS handshake (ALPN): "
                "it is not a PostgreSQL server, or the ssl.SSLContext does not offer the protocol "
                '(context.set_alpn_protocols(["postgresql"]))'
            )

    def attempts(self, address: Address) -> tuple[TlsPolicy, ...]:
        """The attempts, in order, until one passes the server's authentication.

        Unix sockets use no TLS. ``allow`` begins without TLS, ``prefer`` ends without; all other
        modes have only one attempt. The second attempt follows if the server rejects the first (an
        error before authentication has ended), and for ``prefer`` also if the handshake fails.
        """
        if self.context is None:
            return (self,)
        plain = self._replace(context=None)
        if isinstance(address, UnixAddress):
            return (plain,)
        if self.mode is SslMode.ALLOW:
            return plain, self
        if self.mode is SslMode.PREFER:
            return self, plain
        return (self,)
