"""`Connection` of PEP 249, and `connect`."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, overload

from colonnade import sync
from colonnade._driver.exact_dates import make_dates_exact
from colonnade._driver.sql.quoting import quote_identifier, whole_on
from colonnade._pep249 import errors
from colonnade._pep249.errors import InterfaceError, OperationalError, ProgrammingError
from colonnade._pep249.parameters import adapted, without_naive
from colonnade._pep249.transactions import IsolationLevel, TransactionOptions, checked_level
from colonnade._words.arguments import check_callable, check_switch
from colonnade.dbapi._guard import Guard
from colonnade.dbapi._info import ConnectionInfo
from colonnade.dbapi._words import split_words, with_words
from colonnade.dbapi.catalog import CatalogMixin
from colonnade.dbapi.cursor import Cursor
from colonnade.dbapi.named_cursor import NamedCursor
from colonnade.dbapi.placeholders import Placeholders, Pyformat
from colonnade.dbapi.transactions import Transaction
from colonnade.dbapi.two_phase import TwoPhaseMixin

if TYPE_CHECKING:
    from types import TracebackType

    from colonnade.dbapi.placeholders import Parameters
    from colonnade.errors import PostgresLogMessage
    from colonnade.rows import RowFactory


NoticeHandler = Callable[[errors.Diagnostic], object]


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
        make_dates_exact(driver)
        self._driver = driver
        self._guard = Guard()
        self._autocommit = autocommit
        self._options = TransactionOptions()
        self._blocks = 0
        self._tpc = None
        self._refuses_naive = driver.naive_datetimes == "refuse"
        self._expects: Literal["rows", "columns"] = "rows"
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
        self._check_open()
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
        with self._guard:
            self._check_open()
            self._check_no_block("commit")
            self._end("COMMIT")

    def rollback(self) -> None:
        """Roll the transaction back, if one is open. Raises the errors of `commit`."""
        with self._guard:
            self._check_open()
            self._check_no_block("rollback")
            self._end("ROLLBACK")

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
        return self._autocommit

    @autocommit.setter
    def autocommit(self, value: bool) -> None:
        with self._guard:
            self._check_idle("set autocommit")
            self._autocommit = bool(value)

    @property
    def isolation_level(self) -> IsolationLevel | None:
        """The isolation level of new transactions; None means the server's default.

        Setting it within a transaction, or to an unknown level, raises ProgrammingError.
        """
        return self._options.isolation_level

    @isolation_level.setter
    def isolation_level(self, value: int | None) -> None:
        with self._guard:
            self._check_idle("set isolation_level")
            self._options.isolation_level = checked_level(value)

    @property
    def read_only(self) -> bool | None:
        """Whether new transactions are READ ONLY; None means the server's default.

        Setting it within a transaction raises ProgrammingError.
        """
        return self._options.read_only

    @read_only.setter
    def read_only(self, value: bool | None) -> None:
        with self._guard:
            self._check_idle("set read_only")
            self._options.read_only = None if value is None else bool(value)

    @property
    def deferrable(self) -> bool | None:
        """Whether new transactions are DEFERRABLE; None means the server's default.

        A deferrable transaction that is serializable and read-only waits for a safe snapshot.
        Setting it within a transaction raises ProgrammingError.
        """
        return self._options.deferrable

    @deferrable.setter
    def deferrable(self, value: bool | None) -> None:
        with self._guard:
            self._check_idle("set deferrable")
            self._options.deferrable = None if value is None else bool(value)

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
        try:
            self._driver.cancel()
        except Exception as error:
            made = errors.translated(error)
            raise (made or error) from error

    adbc_cancel = cancel

    @property
    def driver_connection(self) -> sync.Connection:
        """The underlying `colonnade.sync.Connection`."""
        return self._driver

    def __colonnade_connection__(self) -> sync.Connection:
        """Begin a transaction if needed, and lend `colonnade.frames` the driver's connection."""
        with self._guard:
            self._check_open()
            self._begin()
        return self._driver

    @property
    def closed(self) -> bool:
        """Whether the connection was closed, by the client or by the server."""
        return self._driver.is_closed()

    def close(self) -> None:
        """Close the connection; the server rolls an open transaction back."""
        with self._guard:
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
            if self._tpc is not None:
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

    def _check_open(self) -> None:
        if self._driver.is_inherited():
            raise InterfaceError(
                "the connection belongs to the parent process, which opened it before it forked: "
                "connect in each process, after the fork"
            )
        if self._driver.is_closed():
            raise OperationalError("the connection is closed")

    def _check_idle(self, action: str) -> None:
        self._check_open()
        if self._driver.is_in_transaction() or self._tpc is not None:
            raise ProgrammingError(
                f"cannot {action} within a transaction: commit or roll back first"
            )

    def _check_no_block(self, action: str) -> None:
        if self._tpc is not None:
            raise ProgrammingError(
                f"{action}() cannot be used within a two-phase transaction: use tpc_{action}()"
            )
        if self._blocks:
            raise ProgrammingError(
                f"{action}() cannot be used within a transaction() block, whose end commits or "
                "rolls back"
            )

    def _with_values(
        self, query: str, params: Parameters | None
    ) -> tuple[str, list[Any], list[int]]:
        """Return the SQL for the server, the parameters' values and the OIDs of their types."""
        if params is None:
            return query, [], []
        text, found = self.placeholders.translated(query, params)
        return (text, *self._adapted(found))

    def _adapted(self, values: Iterable[Any]) -> tuple[list[Any], list[int]]:
        made, types = adapted(values)
        return made, without_naive(types) if self._refuses_naive else types

    def _begin(self) -> bool:
        """Begin a transaction before a statement, unless in autocommit or in one already.

        Returns whether a transaction was begun.
        """
        if self._tpc is not None and self._tpc[1]:
            raise ProgrammingError(
                "the transaction is prepared: end it with tpc_commit() or tpc_rollback() first"
            )
        if self._autocommit or self._driver.is_in_transaction():
            return False
        command = self._options.begin()
        if self._options.may_be_refused:
            self._driver.execute(command)
        else:
            self._driver.begin_ahead(command)
        return True

    def _undo(self) -> bool:
        """Roll back a transaction whose only statement was stale; False if it cannot be done."""
        if self.closed:
            return False
        self._end("ROLLBACK")
        return True

    def _end(self, command: str) -> None:
        if self._driver.is_in_transaction():
            self._driver.execute(command)

    def _enter_block(self, savepoint: str | None) -> tuple[bool, str | None]:
        with self._guard:
            self._check_open()
            is_outermost = not self._driver.is_in_transaction()
            if is_outermost:
                self._driver.execute(self._options.begin())
            if savepoint is None and not is_outermost:
                savepoint = f"__colonnade_block_{self._blocks}"
            if savepoint is not None:
                (savepoint,) = names = whole_on(self._driver, savepoint)
                self._driver.execute(f"SAVEPOINT {quote_identifier(*names)}")
            self._blocks += 1
            return is_outermost, savepoint

    def _leave_block(self, is_outermost: bool, savepoint: str | None, is_kept: bool) -> None:
        with self._guard:
            self._blocks -= 1
            if self._driver.is_closed():
                if is_kept:
                    raise OperationalError("the connection was closed within the transaction")
                return
            if is_outermost:
                self._end("COMMIT" if is_kept else "ROLLBACK")
            elif savepoint is not None:
                name = quote_identifier(savepoint)
                undo = "" if is_kept else f"ROLLBACK TO {name}; "
                self._driver.execute(f"{undo}RELEASE {name}")

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
