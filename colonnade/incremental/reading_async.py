"""New rows over an asyncio connection."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Self

from colonnade import sync
from colonnade._arguments import check_count
from colonnade._shown import class_name
from colonnade.errors import InterfaceError
from colonnade.incremental.request import New, Request

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence
    from types import TracebackType

    from colonnade import Columns, Connection, Pool
    from colonnade.incremental.request import Asked, State
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
    """As `iter_new`, over a connection or pool of asyncio; use the result in `async with`."""
    check_count("batch_rows", batch_rows)
    options = {
        "batch_rows": batch_rows,
        "schema": schema,
        "infinity": infinity,
        "timeout": timeout,
    }
    return NewBatchesAsync(Request(table, by=by, state=state, columns=columns), con, options)


class NewBatchesAsync:
    """New rows in batches, of `iter_new_async`."""

    def __init__(
        self, request: Request, con: Connection | Pool, options: Mapping[str, Any]
    ) -> None:
        self._request = request
        self._con = con
        self._options = options
        self._state: State | None = None
        self._batches = self._read()

    @property
    def state(self) -> State:
        """The state for the next read. Raises InterfaceError before the last batch."""
        if self._state is None:
            raise InterfaceError("the state is there after the last batch: read all of them first")
        return self._state

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Columns:
        return await anext(self._batches)

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
        await self._batches.aclose()

    async def _read(self) -> AsyncGenerator[Columns, None]:
        async with _connection(self._con) as connection:
            asked = await _asked(self._request, connection)
            async with connection.iter_columns(asked.sql, *asked.args, **self._options) as stream:
                async for batch in stream:
                    yield batch
            self._state = asked.state


@asynccontextmanager
async def _connection(con: Any) -> AsyncGenerator[Connection, None]:
    """Yield a connection of a pool, or the connection itself."""
    if isinstance(con, (sync.Connection, sync.Pool, sync.PoolConnectionProxy)):
        raise TypeError("con is one of colonnade.sync: read_new and iter_new take it")
    if hasattr(con, "acquire"):
        async with con.acquire() as connection:
            yield connection
    elif hasattr(con, "fetch_plain"):
        yield con
    else:
        raise TypeError(f"con must be a connection or pool of asyncio, not {class_name(con)}")


async def _asked(request: Request, connection: Connection) -> Asked:
    facts = await connection.fetch_plain(*request.facts)
    request.check(facts)
    return request.asked(facts, await connection.fetch_plain(request.odd_sql))
