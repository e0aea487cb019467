"""What a connection knows of its server."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from colonnade._async.operation import checked_timeout, name_limit
from colonnade._server_facts import ServerSettings, parse_server_version
from colonnade._transport.asyncio import deadline
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from colonnade import _core
    from colonnade._transport.asyncio import AsyncioTransport
    from colonnade.types import ServerVersion


class ServerMixin:
    """The methods of a connection about its server."""

    _session: _core.Session
    _transport: AsyncioTransport
    _user: str
    _database: str
    _addr: str | tuple[str, int]
    _cancel_request: bytes | None

    @property
    def transaction_status(self) -> str:
        """Whether a transaction is open: "idle", "in transaction" or "failed".

        It is what the server last said; "failed" is a transaction that can only be rolled back.
        """
        return self._session.transaction_status

    @property
    def address(self) -> str | tuple[str, int]:
        """Where the server is: the path of its socket, or host and port."""
        return self._addr

    @property
    def user(self) -> str:
        """The name of the role that the connection was made as."""
        return self._user

    @property
    def database(self) -> str:
        """The name of the database."""
        return self._database

    async def cancel(self, *, timeout: float | None = None) -> None:
        """Ask the server to cancel what the connection is running.

        For another task, or thread, than the one that waits for the query, which fails with
        QueryCanceledError. Where nothing runs, nothing happens. Raises OSError where the server
        cannot be reached, TimeoutError after `timeout` seconds.
        """
        if self._cancel_request is None:
            return
        # Where another thread is just within the session, there is something to cancel.
        with contextlib.suppress(InterfaceError):
            if self._session.is_closed:
                return
        try:
            async with deadline(checked_timeout(timeout)):
                await self._transport.send_cancel(self._cancel_request)
        except TimeoutError as error:
            name_limit(error, "the server did not take the request to cancel", timeout)
            raise

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
