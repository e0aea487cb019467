"""Results in columns through SQLAlchemy's own execution.

SQLAlchemy executes the statement as usual, with its statement cache, bind processors, events and
transaction. An execution option tells the cursor to fetch columns instead of rows.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any, Self, overload

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from colonnade._words.arguments import check_count
from colonnade._words.shown import class_name, shown
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
    """Run a statement, and return its result as `Columns`; await it on an async connection.

    The statement runs like one given to the `execute` of the connection or session: in its
    transaction, with its events and the statement cache. A session flushes first. Columns have
    PostgreSQL's types; SQLAlchemy's result processing (members of an `Enum`, a `TypeDecorator`) is
    for rows only. `schema`, `infinity`, `timeout` (in seconds) and the treatment of NULL are as in
    `colonnade.Connection.fetch_columns`; `column_types` makes a `schema` from a select.

    Raises SQLAlchemy's exceptions, and TypeError for a connection of another dialect or a statement
    that is a str.
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
        raise TypeError(f"the cursor must return Columns, not {shown(columns)}")
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

    Use `for`, or `async for` on an async connection. Memory holds a few batches, however large the
    result is. The first batch executes the statement; until the last batch, the connection can run
    nothing else. `timeout` limits the wait for each batch, in seconds. A result without rows yields
    one empty batch. Everything else is as in `fetch_columns`.

    To stop early, use the stream as a context manager or `close` it: this cancels the query, and
    the transaction continues. A stream that is only garbage-collected cancels its query as well,
    but leaves the transaction failed.

    Raises the errors of `fetch_columns`, TypeError or ValueError for a `batch_rows` that is not an
    integer of 1 or more.
    """
    check_count("batch_rows", batch_rows)
    request = ColumnsRequest(schema, infinity, timeout, batch_rows)
    if _is_asynchronous(connection):
        return AsyncColumnBatches(connection, select, params, request)
    return ColumnBatches(connection, select, params, request)


class ColumnBatches:
    """An iterator over the batches of `iter_columns`; a context manager that closes itself."""

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
        """Return the next batch. Raises SQLAlchemy's exceptions."""
        batch = self._next()
        if batch is None:
            raise StopIteration
        return batch

    def close(self) -> None:
        """End the stream, and cancel its query if it still runs; the transaction continues."""
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
    """An asynchronous iterator over the batches of `iter_columns`; `async with` closes it."""

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
        """Return the next batch. Raises SQLAlchemy's exceptions."""
        batch = await self._connection.run_sync(self._next)
        if batch is None:
            raise StopAsyncIteration
        return batch

    async def aclose(self) -> None:
        """End the stream, and cancel its query if it still runs; the transaction continues."""
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
        return self._batches._next()  # noqa: SLF001 - this class wraps that one


def _is_asynchronous(connection: Any) -> bool:
    """Return whether it is an asyncio connection or session.

    The module is looked up in sys.modules, because it cannot be imported without greenlet; a caller
    with such an object has imported it already.
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
    """Execute the statement, and return the result, whose cursor has the columns."""
    if isinstance(statement, str):
        raise TypeError("the statement is a str: wrap it in sqlalchemy.text()")
    if params is not None and not isinstance(params, Mapping):
        raise TypeError(f"params must be one mapping of names to values, not {class_name(params)}")
    _check_connection(connection)
    engine = connection.get_bind() if isinstance(connection, Session) else connection
    if engine.dialect.driver != "colonnade":
        name = f"{engine.dialect.name}+{engine.dialect.driver}"
        raise TypeError(f"columns need the dialect postgresql+colonnade, not {name}")
    result = connection.execute(statement, params, execution_options={OPTION: request})
    # A result of the ORM wraps the one that has the cursor.
    return getattr(result, "raw", result)


def _check_connection(connection: object) -> None:
    """Raise TypeError for an engine, and for any other object that has no transaction."""
    if isinstance(connection, sa.Connection | Session):
        return
    if isinstance(connection, sa.Engine):
        hint = "with engine.connect() as connection"
    elif hasattr(connection, "sync_engine"):
        hint = "async with engine.connect() as connection"
    else:
        hint = "engine.connect() returns one"
    kind = class_name(connection)
    raise TypeError(f"columns need a connection or a session, not {kind}: {hint}")
