"""New rows over an asyncio connection."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Self

from colonnade import sync
from colonnade._words.arguments import check_count
from colonnade._words.shown import class_name
from colonnade.errors import InterfaceError
from colonnade.incremental.reading import state_at_end
from colonnade.incremental.request import New, Request

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence
    from types import TracebackType

    from colonnade import Columns, ColumnStream, Connection, Pool
    from colonnade.incremental.request import Asked, State
    from colonnade.pool import PoolConnectionProxy
    from colonnade.types import Infinity


async def read_new_async(
    table: str,
    con: Connection | Pool,
    *,
    by: str,
    state: Mapping[str, Any] | None = None,
    columns: Sequence[str] | None = None,
    schema: Any = None,
    infinity: Infinity = "raise",
    timeout: float | None = None,
) -> New:
    """As `read_new`, over a connection or pool of asyncio."""
    request = Request(table, by=by, state=state, columns=columns)
    async with _connection(con) as connection:
        asked = await _asked(request, connection)
        rows = await connection.fetch_columns(
            asked.sql, *asked.args, schema=schema, infinity=infinity, timeout=timeout
        )
    return New(rows, asked.state)


def iter_new_async(
    table: str,
    con: Connection | Pool,
    *,
    by: str,
    state: Mapping[str, Any] | None = None,
    columns: Sequence[str] | None = None,
    batch_rows: int = 65_536,
    schema: Any = None,
    infinity: Infinity = "raise",
    timeout: float | None = None,
) -> NewBatchesAsync:
    """As `iter_new`, over a connection or pool of asyncio, in an `async with` block."""
    check_count("batch_rows", batch_rows)
    options = {
        "batch_rows": batch_rows,
        "schema": schema,
        "infinity": infinity,
        "timeout": timeout,
    }
    return NewBatchesAsync(Request(table, by=by, state=state, columns=columns), con, options)


class NewBatchesAsync:
    """New rows in batches, of `iter_new_async`; a context manager that ends the query early.

    No generator: one that is dropped gives its connection back only later, in a task.
    """

    def __init__(
        self, request: Request, con: Connection | Pool, options: Mapping[str, Any]
    ) -> None:
        self._request = request
        self._con = con
        self._options = options
        self._lent: PoolConnectionProxy | None = None
        self._stream: ColumnStream | None = None
        self._asked: Asked | None = None
        self._found: list[State] = []
        self._is_waiting = False
        self._is_finished = False

    @property
    def state(self) -> State:
        """The state for the next read. Raises InterfaceError before the last batch."""
        return state_at_end(self._found)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Columns:
        if self._is_finished:
            raise StopAsyncIteration
        if self._is_waiting:
            raise InterfaceError("cannot perform operation: another operation is in progress")
        self._is_waiting = True
        try:
            if self._stream is None:
                self._stream = await self._opened()
            return await anext(self._stream)
        except BaseException as error:
            if isinstance(error, StopAsyncIteration) and self._asked is not None:
                self._found.append(self._asked.state)
            self._end()
            raise
        finally:
            self._is_waiting = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End the query, if it is running."""
        self._is_finished = True
        stream, self._stream = self._stream, None
        if stream is not None:
            await stream.aclose()
        lent, self._lent = self._lent, None
        if lent is not None:
            pool: Any = self._con
            await pool.release(lent)

    def __del__(self) -> None:
        self._end()

    async def _opened(self) -> ColumnStream:
        connection: Any = self._con
        if _is_pool(connection):
            connection = self._lent = await connection.acquire()
        self._asked = await _asked(self._request, connection)
        stream: ColumnStream = connection.iter_columns(
            self._asked.sql, *self._asked.args, **self._options
        )
        return stream

    def _end(self) -> None:
        """End the stream, and give a connection back to its pool, without waiting."""
        self._is_finished = True
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.finish()
        lent, self._lent = self._lent, None
        holder = None if lent is None else lent.holder
        if holder is not None and not holder.give_back():
            holder.finish_in_background()


@asynccontextmanager
async def _connection(con: Any) -> AsyncGenerator[Connection, None]:
    """Yield a connection of a pool, or the connection itself."""
    if not _is_pool(con):
        yield con
        return
    async with con.acquire() as connection:
        yield connection


def _is_pool(con: object) -> bool:
    if isinstance(con, (sync.Connection, sync.Pool, sync.PoolConnectionProxy)):
        raise TypeError("con is one of colonnade.sync: read_new and iter_new take it")
    if hasattr(con, "acquire"):
        return True
    if hasattr(con, "fetch_plain"):
        return False
    raise TypeError(f"con must be a connection or pool of asyncio, not {class_name(con)}")


async def _asked(request: Request, connection: Connection) -> Asked:
    facts = await connection.fetch_plain(*request.facts)
    request.check(facts)
    return request.asked(facts, await connection.fetch_plain(request.odd_sql))
