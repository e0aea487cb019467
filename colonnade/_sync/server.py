# Generated from colonnade/_async/server.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""What a connection knows of its server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade._server_facts import ServerSettings, parse_server_version

if TYPE_CHECKING:
    from colonnade import _core
    from colonnade.types import ServerVersion


class ServerMixin:
    """The methods of a connection about its server."""

    _session: _core.Session

    def get_server_pid(self) -> int | None:
        """The process identifier of the server's backend."""
        return self._session.process_id

    def get_server_version(self) -> ServerVersion:
        """The version of the server, such as `(18, 0, 6, "final", 0)` for PostgreSQL 18.6.

        From PostgreSQL 10 on, `minor` is 0 and `micro` counts the corrections.
        """
        return parse_server_version(self._session.parameters.get("server_version", ""))

    def get_settings(self) -> ServerSettings:
        """The run-time parameters that the server reports, as attributes and as items.

        They follow the server: after `SET TimeZone` the same object has the new zone.
        """
        return ServerSettings(lambda: self._session.parameters)
