"""Facts about a connection and its server."""

from __future__ import annotations

import datetime as dt
import zoneinfo
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from colonnade import sync

_MAJOR = 10_000


class ConnectionInfo:
    """Facts about a connection, read without a round trip; returned by `Connection.info`."""

    def __init__(self, driver: sync.Connection) -> None:
        self._driver = driver

    @property
    def host(self) -> str:
        """The server's host, or the path of its socket."""
        address = self._driver.address
        return address if isinstance(address, str) else address[0]

    @property
    def port(self) -> int | None:
        """The server's port; None for a Unix socket."""
        address = self._driver.address
        return None if isinstance(address, str) else address[1]

    @property
    def dbname(self) -> str:
        """The name of the database."""
        return self._driver.database

    @property
    def user(self) -> str:
        """The role that the connection logged in as."""
        return self._driver.user

    @property
    def backend_pid(self) -> int | None:
        """The process ID of the server's backend."""
        return self._driver.get_server_pid()

    @property
    def server_version(self) -> int:
        """The server's version as a number, such as 180006 for 18.6."""
        version = self._driver.get_server_version()
        return version.major * _MAJOR + version.minor * 100 + version.micro

    @property
    def transaction_status(self) -> str:
        """The state of the transaction: "idle", "in transaction" or "failed"."""
        return self._driver.transaction_status

    @property
    def encoding(self) -> str:
        """Python's name of the client encoding: always "utf-8"."""
        return "utf-8"

    @property
    def timezone(self) -> dt.tzinfo:
        """The session's time zone; UTC if Python's `zoneinfo` does not have it."""
        try:
            return zoneinfo.ZoneInfo(self.parameter_status("TimeZone") or "UTC")
        except (KeyError, ValueError, OSError):
            return dt.UTC

    def parameter_status(self, name: str) -> str | None:
        """Return the value of a run-time parameter; None if the server does not report it."""
        return getattr(self._driver.get_settings(), name, None)
