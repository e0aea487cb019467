"""Where a server listens."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TcpAddress:
    """A host name or IP address, and a port.

    `connect_to` is the IP address to connect to, where the name need not be looked up: the name is
    then what TLS verifies.
    """

    host: str
    port: int
    connect_to: str | None = None

    @property
    def target(self) -> tuple[str, int]:
        """What sockets connect to."""
        return self.connect_to or self.host, self.port

    @property
    def place(self) -> tuple[str, int]:
        """The host as it was named, and the port."""
        return self.host, self.port

    def __str__(self) -> str:
        """As people write it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class UnixAddress:
    """A Unix socket, by the file that stands for it."""

    path: str

    @property
    def place(self) -> str:
        """The file's path."""
        return self.path

    def __str__(self) -> str:
        """As people write it."""
        return self.path


Address = TcpAddress | UnixAddress
