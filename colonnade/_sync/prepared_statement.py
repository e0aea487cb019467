# Generated from colonnade/_async/prepared_statement.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Statements that the caller has prepared, and may run any number of times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from colonnade import _core
from colonnade._arguments import check_callable, check_count, check_name, check_switch, column_error
from colonnade._schema import asked_of, asked_types
from colonnade._shaped_query import ShapedQuery
from colonnade._sync.column_stream import ColumnStream
from colonnade._sync.cursor import CursorFactory
from colonnade._sync.described import attribute, described
from colonnade._sync.failures import name_query
from colonnade._sync.own_statement import OwnStatement
from colonnade._sync.resource import ConnectionResource, guarded
from colonnade._sync.row_making import made_rows
from colonnade._sync.series import fetching_many, many
from colonnade._sync.shaped import shaped_many, shaped_row, shaped_value, shaped_whole
from colonnade._sync.shaped_cursor import ShapedCursorFactory
from colonnade._sync.transaction import Transaction
from colonnade._transport.event import batch_of, completion_of, statement_of
from colonnade._transport.exchanges import COLUMN_RESULT, RESULT
from colonnade._transport.farewell import closed_error
from colonnade.columns import Columns
from colonnade.errors import PostgresError
from colonnade.rows import Row

if TYPE_CHECKING:
    from colonnade._schema import Schema
    from colonnade._sync.conversation import Conversation
    from colonnade._sync.conversing import Conversing
    from colonnade._sync.row_making import MadeOf, RecordClass
    from colonnade._sync.series import Arguments
    from colonnade.rows import RowFactory
    from colonnade.types import Attribute, Infinity, Type

Other = TypeVar("Other")

# The query of a `cursor` call without one, as in PEP 249.
_NO_QUERY = "-- no query was given"
_NO_PEP_249 = (
    "cursor() needs a query: this connection is not one of PEP 249. For pandas.read_sql, "
    "polars.read_database and other code that makes cursors first, connect with "
    "colonnade.dbapi.connect(dsn); colonnade.read_sql(query, connection) takes this connection"
)


class PreparedStatement(ConnectionResource, Generic[Row]):
    """A statement that the server has parsed; made by `Connection.prepare`.

    It is independent of the connection's statement cache. The server closes it after the last
    reference to this object is gone.
    """

    def __init__(
        self,
        conversation: Conversation,
        statement: _core.Statement,
        record_class: type[_core.Record | tuple[Any, ...]] | None,
        shaped: ShapedQuery | None = None,
        row_factory: RowFactory[Any] | None = None,
    ) -> None:
        super().__init__(conversation)
        check_callable("row_factory", row_factory)
        self._row_factory = row_factory
        self._own = OwnStatement(statement)
        self._query = statement.sql
        self._shaped = shaped
        self._record_class = record_class

    # What it is

    @guarded
    def get_name(self) -> str:
        """Its name on the server."""
        return self._own.statement.name

    @guarded
    def get_query(self) -> str:
        """The text that was prepared."""
        return self._query if self._shaped is None else self._shaped

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
    def fetch(
        self,
        *args: object,
        timeout: float | None = None,
        row_factory: None = None,
    ) -> list[Row]: ...
    @overload
    def fetch(
        self,
        *args: object,
        timeout: float | None = None,
        row_factory: RowFactory[Other],
    ) -> list[Other]: ...
    @guarded
    def fetch(
        self,
        *args: object,
        timeout: float | None = None,
        row_factory: RowFactory[Any] | None = None,
    ) -> list[Any]:
        """Run it with these arguments, and return its rows as a list of `Record`.

        With `row_factory` each row is made by that function, as in `Connection.fetch`; None means
        the factory that the statement was prepared with.
        """
        if self._shaped is not None:
            return shaped_whole(  # type: ignore[no-any-return]
                self._conversation, self._shaped, args, timeout, prepared=self._own
            )
        return self._made(self._rows(args, 0, timeout), row_factory)

    @overload
    def fetchrow(
        self,
        *args: object,
        timeout: float | None = None,
        row_factory: None = None,
    ) -> Row | None: ...
    @overload
    def fetchrow(
        self,
        *args: object,
        timeout: float | None = None,
        row_factory: RowFactory[Other],
    ) -> Other | None: ...
    @guarded
    def fetchrow(
        self,
        *args: object,
        timeout: float | None = None,
        row_factory: RowFactory[Any] | None = None,
    ) -> Any:
        """Run it, and return its first row as a `Record`, or None if there is none.

        `row_factory` is as in `fetch`.
        """
        if self._shaped is not None:
            return shaped_row(self._conversation, self._shaped, args, timeout, prepared=self._own)
        rows = self._made(self._rows(args, 1, timeout), row_factory)
        return rows[0] if rows else None

    @guarded
    def fetchval(self, *args: object, column: int | str = 0, timeout: float | None = None) -> Any:
        """Run it, and return one value of its first row, or None if there is no row.

        `column` is the index or the name of the value's column.
        """
        if self._shaped is not None:
            return shaped_value(
                self._conversation, self._shaped, args, column, timeout, prepared=self._own
            )
        rows = self._rows(args, 1, timeout)
        try:
            return rows[0][column] if rows else None
        except KeyError as error:
            raise column_error(error, column) from None

    @overload
    def fetchmany(
        self,
        args: Arguments,
        *,
        timeout: float | None = None,
        row_factory: None = None,
    ) -> list[Row]: ...
    @overload
    def fetchmany(
        self,
        args: Arguments,
        *,
        timeout: float | None = None,
        row_factory: RowFactory[Other],
    ) -> list[Other]: ...
    @guarded
    def fetchmany(
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
        if self._shaped is not None:
            return shaped_many(  # type: ignore[no-any-return]
                conversation, self._shaped, args, timeout, statement=self._own.statement
            )
        begin = fetching_many(conversation, self._record_class)
        with conversation.series(timeout, self._query, args):
            completion = many(conversation, self._own.statement, args, begin)
        return self._made(completion.rows or [], row_factory)

    # Effects

    @guarded
    def executemany(self, args: Arguments, *, timeout: float | None = None) -> None:
        """Run it once for each set of arguments; as `Connection.executemany`."""
        conversation = self._conversation
        with conversation.series(timeout, self._query, args):
            many(conversation, self._own.statement, args, conversation.session.execute_many)

    # Rows, piece by piece

    @guarded
    def cursor(
        self, *args: object, prefetch: int | None = None, timeout: float | None = None
    ) -> CursorFactory[Any]:
        """A cursor over its rows, as from `Connection.cursor`."""
        return _factory(self._shaped)(
            self._conversation,
            self.get_query(),
            self._own.statement,
            args,
            prefetch=prefetch,
            timeout=timeout,
            record_class=self._record_class,
            row_factory=self._row_factory,
        )

    # Columns

    @guarded
    def fetch_columns(
        self,
        *args: object,
        schema: Schema | None = None,
        infinity: Infinity = "raise",
        timeout: float | None = None,
    ) -> Columns:
        """Run it, and return its result as `Columns`; as `Connection.fetch_columns`."""
        conversation = self._conversation
        completion = conversation.ask(
            COLUMN_RESULT,
            (conversation.session, self._query, args, asked_types(schema), infinity),
            timeout,
            statement=self._own.statement,
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
            statement=self._own.statement,
        )

    # The plan

    @guarded
    def explain(self, *args: object, analyze: bool = False) -> Any:
        """The server's plan for running it with these arguments, as parsed JSON.

        `analyze` also runs it, for the actual times and counts, and then rolls its effects back.
        """
        check_switch("analyze", analyze)
        if not analyze:
            return self._plan("FORMAT JSON, VERBOSE", args)
        transaction = Transaction(self._conversation)
        transaction.start()
        try:
            return self._plan("FORMAT JSON, VERBOSE, ANALYZE, BUFFERS", args)
        finally:
            transaction.rollback()

    # Inside

    def _made(self, records: list[Any], row_factory: RowFactory[Any] | None) -> list[Any]:
        check_callable("row_factory", row_factory)
        factory = row_factory or self._row_factory
        return made_rows(self._conversation.transport, records, factory)

    def _rows(self, args: tuple[object, ...], limit: int, timeout: float | None) -> list[Any]:
        conversation = self._conversation
        completion = conversation.ask(
            RESULT,
            (conversation.session, self._query, args, limit, self._record_class),
            timeout,
            statement=self._own.statement,
        )
        self._own.take_note(completion)
        return completion.rows or []

    def _plan(self, options: str, args: tuple[object, ...]) -> Any:
        conversation, query = self._conversation, f"EXPLAIN ({options}) {self._query}"

        def begin(statement: _core.Statement) -> None:
            conversation.session.fetch_columns(statement, args, None, "raise")

        with conversation.operation(None, query, args):
            batch = batch_of(completion_of(conversation.run(query, begin)))
        import json

        # Unconverted: a codec of the owner's may change json.
        (plan,) = Columns(batch.stored_column(0)).to_pydict().values()
        return json.loads(plan[0])


@overload
def prepare(
    self: Conversing, query: ShapedQuery, *, name: str | None = None, timeout: float | None = None
) -> PreparedStatement[Any]: ...


@overload
def prepare(
    self: Conversing,
    query: str,
    *,
    name: str | None = None,
    timeout: float | None = None,
    record_class: None = None,
    row_factory: None = None,
) -> PreparedStatement[_core.Record]: ...


@overload
def prepare(
    self: Conversing,
    query: str,
    *,
    name: str | None = None,
    timeout: float | None = None,
    record_class: type[MadeOf],
    row_factory: None = None,
) -> PreparedStatement[MadeOf]: ...


@overload
def prepare(
    self: Conversing,
    query: str,
    *,
    name: str | None = None,
    timeout: float | None = None,
    record_class: RecordClass = None,
    row_factory: RowFactory[Row],
) -> PreparedStatement[Row]: ...


def prepare(
    self: Conversing,
    query: str,
    *,
    name: str | None = None,
    timeout: float | None = None,
    record_class: type[Any] | None = None,
    row_factory: RowFactory[Any] | None = None,
) -> PreparedStatement[Any]:
    """Have the server parse a query, to be run later, any number of times.

    `name` is the statement's name on the server; None generates one. The name "" makes it the
    unnamed statement, whose text is sent with each run. Rows are of `record_class`, or made by
    `row_factory`, as in `Connection.fetch`.
    """
    if name is not None:
        check_name("name", name)
    conversation = self.conversation
    making = self.row_making.of(record_class, row_factory)
    if making.record_class is not None:
        _core.check_record_class(making.record_class)
    with conversation.operation(timeout):
        statement = _prepared(conversation, query, name)
    shaped = query if isinstance(query, ShapedQuery) else None
    return PreparedStatement(conversation, statement, making.record_class, shaped, making.factory)


@overload
def cursor(
    self: Conversing,
    query: ShapedQuery,
    *args: object,
    prefetch: int | None = None,
    timeout: float | None = None,
) -> CursorFactory[Any]: ...


@overload
def cursor(
    self: Conversing,
    query: str,
    *args: object,
    prefetch: int | None = None,
    timeout: float | None = None,
    record_class: None = None,
    row_factory: None = None,
) -> CursorFactory[_core.Record]: ...


@overload
def cursor(
    self: Conversing,
    query: str,
    *args: object,
    prefetch: int | None = None,
    timeout: float | None = None,
    record_class: type[MadeOf],
    row_factory: None = None,
) -> CursorFactory[MadeOf]: ...


@overload
def cursor(
    self: Conversing,
    query: str,
    *args: object,
    prefetch: int | None = None,
    timeout: float | None = None,
    record_class: RecordClass = None,
    row_factory: RowFactory[Row],
) -> CursorFactory[Row]: ...


def cursor(
    self: Conversing,
    query: str = _NO_QUERY,
    *args: object,
    prefetch: int | None = None,
    timeout: float | None = None,
    record_class: type[Any] | None = None,
    row_factory: RowFactory[Any] | None = None,
) -> CursorFactory[Any]:
    """A cursor over the rows of a query, within a transaction.

    `for` returns row after row, and fetches `prefetch` of them (50 if None) at a time.
    Opened, it is a `Cursor`, from which rows are fetched explicitly. `timeout` limits each exchange
    with the server; rows are of `record_class`, or made by `row_factory`, as in `fetch`.
    """
    if query is _NO_QUERY:
        raise TypeError(_NO_PEP_249)
    conversation = self.conversation
    if conversation.session.is_closed:
        raise closed_error(conversation.session)
    making = self.row_making.of(record_class, row_factory)
    if making.record_class is not None:
        _core.check_record_class(making.record_class)
    return _factory(query)(
        conversation,
        query,
        None,
        args,
        prefetch=prefetch,
        timeout=timeout,
        record_class=making.record_class,
        row_factory=making.factory,
    )


def _prepared(conversation: Conversation, query: str, name: str | None) -> _core.Statement:
    conversation.session.prepare_owned(query, name)
    try:
        return statement_of(conversation.completion())
    except PostgresError as error:
        # Observers are not told of preparations, so the operation does not know the text.
        name_query(error, query)
        raise


def _factory(query: str | None) -> type[CursorFactory[Any]]:
    """The factory of cursors over a query's rows, which may have a shape of their own."""
    return ShapedCursorFactory if isinstance(query, ShapedQuery) else CursorFactory
