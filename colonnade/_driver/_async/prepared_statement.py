"""Statements that the caller has prepared, and may run any number of times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from colonnade import _core
from colonnade._columns.schema import asked_of, asked_types
from colonnade._driver._async.column_stream import ColumnStream
from colonnade._driver._async.cursor import CursorFactory
from colonnade._driver._async.described import attribute, described
from colonnade._driver._async.own_statement import OwnStatement
from colonnade._driver._async.resource import ConnectionResource, guarded
from colonnade._driver._async.row_making import made_rows
from colonnade._driver._async.series import fetching_many, run_many
from colonnade._driver._async.transaction import Transaction
from colonnade._driver.transport.event import batch_of, completion_of
from colonnade._driver.transport.exchanges import COLUMN_RESULT, RESULT
from colonnade._words.arguments import check_callable, check_count, check_switch, column_error
from colonnade.columns import Columns
from colonnade.rows import Row

if TYPE_CHECKING:
    from colonnade._columns.schema import Schema
    from colonnade._driver._async.conversation import Conversation
    from colonnade._driver._async.series import Arguments
    from colonnade.rows import RowFactory
    from colonnade.types import Attribute, Infinity, Type

Other = TypeVar("Other")


class PreparedStatement(ConnectionResource, Generic[Row]):
    """A statement that the server has parsed; made by `Connection.prepare`.

    It is independent of the connection's statement cache. The server closes it after the last
    reference to this object is gone.
    """

    _cursor_factory = CursorFactory

    def __init__(
        self,
        conversation: Conversation,
        statement: _core.Statement,
        record_class: type[_core.Record | tuple[Any, ...]] | None,
        row_factory: RowFactory[Any] | None = None,
    ) -> None:
        super().__init__(conversation)
        check_callable("row_factory", row_factory)
        self._row_factory = row_factory
        self._own = OwnStatement(statement)
        self._query = statement.sql
        self._record_class = record_class

    # Its description

    @guarded
    def get_name(self) -> str:
        """Its name on the server."""
        return self._own.statement.name

    @guarded
    def get_query(self) -> str:
        """The text that was prepared."""
        return self._query

    @guarded
    def get_statusmsg(self) -> str | None:
        """The status of its last run, such as `SELECT 5`.

        None before the first run, and after a `fetchrow` or `fetchval` that left rows unread.
        """
        return self._own.status

    @guarded
    def get_parameters(self) -> tuple[Type, ...]:
        """The types of its parameters, in order."""
        return tuple(map(described, self._own.statement.parameter_types))

    @guarded
    def get_attributes(self) -> tuple[Attribute, ...]:
        """Name and type of each column of its result; empty for a command."""
        columns = self._own.statement.columns
        return tuple(attribute(name, pg_type) for name, pg_type, _ in columns)

    # Rows

    @overload
    async def fetch(
        self,
        *args: object,
        timeout: float | None = None,
        row_factory: None = None,
    ) -> list[Row]: ...
    @overload
    async def fetch(
        self,
        *args: object,
        timeout: float | None = None,
        row_factory: RowFactory[Other],
    ) -> list[Other]: ...
    @guarded
    async def fetch(
        self,
        *args: object,
        timeout: float | None = None,
        row_factory: RowFactory[Any] | None = None,
    ) -> list[Any]:
        """Run it with these arguments, and return its rows as a list of `Record`.

        With `row_factory` each row is made by that function, as in `Connection.fetch`; None means
        the factory that the statement was prepared with.
        """
        return await self._made(await self._rows(args, 0, timeout), row_factory)

    @overload
    async def fetchrow(
        self,
        *args: object,
        timeout: float | None = None,
        row_factory: None = None,
    ) -> Row | None: ...
    @overload
    async def fetchrow(
        self,
        *args: object,
        timeout: float | None = None,
        row_factory: RowFactory[Other],
    ) -> Other | None: ...
    @guarded
    async def fetchrow(
        self,
        *args: object,
        timeout: float | None = None,
        row_factory: RowFactory[Any] | None = None,
    ) -> Any:
        """Run it, and return its first row as a `Record`, or None if there is none.

        `row_factory` is as in `fetch`.
        """
        rows = await self._made(await self._rows(args, 1, timeout), row_factory)
        return rows[0] if rows else None

    @guarded
    async def fetchval(
        self, *args: object, column: int | str = 0, timeout: float | None = None
    ) -> Any:
        """Run it, and return one value of its first row, or None if there is no row.

        `column` is the index or the name of the value's column.
        """
        rows = await self._rows(args, 1, timeout)
        try:
            return rows[0][column] if rows else None
        except KeyError as error:
            raise column_error(error, column) from None

    @overload
    async def fetchmany(
        self,
        args: Arguments,
        *,
        timeout: float | None = None,
        row_factory: None = None,
    ) -> list[Row]: ...
    @overload
    async def fetchmany(
        self,
        args: Arguments,
        *,
        timeout: float | None = None,
        row_factory: RowFactory[Other],
    ) -> list[Other]: ...
    @guarded
    async def fetchmany(
        self,
        args: Arguments,
        *,
        timeout: float | None = None,
        row_factory: RowFactory[Any] | None = None,
    ) -> list[Any]:
        """Run it once for each set of arguments, and return all rows, in order.

        As `Connection.fetchmany`; `row_factory` is as in `fetch`.
        """
        conversation = self._conversation
        begin = fetching_many(conversation, self._record_class)
        async with conversation.series(timeout, self._query, args):
            completion = await run_many(conversation, self._query, args, begin, own=self._own)
        return await self._made(completion.rows or [], row_factory)

    # Effects

    @guarded
    async def executemany(self, args: Arguments, *, timeout: float | None = None) -> None:
        """Run it once for each set of arguments; as `Connection.executemany`."""
        conversation = self._conversation
        begin = conversation.session.execute_many
        async with conversation.series(timeout, self._query, args):
            await run_many(conversation, self._query, args, begin, own=self._own)

    # Rows, piece by piece

    @guarded
    def cursor(
        self, *args: object, prefetch: int | None = None, timeout: float | None = None
    ) -> CursorFactory[Any]:
        """A cursor over its rows, as from `Connection.cursor`."""
        return self._cursor_factory(
            self._conversation,
            self.get_query(),
            self._own,
            args,
            prefetch=prefetch,
            timeout=timeout,
            record_class=self._record_class,
            row_factory=self._row_factory,
        )

    # Columns

    @guarded
    async def fetch_columns(
        self,
        *args: object,
        schema: Schema | None = None,
        infinity: Infinity = "raise",
        timeout: float | None = None,
    ) -> Columns:
        """Run it, and return its result as `Columns`; as `Connection.fetch_columns`."""
        conversation = self._conversation
        completion = await conversation.ask(
            COLUMN_RESULT,
            (conversation.session, self._query, args, asked_types(schema), infinity),
            timeout,
            own=self._own,
        )
        self._own.take_note(completion)
        batch = conversation.decoded(batch_of(completion))
        return Columns(batch, asked_of(schema), conversation.timing())

    @guarded
    def iter_columns(
        self,
        *args: object,
        batch_rows: int = 65_536,
        schema: Schema | None = None,
        infinity: Infinity = "raise",
        timeout: float | None = None,
    ) -> ColumnStream:
        """Run it, and iterate over its result in batches; as `Connection.iter_columns`."""
        check_count("batch_rows", batch_rows)
        conversation = self._conversation
        overrides = asked_types(schema)

        def begin(statement: _core.Statement) -> None:
            conversation.session.stream_columns(statement, args, overrides, infinity, batch_rows)

        limit = conversation.limit(timeout)
        return ColumnStream(
            conversation,
            self._query,
            args,
            begin,
            limit,
            asked=asked_of(schema),
            own=self._own,
        )

    # The plan

    @guarded
    async def explain(self, *args: object, analyze: bool = False) -> Any:
        """The server's plan for running it with these arguments, as parsed JSON.

        `analyze` also runs it, for the actual times and counts, and then rolls its effects back.
        """
        check_switch("analyze", analyze)
        if not analyze:
            return await self._plan("FORMAT JSON, VERBOSE", args)
        transaction = Transaction(self._conversation)
        await transaction.start()
        try:
            return await self._plan("FORMAT JSON, VERBOSE, ANALYZE, BUFFERS", args)
        finally:
            await transaction.rollback()

    # Inside

    async def _made(self, records: list[Any], row_factory: RowFactory[Any] | None) -> list[Any]:
        check_callable("row_factory", row_factory)
        factory = row_factory or self._row_factory
        return await made_rows(self._conversation.transport, records, factory)

    async def _rows(self, args: tuple[object, ...], limit: int, timeout: float | None) -> list[Any]:
        conversation = self._conversation
        completion = await conversation.ask(
            RESULT,
            (conversation.session, self._query, args, limit, self._record_class),
            timeout,
            own=self._own,
        )
        self._own.take_note(completion)
        return completion.rows or []

    async def _plan(self, options: str, args: tuple[object, ...]) -> Any:
        conversation, query = self._conversation, f"EXPLAIN ({options}) {self._query}"

        def begin(statement: _core.Statement) -> None:
            conversation.session.fetch_columns(statement, args, None, "raise")

        async with conversation.operation(None, query, args):
            batch = batch_of(completion_of(await conversation.run(query, begin)))
        import json

        # Unconverted: a codec of the owner's may change json.
        (plan,) = Columns(batch.stored_column(0)).to_pydict().values()
        return json.loads(plan[0])
