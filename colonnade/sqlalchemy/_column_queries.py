"""Results in columns through SQLAlchemy's own execution.

The statement goes the usual way, with SQLAlchemy's statement cache, the processors of its
parameters, its events and its transaction. An execution option tells the cursor to leave the rows
to the core.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any, Self, overload

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from colonnade._arguments import check_count
from colonnade._shown import class_name, shown
from colonnade.columns import Columns
from colonnade.sqlalchemy._columns_request import OPTION, ColumnsRequest

if TYPE_CHECKING:
    from types import TracebackType

    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession

    from colonnade.sqlalchemy._columns_request import Schema
    from colonnade.types import Infinity

    Parameters = Mapping[str, Any] | None


@overload
def fetch_columns(
    connection: sa.Connection | Session,
    select: sa.Executable,
    params: Parameters = None,
    *,
    schema: Schema | None = None,
    infinity: Infinity = "raise",
    timeout: float | None = None,
) -> Columns: ...
@overload
def fetch_columns(
    connection: AsyncConnection | AsyncSession,
    select: sa.Executable,
    params: Parameters = None,
    *,
    schema: Schema | None = None,
    infinity: Infinity = "raise",
    timeout: float | None = None,
) -> Awaitable[Columns]: ...
def fetch_columns(
    connection: Any,
    select: sa.Executable,
    params: Parameters = None,
    *,
    schema: Schema | None = None,
    infinity: Infinity = "raise",
    timeout: float | None = None,
) -> Columns | Awaitable[Columns]:
    """Run a statement, and return its result as `Columns`; to be awaited on an async connection.

    It is executed by the connection or session as by its `execute`, in its transaction, with its
    events and its statement cache; a session flushes before. The result's types are PostgreSQL's:
    what SQLAlchemy makes of a value (an `Enum`'s member, a `TypeDecorator`'s) it makes of rows
    alone. NULL and all else is as in `colonnade.Connection.fetch_columns`, and so are `schema`,
    `infinity` and `timeout`; see `column_types` for a schema.

    Raises SQLAlchemy's exceptions, and TypeError for a connection of another dialect.
    """
    request = ColumnsRequest(schema, infinity, timeout, None)
    if _is_asynchronous(connection):
        columns: Awaitable[Columns] = connection.run_sync(_fetch, select, params, request)
        return columns
    return _fetch(connection, select, params, request)


def _fetch(
    connection: sa.Connection | Session,
    statement: sa.Executable,
    params: Parameters,
    request: ColumnsRequest,
) -> Columns:
    result = _executed(connection, statement, params, request)
    columns = result.context.cursor.columns
    result.close()
    if not isinstance(columns, Columns):
        raise TypeError(f"columns were asked for, and the cursor gave {shown(columns)}")
    return columns


@overload
def iter_columns(
    connection: sa.Connection | Session,
    select: sa.Executable,
    params: Parameters = None,
    *,
    batch_rows: int = 65_536,
    schema: Schema | None = None,
    infinity: Infinity = "raise",
    timeout: float | None = None,
) -> ColumnBatches: ...
@overload
def iter_columns(
    connection: AsyncConnection | AsyncSession,
    select: sa.Executable,
    params: Parameters = None,
    *,
    batch_rows: int = 65_536,
    schema: Schema | None = None,
    infinity: Infinity = "raise",
    timeout: float | None = None,
) -> AsyncColumnBatches: ...
def iter_columns(
    connection: Any,
    select: sa.Executable,
    params: Parameters = None,
    *,
    batch_rows: int = 65_536,
    schema: Schema | None = None,
    infinity: Infinity = "raise",
    timeout: float | None = None,
) -> ColumnBatches | AsyncColumnBatches:
    """Run a statement, and iterate over its result in `Columns` of `batch_rows` rows each.

    With `for`, or with `async for` on an async connection. Memory stays at a few batches, whatever
    the size of the result. The statement is executed when the first batch is asked for; until the
    last one the connection runs nothing else. `timeout` limits the wait for each batch. A result
    without rows gives one empty batch. All else is as in `fetch_columns`.

    To leave early, do so within a `with` block over the stream, or `close` it: the query is
    cancelled, and the transaction goes on. A stream that is only dropped cancels its query too, and
    its transaction has failed by that.
    """
    check_count("batch_rows", batch_rows)
    request = ColumnsRequest(schema, infinity, timeout, batch_rows)
    if _is_asynchronous(connection):
        return AsyncColumnBatches(connection, select, params, request)
    return ColumnBatches(connection, select, params, request)


class ColumnBatches:
    """The batches of `iter_columns`, in order, each as `Columns`; a context manager that closes."""

    def __init__(
        self,
        connection: sa.Connection | Session,
        statement: sa.Executable,
        params: Parameters,
        request: ColumnsRequest,
    ) -> None:
        self._begin = (connection, statement, params, request)
        self._result: Any = None
        self._is_finished = False

    def __iter__(self) -> Self:
        """The stream is its own iterator."""
        return self

    def __next__(self) -> Columns:
        """The next batch."""
        batch = self._next()
        if batch is None:
            raise StopIteration
        return batch

    def close(self) -> None:
        """End the stream; what still comes of its result is cancelled."""
        self._is_finished = True
        if self._result is not None:
            result, self._result = self._result, None
            result.close()
            result.context.cursor.close()

    def __enter__(self) -> Self:
        """The stream."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the stream."""
        self.close()

    def _next(self, _connection: object = None) -> Columns | None:
        if self._is_finished:
            return None
        if self._result is None:
            self._result = _executed(*self._begin)
            batch: Columns | None = self._result.context.cursor.columns
        else:
            batch = self._more()
        if batch is None:
            self.close()
        return batch

    def _more(self) -> Columns | None:
        context = self._result.context
        try:
            batch: Columns | None = context.cursor.next_batch()
        except context.dialect.loaded_dbapi.Error as error:
            is_gone = context.dialect.is_disconnect(error, context.cursor.connection, None)
            raised = DBAPIError.instance(
                context.statement,
                None,
                error,
                context.dialect.loaded_dbapi.Error,
                connection_invalidated=is_gone,
                dialect=context.dialect,
            )
            if is_gone:
                context.root_connection.invalidate(error)
            self.close()
            raise raised from error
        return batch


class AsyncColumnBatches:
    """The batches of `iter_columns` on an async connection; `async with` closes them."""

    def __init__(
        self,
        connection: AsyncConnection | AsyncSession,
        statement: sa.Executable,
        params: Parameters,
        request: ColumnsRequest,
    ) -> None:
        self._connection = connection
        self._begin = (statement, params, request)
        self._batches: ColumnBatches | None = None

    def __aiter__(self) -> Self:
        """The stream is its own iterator."""
        return self

    async def __anext__(self) -> Columns:
        """The next batch."""
        batch = await self._connection.run_sync(self._next)
        if batch is None:
            raise StopAsyncIteration
        return batch

    async def aclose(self) -> None:
        """End the stream; what still comes of its result is cancelled."""
        batches = self._batches
        if batches is not None:
            await self._connection.run_sync(lambda _: batches.close())

    async def __aenter__(self) -> Self:
        """The stream."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the stream."""
        await self.aclose()

    def _next(self, connection: sa.Connection | Session) -> Columns | None:
        if self._batches is None:
            self._batches = ColumnBatches(connection, *self._begin)
        return self._batches._next()  # noqa: SLF001 - the same stream in the other colour


def _is_asynchronous(connection: Any) -> bool:
    """Whether it is an asyncio connection or session.

    Who has one has imported its module, which cannot be imported where greenlet is not installed.
    """
    module: Any = sys.modules.get("sqlalchemy.ext.asyncio")
    kinds = () if module is None else (module.AsyncConnection, module.AsyncSession)
    return isinstance(connection, kinds)


def _executed(
    connection: sa.Connection | Session,
    statement: sa.Executable,
    params: Parameters,
    request: ColumnsRequest,
) -> Any:
    """The result of the statement, whose cursor has the columns."""
    if isinstance(statement, str):
        raise TypeError("the statement is a str: wrap it in sqlalchemy.text()")
    if params is not None and not isinstance(params, Mapping):
        raise TypeError(f"params are one mapping of names to values, not {class_name(params)}")
    _check_connection(connection)
    engine = connection.get_bind() if isinstance(connection, Session) else connection
    if engine.dialect.driver != "colonnade":
        name = f"{engine.dialect.name}+{engine.dialect.driver}"
        raise TypeError(f"columns need the dialect postgresql+colonnade, not {name}")
    result = connection.execute(statement, params, execution_options={OPTION: request})
    # The ORM's results stand before the one that has the cursor.
    return getattr(result, "raw", result)


def _check_connection(connection: object) -> None:
    """Refuse an engine, and whatever else has no transaction to run a statement in."""
    if isinstance(connection, sa.Connection | Session):
        return
    if isinstance(connection, sa.Engine):
        hint = "with engine.connect() as connection"
    elif hasattr(connection, "sync_engine"):
        hint = "async with engine.connect() as connection"
    else:
        hint = "engine.connect() gives one"
    kind = class_name(connection)
    raise TypeError(f"columns are fetched by a connection or a session, not by {kind}: {hint}")
