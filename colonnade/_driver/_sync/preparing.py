# Generated from colonnade/_driver/_async/preparing.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""The verbs that have the server parse a query for later use: `prepare` and `cursor`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from colonnade import _core
from colonnade._driver._sync.cursor import CursorFactory
from colonnade._driver._sync.dtype_cursor import DtypeCursorFactory
from colonnade._driver._sync.dtype_statement import DtypeStatement
from colonnade._driver._sync.failures import note_query
from colonnade._driver._sync.long_names import whole_names
from colonnade._driver._sync.prepared_statement import PreparedStatement
from colonnade._driver._sync.series import declared
from colonnade._driver.dtype_query import DtypeQuery
from colonnade._driver.sql.quoting import check_length
from colonnade._driver.transport.closed_error import closed_error
from colonnade._driver.transport.event import statement_of
from colonnade._words.arguments import check_name
from colonnade.errors import PostgresError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colonnade._driver._sync.connection_base import ConnectionBase
    from colonnade._driver._sync.conversation import Conversation
    from colonnade._driver._sync.row_making import MadeOf, RecordClass
    from colonnade.rows import Row, RowFactory

# The query of a `cursor` call without one, as in PEP 249.
_NO_QUERY = "-- no query was given"
_NO_PEP_249 = (
    "cursor() needs a query: this connection is not one of PEP 249. For pandas.read_sql, "
    "polars.read_database and other code that makes cursors first, connect with "
    "colonnade.dbapi.connect(dsn); colonnade.read_sql(query, connection) takes this connection"
)


@overload
def prepare(
    self: ConnectionBase,
    query: DtypeQuery,
    *,
    name: str | None = None,
    parameter_types: Sequence[int | None] | None = None,
    timeout: float | None = None,
) -> PreparedStatement[Any]: ...


@overload
def prepare(
    self: ConnectionBase,
    query: str,
    *,
    name: str | None = None,
    parameter_types: Sequence[int | None] | None = None,
    timeout: float | None = None,
    record_class: None = None,
    row_factory: None = None,
) -> PreparedStatement[_core.Record]: ...


@overload
def prepare(
    self: ConnectionBase,
    query: str,
    *,
    name: str | None = None,
    parameter_types: Sequence[int | None] | None = None,
    timeout: float | None = None,
    record_class: type[MadeOf],
    row_factory: None = None,
) -> PreparedStatement[MadeOf]: ...


@overload
def prepare(
    self: ConnectionBase,
    query: str,
    *,
    name: str | None = None,
    parameter_types: Sequence[int | None] | None = None,
    timeout: float | None = None,
    record_class: RecordClass = None,
    row_factory: RowFactory[Row],
) -> PreparedStatement[Row]: ...


def prepare(
    self: ConnectionBase,
    query: str,
    *,
    name: str | None = None,
    parameter_types: Sequence[int | None] | None = None,
    timeout: float | None = None,
    record_class: type[Any] | None = None,
    row_factory: RowFactory[Any] | None = None,
) -> PreparedStatement[Any]:
    """Have the server parse a query, to be run later, any number of times.

    `name` is the statement's name on the server; None generates one. The name "" makes it the
    unnamed statement, whose text is sent with each run. Rows are of `record_class`, or made by
    `row_factory`, as in `Connection.fetch`. `parameter_types` is as in `fetch_result`.
    """
    if name is not None:
        check_name("name", name)
        (whole,) = whole_names(self.conversation, name)
        check_length(whole)
        name = whole
    conversation = self.conversation
    making = self.row_making.of(record_class, row_factory)
    if making.record_class is not None:
        _core.check_record_class(making.record_class)
    with conversation.operation(timeout):
        statement = _prepared(conversation, query, name, declared(parameter_types))
    if isinstance(query, DtypeQuery):
        return DtypeStatement(conversation, statement, query)
    return PreparedStatement(conversation, statement, making.record_class, making.factory)


@overload
def cursor(
    self: ConnectionBase,
    query: DtypeQuery,
    *args: object,
    prefetch: int | None = None,
    timeout: float | None = None,
) -> CursorFactory[Any]: ...


@overload
def cursor(
    self: ConnectionBase,
    query: str,
    *args: object,
    prefetch: int | None = None,
    timeout: float | None = None,
    record_class: None = None,
    row_factory: None = None,
) -> CursorFactory[_core.Record]: ...


@overload
def cursor(
    self: ConnectionBase,
    query: str,
    *args: object,
    prefetch: int | None = None,
    timeout: float | None = None,
    record_class: type[MadeOf],
    row_factory: None = None,
) -> CursorFactory[MadeOf]: ...


@overload
def cursor(
    self: ConnectionBase,
    query: str,
    *args: object,
    prefetch: int | None = None,
    timeout: float | None = None,
    record_class: RecordClass = None,
    row_factory: RowFactory[Row],
) -> CursorFactory[Row]: ...


def cursor(
    self: ConnectionBase,
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
    made_by = DtypeCursorFactory if isinstance(query, DtypeQuery) else CursorFactory
    return made_by(
        conversation,
        query,
        None,
        args,
        prefetch=prefetch,
        timeout=timeout,
        record_class=making.record_class,
        row_factory=making.factory,
    )


def _prepared(
    conversation: Conversation, query: str, name: str | None, types: tuple[int, ...]
) -> _core.Statement:
    try:
        conversation.session.prepare_owned(query, name, types)
        return statement_of(conversation.completion())
    except (PostgresError, UnicodeEncodeError) as error:
        # Observers are not told of preparations, so the operation does not know the text.
        note_query(error, query)
        raise
