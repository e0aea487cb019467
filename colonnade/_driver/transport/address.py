"""The addresses of servers."""

from __future__ import annotations

from typing import NamedTuple


class TcpAddress(NamedTuple):
    """A host name or IP address, and a port.

    `connect_to` is the IP address to connect to, if the name need not be looked up: TLS then
    verifies the name.
    """

    host: str
    port: int
    connect_to: str | None = None

    @property
    def target(self) -> tuple[str, int]:
        """The address for the socket."""
        return self.connect_to or self.host, self.port

    @property
    def place(self) -> tuple[str, int]:
        """The host as given, and the port."""
        return self.host, self.port

    def __str__(self) -> str:
        """As people write it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


class UnixAddress(NamedTuple):
    """A Unix socket, by the path of its file."""

    path: str

    @property
    def place(self) -> str:
        """The file's path."""
        return self.path

    def __str__(self) -> str:
        """As people write it."""
        return self.path


Address = TcpAddress | UnixAddress
