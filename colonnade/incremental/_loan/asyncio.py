"""A connection of asyncio for one read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import colonnade
from colonnade import sync
from colonnade._words.shown import class_name

if TYPE_CHECKING:
    from types import TracebackType

    from colonnade.pool import PoolConnectionProxy

Connectable: TypeAlias = "str | colonnade.Connection | colonnade.Pool | PoolConnectionProxy"


class Loan:
    """The connection of `con`: opened for a DSN, or taken from a pool, and ended likewise.

    Raises TypeError for anything else.
    """

    def __init__(self, con: Connectable) -> None:
        if isinstance(con, (sync.Connection, sync.Pool, sync.PoolConnectionProxy)):
            raise TypeError(
                "con is one of colonnade.sync: read_new and iter_new of incremental.sync take it"
            )
        if not (isinstance(con, str) or hasattr(con, "fetch_plain")):
            raise TypeError(
                f"con must be a DSN, a connection or a pool of asyncio, not {class_name(con)}"
            )
        self._con: Any = con
        self._own: colonnade.Connection | None = None
        self._lent: PoolConnectionProxy | None = None

    async def __aenter__(self) -> colonnade.Connection:
        if isinstance(self._con, str):
            self._own = await colonnade.connect(self._con)
            return self._own
        connection: Any = self._con
        if hasattr(connection, "acquire"):
            connection = self._lent = await connection.acquire()
        return connection  # type: ignore[no-any-return]

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        own, self._own = self._own, None
        lent, self._lent = self._lent, None
        if own is not None:
            await own.close()
        if lent is not None:
            await self._con.release(lent)

    def drop(self) -> None:
        """End it without waiting."""
        own, self._own = self._own, None
        lent, self._lent = self._lent, None
        if own is not None:
            own.terminate()
        holder = None if lent is None else lent.holder
        if holder is not None and not holder.give_back():
            holder.finish_in_background()
