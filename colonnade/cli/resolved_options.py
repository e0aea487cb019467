"""Resolves the connection options as the driver does, without connecting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from colonnade._driver.connection_options import TlsArguments, resolve

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping


@dataclass(frozen=True)
class Host:
    """One server address, and how to connect to it."""

    #: The address in messages.
    name: str
    #: Host and port, or the path of a Unix socket.
    place: tuple[str, int] | str
    #: The host or address to connect to (hostaddr, if given).
    connect_to: str
    has_password: bool
    #: The TLS context of the first attempt; None without TLS.
    context: ssl.SSLContext | None
    server_hostname: str | None
    #: Whether TLS starts at once, without an SSLRequest (sslnegotiation=direct).
    is_direct: bool


@dataclass(frozen=True)
class ResolvedOptions:
    """The resolved connection options, without secrets."""

    user: str
    database: str
    hosts: tuple[Host, ...]
    sslmode: str
    target_session_attrs: str
    connect_timeout: float | None
    server_settings: dict[str, str]

    @property
    def has_password(self) -> bool:
        """Whether a password is known for at least one host."""
        return any(host.has_password for host in self.hosts)

    @property
    def places(self) -> str:
        """The hosts for messages, separated by commas."""
        return ", ".join(host.name for host in self.hosts)


def resolved_options(dsn: str | None, words: Mapping[str, object]) -> ResolvedOptions:
    """Resolve the options as `connect` does.

    Raises ClientConfigurationError for invalid options.
    """
    options = resolve(dsn, words, None, TlsArguments())
    hosts = []
    for endpoint in options.endpoints:
        address = endpoint.address
        first = options.tls.attempts(address)[0]
        place = address.place
        host = place if isinstance(place, str) else place[0]
        hosts.append(
            Host(
                name=str(address),
                place=place,
                connect_to=getattr(address, "connect_to", None) or host,
                has_password=endpoint.password is not None,
                context=first.context,
                server_hostname=first.server_hostname(host),
                is_direct=first.is_direct,
            )
        )
    return ResolvedOptions(
        user=options.info.user,
        database=options.info.database,
        hosts=tuple(hosts),
        sslmode=options.tls.mode.value,
        target_session_attrs=options.target_session_attrs,
        connect_timeout=options.connect_timeout,
        server_settings=dict(options.info.server_settings),
    )
