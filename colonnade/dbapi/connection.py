"""`Connection` and `Cursor` of PEP 249, which know each other, and `connect`."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Self, overload

from colonnade import sync
from colonnade._pep249 import errors
from colonnade._pep249.transactions import IsolationLevel, checked_level
from colonnade._words.arguments import check_callable, check_switch
from colonnade.dbapi._guard import Guard
from colonnade.dbapi._info import ConnectionInfo
from colonnade.dbapi._keywords import split_words, with_words
from colonnade.dbapi._shared import Shared
from colonnade.dbapi.catalog import CatalogMixin
from colonnade.dbapi.cursor import BaseCursor
from colonnade.dbapi.named_cursor import BaseNamedCursor
from colonnade.dbapi.placeholders import Placeholders, Pyformat
from colonnade.dbapi.two_phase import TwoPhaseMixin

if TYPE_CHECKING:
    from types import TracebackType

    from colonnade.dbapi.placeholders import Parameters
    from colonnade.errors import PostgresLogMessage
    from colonnade.rows import RowFactory


NoticeHandler = Callable[[errors.Diagnostic], object]


class Cursor(BaseCursor):
    """Runs queries and returns their rows or columns; made by `Connection.cursor`.

    `execute` waits for the whole result, so the query's errors are raised there. Cursors of one
    connection share its transaction. In rows, NULL is None. After `close`, the methods raise
    InterfaceError.
    """

    def __init__(
        self, connection: Connection, *, row_factory: RowFactory[Any] | None = None
    ) -> None:
        shared = connection._shared  # noqa: SLF001 - a cursor is a part of its connection
        super().__init__(shared, row_factory=row_factory)
        self._connection = connection

    @property
    def connection(self) -> Connection:
        """The cursor's connection."""
        return self._connection

    def __repr__(self) -> str:
        """The last command tag and the connection."""
        did = "closed" if self._is_closed else self.statusmessage or "no result"
        return f"<{type(self).__name__} {did} of {self._connection!r}>"


class NamedCursor(BaseNamedCursor, Cursor):
    """A server-side cursor; made by `Connection.cursor` with a name.

    Memory holds the rows of one fetch; iteration fetches `itersize` rows at a time. The cursor
    needs a transaction and ends with it, unless it was made with `withhold`. `rowcount` is always
    -1.
    """

    def __init__(
        self,
        connection: Connection,
        name: str,
        *,
        row_factory: RowFactory[Any] | None = None,
        scrollable: bool | None = None,
        withhold: bool = False,
    ) -> None:
        Cursor.__init__(self, connection, row_factory=row_factory)
        self._give_name(name, scrollable=scrollable, withhold=withhold)


class Transaction:
    """A block that commits at its end, or rolls back if it raises.

    Within another transaction it is a savepoint. Made by `Connection.transaction`.
    """

    def __init__(self, connection: Connection, savepoint: str | None, force_rollback: bool) -> None:
        self._connection = connection
        self._shared = connection._shared  # noqa: SLF001 - a block is a part of its connection
        self._savepoint = savepoint
        self._force_rollback = force_rollback
        self._is_outermost = False

    @property
    def connection(self) -> Connection:
        """The connection of the transaction."""
        return self._connection

    @property
    def savepoint_name(self) -> str | None:
        """The name of the savepoint; None if the block is the outermost transaction."""
        return self._savepoint

    def __enter__(self) -> Self:
        """Begin the transaction, or set the savepoint."""
        begun = self._shared.enter_block(self._savepoint)
        self._is_outermost, self._savepoint = begun
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Commit, or roll back if the block raised or `force_rollback` is set."""
        is_kept = error is None and not self._force_rollback
        self._shared.leave_block(self._is_outermost, self._savepoint, is_kept)

    def __repr__(self) -> str:
        """The savepoint's name, or `outermost`."""
        return f"<{type(self).__name__} {self._savepoint or 'outermost'}>"


class Connection(TwoPhaseMixin, CatalogMixin):
    """A connection and its transaction; made by `connect`.

    As a context manager it commits at the end of the block, or rolls back if the block raises, and
    then closes the connection.
    """

    Warning = errors.Warning
    Error = errors.Error
    InterfaceError = errors.InterfaceError
    DatabaseError = errors.DatabaseError
    DataError = errors.DataError
    OperationalError = errors.OperationalError
    IntegrityError = errors.IntegrityError
    InternalError = errors.InternalError
    ProgrammingError = errors.ProgrammingError
    NotSupportedError = errors.NotSupportedError

    placeholders: ClassVar[Placeholders] = Pyformat()
    """The style of placeholders in queries; a subclass may use another one."""

    cursor_factory: type[Cursor] = Cursor
    """The class of the cursors that `cursor()` makes."""

    def __init__(
        self,
        driver: sync.Connection,
        *,
        autocommit: bool = False,
        row_factory: RowFactory[Any] | None = None,
    ) -> None:
        self._driver = driver
        self._shared = Shared(driver, self.placeholders, autocommit=autocommit)
        self.row_factory = row_factory
        """The row factory of new cursors, from `colonnade.rows`; None for tuples."""
        self._notice_handlers: list[NoticeHandler] = []
        driver.add_log_listener(_notice_listener(weakref.ref(self)))

    # Queries

    @overload
    def cursor(self, *, row_factory: RowFactory[Any] | None = None) -> Cursor: ...
    @overload
    def cursor(
        self,
        name: str,
        *,
        row_factory: RowFactory[Any] | None = None,
        scrollable: bool | None = None,
        withhold: bool = False,
    ) -> NamedCursor: ...
    def cursor(
        self,
        name: str = "",
        *,
        row_factory: RowFactory[Any] | None = None,
        scrollable: bool | None = None,
        withhold: bool = False,
    ) -> Cursor:
        """Return a new cursor; with a name, a server-side cursor, whose rows stay on the server.

        A server-side cursor ends with its transaction, unless `withhold` is set. `scrollable` says
        whether the cursor can move backwards; None lets the server decide.

        Raises OperationalError if the connection is closed.
        """
        self._shared.check_open()
        make = row_factory or self.row_factory
        if name:
            return NamedCursor(
                self, name, row_factory=make, scrollable=scrollable, withhold=withhold
            )
        return self.cursor_factory(self, row_factory=make)

    def execute(self, query: str, params: Parameters | None = None) -> Cursor:
        """Run a query with a new cursor, and return the cursor; see `Cursor.execute`."""
        return self.cursor().execute(query, params)

    # Transactions

    def commit(self) -> None:
        """Commit the transaction, if one is open.

        Raises ProgrammingError within a `transaction()` block or a two-phase transaction, and
        OperationalError if the connection is closed.
        """
        with self._shared.guard:
            self._shared.check_open()
            self._shared.check_no_block("commit")
            self._shared.end("COMMIT")

    def rollback(self) -> None:
        """Roll the transaction back, if one is open. Raises the errors of `commit`."""
        with self._shared.guard:
            self._shared.check_open()
            self._shared.check_no_block("rollback")
            self._shared.end("ROLLBACK")

    def transaction(
        self, savepoint_name: str | None = None, force_rollback: bool = False
    ) -> Transaction:
        """Return a context manager that commits at the end of its block, or rolls back on an error.

        Within a transaction it sets a savepoint instead. With `force_rollback` the block is always
        rolled back.
        """
        return Transaction(self, savepoint_name, force_rollback)

    @property
    def autocommit(self) -> bool:
        """Whether each statement is a transaction of its own.

        Setting it within a transaction raises ProgrammingError.
        """
        return self._shared.autocommit

    @autocommit.setter
    def autocommit(self, value: bool) -> None:
        with self._shared.guard:
            self._shared.check_idle("set autocommit")
            self._shared.autocommit = bool(value)

    @property
    def isolation_level(self) -> IsolationLevel | None:
        """The isolation level of new transactions; None means the server's default.

        Setting it within a transaction, or to an unknown level, raises ProgrammingError.
        """
        return self._shared.options.isolation_level

    @isolation_level.setter
    def isolation_level(self, value: int | None) -> None:
        with self._shared.guard:
            self._shared.check_idle("set isolation_level")
            self._shared.options.isolation_level = checked_level(value)

    @property
    def read_only(self) -> bool | None:
        """Whether new transactions are READ ONLY; None means the server's default.

        Setting it within a transaction raises ProgrammingError.
        """
        return self._shared.options.read_only

    @read_only.setter
    def read_only(self, value: bool | None) -> None:
        with self._shared.guard:
            self._shared.check_idle("set read_only")
            self._shared.options.read_only = None if value is None else bool(value)

    @property
    def deferrable(self) -> bool | None:
        """Whether new transactions are DEFERRABLE; None means the server's default.

        A deferrable transaction that is serializable and read-only waits for a safe snapshot.
        Setting it within a transaction raises ProgrammingError.
        """
        return self._shared.options.deferrable

    @deferrable.setter
    def deferrable(self, value: bool | None) -> None:
        with self._shared.guard:
            self._shared.check_idle("set deferrable")
            self._shared.options.deferrable = None if value is None else bool(value)

    # Notices

    def add_notice_handler(self, callback: NoticeHandler) -> None:
        """Call `callback` with the `Diagnostic` of each notice that the server sends."""
        self._notice_handlers.append(callback)

    def remove_notice_handler(self, callback: NoticeHandler) -> None:
        """Stop calling `callback`. Raises ValueError if it was not added."""
        self._notice_handlers.remove(callback)

    # Lifetime

    @property
    def info(self) -> ConnectionInfo:
        """Facts about the connection and its server."""
        return ConnectionInfo(self._driver)

    def cancel(self) -> None:
        """Ask the server to cancel the running query; call it from another thread.

        The query then raises OperationalError. Nothing happens if no query runs.
        """
        self._shared.cancel()

    adbc_cancel = cancel

    @property
    def driver_connection(self) -> sync.Connection:
        """The underlying `colonnade.sync.Connection`."""
        return self._driver

    def __colonnade_connection__(self) -> sync.Connection:
        """Begin a transaction if needed, and lend `colonnade.frames` the driver's connection."""
        return self._shared.lent()

    @property
    def closed(self) -> bool:
        """Whether the connection was closed, by the client or by the server."""
        return self._driver.is_closed()

    def close(self) -> None:
        """Close the connection; the server rolls an open transaction back."""
        with self._shared.guard:
            self._driver.close()

    def __enter__(self) -> Self:
        """The connection itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Commit, or roll back if the block raised; then close."""
        if self.closed:
            return
        try:
            if self._shared.two_phase is not None:
                pass
            elif error is None:
                self.commit()
            else:
                self._rollback_after(error)
        finally:
            self.close()

    def __repr__(self) -> str:
        """The representation of the driver's connection."""
        return repr(self._driver).replace("<Connection", f"<{type(self).__name__}", 1)

    # Internals

    def _rollback_after(self, error: BaseException) -> None:
        """Roll back because of an exception. A failure to do so becomes a note of it."""
        try:
            self.rollback()
        except errors.Error as failure:
            error.add_note(f"The rollback failed, too: {failure}")

    def _handle_notice(self, message: PostgresLogMessage) -> None:
        for handler in tuple(self._notice_handlers):
            handler(errors.Diagnostic(message))


def _notice_listener(
    reference: weakref.ref[Connection],
) -> Callable[[sync.Connection, PostgresLogMessage], None]:
    """Return a listener that passes notices on, and holds the connection by a weak reference."""

    def listener(_driver: sync.Connection, message: PostgresLogMessage) -> None:
        connection = reference()
        if connection is not None:
            connection._handle_notice(message)  # noqa: SLF001 - a part of it

    return listener


def connect(
    dsn: str | None = None,
    *,
    autocommit: bool = False,
    row_factory: RowFactory[Any] | None = None,
    connection_class: type[Connection] = Connection,
    **options: Any,
) -> Connection:
    """Connect to a server.

    `dsn` is a URL (`postgresql://user@host/db`) or a string of keywords and values
    (`host=localhost dbname=test`). `options` are the arguments of `colonnade.sync.connect` and
    libpq's keywords, such as `dbname`, `sslmode` or `application_name`; they override the DSN.
    `row_factory` is one of `colonnade.rows`; None makes rows tuples.

    Raises OperationalError if no server can be reached or the server refuses the connection,
    ProgrammingError for an invalid option, and TypeError for an argument of the wrong class.
    """
    check_callable("connection_class", connection_class)
    check_switch("autocommit", autocommit)
    check_callable("row_factory", row_factory)
    with Guard():
        arguments, words = split_words(options)
        driver = sync.connect(with_words(dsn, words), **arguments)
    return connection_class(driver, autocommit=autocommit, row_factory=row_factory)
