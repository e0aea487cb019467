"""Taking a session back to what it was after the connection was made."""

from __future__ import annotations

# async-only: begin
import asyncio

# async-only: end
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from colonnade import _core
    from colonnade._async.operation import Operation
    from colonnade._async.transaction import Transaction

# What a server has that must be undone, the statement that does it, and the run-time parameters by
# which the servers are known that lack it: Redshift, CockroachDB and CrateDB.
_STATEMENTS = (
    (
        "SELECT pg_catalog.pg_advisory_unlock_all();",
        ("padb_revision", "crdb_version", "crate_version"),
    ),
    ("CLOSE ALL;", ("padb_revision", "crdb_version", "crate_version")),
    ("UNLISTEN *;", ("padb_revision", "crdb_version", "crate_version")),
    ("RESET ALL;", ("crdb_version", "crate_version")),
)


class ResetMixin:
    """The methods of a connection about its reset, and what a pool keeps with it."""

    _session: _core.Session
    _transaction: Transaction | None
    _listeners: dict[str, list[Any]]
    _channels: set[str]
    _log_listeners: list[Any]

    def __init__(self) -> None:
        super().__init__()
        # How often the connection was given back to a pool. What was made through it before, such
        # as a prepared statement, is of no use to whoever has it now.
        self._generation = 0
        # The seconds that the last `acquire` of a pool waited for this connection.
        self._pool_wait = 0.0
        self._reset_query: str | None = None

    def _operation(self, timeout: float | None) -> Operation:
        raise NotImplementedError

    async def _completion(self) -> _core.Completion:
        raise NotImplementedError

    def _end_stream(self) -> None:
        raise NotImplementedError

    def get_reset_query(self) -> str:
        """The statements that `reset` runs, and a pool each time a connection is given back.

        A subclass of Connection can return others; an empty text stands for none. Servers that
        only speak PostgreSQL's protocol are spared the statements that they do not know.
        """
        return self._own_reset_query()

    def _own_reset_query(self) -> str:
        if self._reset_query is None:
            known = self._session.parameters
            lines = (
                statement
                for statement, lacking in _STATEMENTS
                if not any(name in known for name in lacking)
            )
            self._reset_query = "\n".join(lines)
        return self._reset_query

    async def reset(self, *, timeout: float | None = None) -> None:
        """Take the session back to what it was: listeners, transaction, locks, cursors, settings.

        Callbacks for notifications and for messages of the server are forgotten, an open
        transaction is rolled back and reported to the loop's exception handler, and the statements
        of `get_reset_query` are run.
        """
        self._forget_listeners()
        query = self.get_reset_query()
        self._end_stream()
        async with self._operation(timeout):
            await self._undo_transaction()
            if query:
                self._session.script(query)
                await self._completion()
        if query == self._own_reset_query():
            self._session.mark_untouched()

    # Inside

    def _forget_listeners(self) -> None:
        self._listeners.clear()
        self._channels.clear()
        self._log_listeners.clear()

    async def _undo_transaction(self) -> None:
        """Within an operation: roll back what was left open."""
        # async-only: begin
        transaction = self._transaction
        is_managed = transaction is not None and transaction._is_managed  # noqa: SLF001
        # async-only: end
        self._transaction = None
        if self._session.transaction_status == "idle":
            return
        # async-only: begin
        if not is_managed:
            message = f"Resetting connection with an active transaction {self!r}"
            asyncio.get_running_loop().call_exception_handler({"message": message})
        # async-only: end
        self._session.script("ROLLBACK")
        await self._completion()
