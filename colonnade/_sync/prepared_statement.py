# Generated from colonnade/_async/prepared_statement.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Statements that the caller has prepared, and runs as often as wanted."""

# ruff: noqa: SLF001 - a statement is a part of its connection

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

from colonnade import _core
from colonnade._arguments import check_callable, check_count, check_name, check_switch, column_error
from colonnade._schema import asked_of, asked_types
from colonnade._shaped_query import ShapedQuery
from colonnade._sync.column_stream import ColumnStream
from colonnade._sync.cursor import CursorFactory
from colonnade._sync.guard import ConnectionResource, guarded
from colonnade._sync.operation import name_query
from colonnade._sync.shaped_cursor import ShapedCursorFactory
from colonnade._transport.event import batch_of, statement_of
from colonnade._transport.farewell import closed_error
from colonnade.columns import Columns
from colonnade.errors import EncodeError, PostgresError
from colonnade.rows import Row
from colonnade.types import Attribute, Type

if TYPE_CHECKING:
    from collections.abc import Callable

    from colonnade._schema import Schema
    from colonnade._sync.connection import Connection
    from colonnade._sync.many import Arguments
    from colonnade._sync.row_factories import MadeOf, RecordClass
    from colonnade.rows import RowFactory
    from colonnade.types import Infinity

Other = TypeVar("Other")

_PARTED_KINDS = frozenset({"array", "composite", "range", "multirange"})


# What `cursor` has for a query where it was given none, as PEP 249's cursors are made.
_NO_QUERY = "-- no query was given"
_NO_PEP_249 = (
    "cursor() needs a query: this connection is not one of PEP 249. For pandas.read_sql, "
    "polars.read_database and other code that makes cursors first, connect by "
    "colonnade.dbapi.connect(dsn); colonnade.read_sql(query, connection) takes this connection"
)


class PreparedStatement(ConnectionResource, Generic[Row]):
    """A statement that the server has parsed; made by `Connection.prepare`.

    It is independent of the connection's statement cache. The server closes it when nobody has this
    object any more.
    """

    def __init__(
        self,
        connection: Connection,
        statement: _core.Statement,
        record_class: type[_core.Record | tuple[Any, ...]] | None,
        shaped: ShapedQuery | None = None,
        row_factory: RowFactory[Any] | None = None,
    ) -> None:
        super().__init__(connection)
        check_callable("row_factory", row_factory)
        self._row_factory = row_factory
        self._statement = statement
        self._query = statement.sql
        self._shaped = shaped
        self._record_class = record_class
        self._status: str | None = None

    # What it is

    @guarded
    def get_name(self) -> str:
        """Its name on the server."""
        return self._statement.name

    @guarded
    def get_query(self) -> str:
        """The text that was prepared."""
        return self._query if self._shaped is None else self._shaped

    @guarded
    def get_statusmsg(self) -> str | None:
        """The status of its last run, such as `SELECT 5`.

        None before the first run, and after `fetchrow` and `fetchval` that have left rows behind.
        """
        return self._status

    @guarded
    def get_parameters(self) -> tuple[Type, ...]:
        """The types of its parameters, in order."""
        return tuple(map(described, self._statement.parameter_types))

    @guarded
    def get_attributes(self) -> tuple[Attribute, ...]:
        """Name and type of each column of its result; empty for a command."""
        columns = self._statement.columns
        return tuple(Attribute(name, described(pg_type)) for name, pg_type, _ in columns)

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

        With `row_factory` each row is what that makes of it, as in `Connection.fetch`; None means
        the one that the statement was prepared with.
        """
        if self._shaped is not None:
            connection = self._connection
            return connection._shaped_whole(  # type: ignore[no-any-return]
                self._shaped, args, timeout, self
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
        """Run it, and return its first row as a `Record`, or None where there is none.

        `row_factory` is as in `fetch`.
        """
        if self._shaped is not None:
            return self._connection._shaped_row(self._shaped, args, timeout, self)
        rows = self._made(self._rows(args, 1, timeout), row_factory)
        return rows[0] if rows else None

    @guarded
    def fetchval(self, *args: object, column: int | str = 0, timeout: float | None = None) -> Any:
        """Run it, and return one value of its first row, or None where there is no row.

        `column` is the index or the name of the value's column.
        """
        if self._shaped is not None:
            connection = self._connection
            return connection._shaped_value(self._shaped, args, column, timeout, self)
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
        connection = self._connection
        if self._shaped is not None:
            return connection._shaped_many(  # type: ignore[no-any-return]
                self._shaped, args, timeout, self._statement
            )
        with connection._series(timeout, self._query, args):
            rows = connection._fetch_many(self._statement, args, self._record_class)
        return self._made(rows, row_factory)

    # Effects

    @guarded
    def executemany(self, args: Arguments, *, timeout: float | None = None) -> None:
        """Run it once for each set of arguments; as `Connection.executemany`."""
        connection = self._connection
        with connection._series(timeout, self._query, args):
            connection._execute_many(self._statement, args)

    # Rows, piece by piece

    @guarded
    def cursor(
        self, *args: object, prefetch: int | None = None, timeout: float | None = None
    ) -> CursorFactory[Any]:
        """A cursor over its rows, as `Connection.cursor` gives."""
        return _factory(self._shaped)(
            self._connection,
            self.get_query(),
            self._statement,
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
        connection = self._connection
        with connection._operation(timeout, self._query, args):
            overrides = asked_types(schema)

            def begin(statement: _core.Statement) -> None:
                connection._session.fetch_batches(statement, args, overrides, infinity, None)

            self._begin(begin)
            columns, completion = connection._whole_columns(schema)
        self._take_note(completion)
        return columns

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
        connection = self._connection
        overrides = asked_types(schema)

        def begin(statement: _core.Statement) -> None:
            connection._session.fetch_batches(statement, args, overrides, infinity, batch_rows)

        limit = connection._limit(timeout)
        return ColumnStream(
            connection,
            self._query,
            args,
            begin,
            limit,
            asked=asked_of(schema),
            statement=self._statement,
        )

    # The plan

    @guarded
    def explain(self, *args: object, analyze: bool = False) -> Any:
        """The plan with which the server would run it with these arguments, as parsed JSON.

        `analyze` runs it, too, for the real times and counts, and then undoes what it has done.
        """
        check_switch("analyze", analyze)
        if not analyze:
            return self._plan("FORMAT JSON, VERBOSE", args)
        transaction = self._connection.transaction()
        transaction.start()
        try:
            return self._plan("FORMAT JSON, VERBOSE, ANALYZE, BUFFERS", args)
        finally:
            transaction.rollback()

    # Inside

    def _made(self, records: list[Any], row_factory: RowFactory[Any] | None) -> list[Any]:
        check_callable("row_factory", row_factory)
        factory = row_factory or self._row_factory
        return records if factory is None else self._connection._shaped(records, factory)

    def _rows(self, args: tuple[object, ...], limit: int, timeout: float | None) -> list[Any]:
        connection = self._connection
        arguments = (self._query, args, limit)
        completion = connection._at_once(self._fetch_rows, arguments, timeout)
        if completion is None:

            def begin(statement: _core.Statement) -> None:
                connection._session.fetch_rows(statement, args, limit, self._record_class)

            with connection._operation(timeout, self._query, args):
                self._begin(begin)
                completion = connection._completion()
        self._take_note(completion)
        return completion.rows or []

    def _fetch_rows(self, query: str, args: tuple[object, ...], limit: int) -> bool:
        del query  # It is what an error is told of.
        session = self._connection._session
        return session.fetch_rows(self._statement, args, limit, self._record_class)

    def _begin(self, begin: Callable[[_core.Statement], None]) -> None:
        """Begin to run the statement."""
        try:
            begin(self._statement)
        except EncodeError:
            # A type may have been altered: who prepares the text again sees what it is now.
            self._connection._session.forget_parameters(self._statement)
            raise

    def _take_note(self, completion: _core.Completion) -> None:
        self._status = completion.tag
        if completion.statement is not None:
            # One of its types turned out to be altered.
            self._statement = completion.statement

    def _plan(self, options: str, args: tuple[object, ...]) -> Any:
        connection = self._connection
        query = f"EXPLAIN ({options}) {self._query}"

        def begin(statement: _core.Statement) -> None:
            connection._session.fetch_batches(statement, args, None, "raise", None)

        with connection._operation(None, query, args):
            batch = batch_of(connection._run(query, begin))
            connection._completion()
        # As it came: a codec of the owner's may make something else of json.
        (plan,) = Columns(batch.stored_column(0)).to_pydict().values()
        return json.loads(plan[0])


class PreparingMixin:
    """The methods of a connection about statements that are prepared by hand, and cursors."""

    @overload
    def prepare(
        self, query: ShapedQuery, *, name: str | None = None, timeout: float | None = None
    ) -> PreparedStatement[Any]: ...
    @overload
    def prepare(
        self,
        query: str,
        *,
        name: str | None = None,
        timeout: float | None = None,
        record_class: None = None,
        row_factory: None = None,
    ) -> PreparedStatement[_core.Record]: ...
    @overload
    def prepare(
        self,
        query: str,
        *,
        name: str | None = None,
        timeout: float | None = None,
        record_class: type[MadeOf],
        row_factory: None = None,
    ) -> PreparedStatement[MadeOf]: ...
    @overload
    def prepare(
        self,
        query: str,
        *,
        name: str | None = None,
        timeout: float | None = None,
        record_class: RecordClass = None,
        row_factory: RowFactory[Row],
    ) -> PreparedStatement[Row]: ...
    def prepare(
        self,
        query: str,
        *,
        name: str | None = None,
        timeout: float | None = None,
        record_class: type[Any] | None = None,
        row_factory: RowFactory[Any] | None = None,
    ) -> PreparedStatement[Any]:
        """Have the server parse a text, to be run later, any number of times.

        `name` is that of the statement on the server; None makes one up. With the name "" it is the
        unnamed statement, of which the text travels along with each run. Rows are of
        `record_class`, or what `row_factory` makes of them, as in `Connection.fetch`.
        """
        if name is not None:
            check_name("name", name)
        connection = cast("Connection", self)
        made, factory = connection._row_making(record_class, row_factory)
        if made is not None:
            _core.check_record_class(made)
        with connection._operation(timeout):
            statement = connection._prepared_owned(query, name)
        shaped = query if isinstance(query, ShapedQuery) else None
        return PreparedStatement(connection, statement, made, shaped, factory)

    @overload
    def cursor(
        self,
        query: ShapedQuery,
        *args: object,
        prefetch: int | None = None,
        timeout: float | None = None,
    ) -> CursorFactory[Any]: ...
    @overload
    def cursor(
        self,
        query: str,
        *args: object,
        prefetch: int | None = None,
        timeout: float | None = None,
        record_class: None = None,
        row_factory: None = None,
    ) -> CursorFactory[_core.Record]: ...
    @overload
    def cursor(
        self,
        query: str,
        *args: object,
        prefetch: int | None = None,
        timeout: float | None = None,
        record_class: type[MadeOf],
        row_factory: None = None,
    ) -> CursorFactory[MadeOf]: ...
    @overload
    def cursor(
        self,
        query: str,
        *args: object,
        prefetch: int | None = None,
        timeout: float | None = None,
        record_class: RecordClass = None,
        row_factory: RowFactory[Row],
    ) -> CursorFactory[Row]: ...
    def cursor(
        self,
        query: str = _NO_QUERY,
        *args: object,
        prefetch: int | None = None,
        timeout: float | None = None,
        record_class: type[Any] | None = None,
        row_factory: RowFactory[Any] | None = None,
    ) -> CursorFactory[Any]:
        """A cursor over the rows of a query, within a transaction.

        With `for` it gives row after row, of which `prefetch` (50 where it is None) are
        fetched at a time. Opened, it is a `Cursor`, from which rows are fetched by hand.
        `timeout` limits each exchange with the server; rows are of `record_class`, or what
        `row_factory` makes of them, as in `fetch`.
        """
        if query is _NO_QUERY:
            raise TypeError(_NO_PEP_249)
        connection = cast("Connection", self)
        if connection.is_closed():
            raise closed_error(connection._session)
        made, factory = connection._row_making(record_class, row_factory)
        if made is not None:
            _core.check_record_class(made)
        return _factory(query)(
            connection,
            query,
            None,
            args,
            prefetch=prefetch,
            timeout=timeout,
            record_class=made,
            row_factory=factory,
        )

    def _whole_columns(self, schema: Schema | None) -> tuple[Columns, _core.Completion]:
        """The answer to a query for columns, all of which come at once."""
        connection = cast("Connection", self)
        batch = connection._transport.next_event()
        completion = connection._completion()
        return Columns(connection._decoded(batch_of(batch)), asked_of(schema)), completion

    def _prepared_owned(self, query: str, name: str | None) -> _core.Statement:
        connection = cast("Connection", self)
        connection._session.prepare_owned(query, name)
        try:
            return statement_of(connection._completion())
        except PostgresError as error:
            # Nobody is told of a preparation, so that its operation does not know the text.
            name_query(error, query)
            raise


def _factory(query: str | None) -> type[CursorFactory[Any]]:
    """What makes cursors over the rows of a query, which may have a shape of its own."""
    return ShapedCursorFactory if isinstance(query, ShapedQuery) else CursorFactory


def described(pg_type: _core.PgType) -> Type:
    kind = pg_type.kind if pg_type.kind in _PARTED_KINDS else "scalar"
    return Type(pg_type.oid, pg_type.name, kind, pg_type.schema)
