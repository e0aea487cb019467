"""SQLAlchemy's adapted connections, over the driver's blocking and asyncio connections.

One code serves both: a call of the driver returns its result on a blocking connection and an
awaitable on an asyncio one, and `_wait` turns either into the result.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from sqlalchemy.connectors.asyncio import AsyncAdapt_terminate
from sqlalchemy.engine import AdaptedConnection as SQLAlchemysAdaptedConnection
from sqlalchemy.util import await_only

from colonnade._driver.exact_dates import make_dates_exact
from colonnade._driver.sql.quoting import quote_literal
from colonnade._pep249.errors import OperationalError, ProgrammingError, translated
from colonnade._pep249.parameters import adapted, without_naive
from colonnade._pep249.scripts import is_script, with_rows
from colonnade._pep249.text_parameters import typed, uncast
from colonnade._pep249.transactions import (
    TransactionOptions,
    check_prepared,
    is_stale,
    run_in_transaction,
)
from colonnade.errors import EncodeError, InFailedSQLTransactionError
from colonnade.sqlalchemy import _schema_changes
from colonnade.sqlalchemy._cursor import Cursor, ServerSideCursor
from colonnade.sqlalchemy._many import Series, are_plain, series_of
from colonnade.types import TextValue

# How long a graceful close may take before the socket is closed.
_CLOSE_SECONDS = 2.0
# The savepoint before a stream of columns; a connection has one stream at a time.
_STREAM = "colonnade_stream"


class AdaptedConnection(SQLAlchemysAdaptedConnection):
    """A connection that begins transactions implicitly, as PEP 249 requires.

    `driver_connection` is Colonnade's own connection.
    """

    __slots__ = (
        "_autocommit",
        "_connection",
        "_has_altered",
        "_has_made",
        "_has_stream",
        "_is_outdated",
        "_known_change",
        "_two_phase_id",
        "options",
    )

    def __init__(self, connection: Any) -> None:
        make_dates_exact(connection)
        self._connection = connection
        self._autocommit = False
        self.options = TransactionOptions()
        self._two_phase_id: str | None = None
        # Whether the open transaction has altered, or created, tables or types.
        self._has_altered = False
        self._has_made = False
        self._has_stream = False
        self._is_outdated = False
        self._known_change = _schema_changes.last()

    @staticmethod
    def _wait(result: Any) -> Any:
        return result

    # State

    @property
    def closed(self) -> bool:
        """Whether the connection was closed, by the client or by the server."""
        return bool(self._connection.is_closed())

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open, failed or not."""
        return bool(self._connection.is_in_transaction())

    @property
    def autocommit(self) -> bool:
        """Whether each statement is a transaction of its own.

        Setting it within a transaction raises ProgrammingError.
        """
        return self._autocommit

    @autocommit.setter
    def autocommit(self, value: bool) -> None:
        if value != self._autocommit and self.in_transaction:
            raise ProgrammingError("autocommit cannot be changed within a transaction")
        self._autocommit = value

    def __colonnade_connection__(self) -> Any:
        """Begin a transaction if needed, and lend `colonnade.frames` the driver's connection."""
        return self._run(lambda: self._connection)

    def cursor(self, *, server_side: bool = False) -> Cursor:
        """Return a cursor; with `server_side`, one that leaves its rows on the server."""
        return ServerSideCursor(self) if server_side else Cursor(self)

    # Transactions

    def commit(self) -> None:
        """Commit the open transaction, if there is one."""
        self._end("COMMIT")

    def rollback(self) -> None:
        """Roll the open transaction back, if there is one."""
        self._end("ROLLBACK")

    def _end(self, command: str) -> None:
        if self._connection.is_inherited() and command == "ROLLBACK":
            # A forked child leaves a block: the transaction is its parent's, and must not end.
            return
        if self.closed:
            raise OperationalError("the connection is closed")
        done = self._command(command) if self.in_transaction else command
        self._two_phase_id = None
        # The server answers COMMIT with ROLLBACK if the transaction had failed.
        if self._has_altered or (self._has_made and done == "ROLLBACK"):
            _schema_changes.announce()
        self._has_altered = self._has_made = False

    def _begin(self) -> bool:
        """Begin a transaction, unless in autocommit or in one already; return whether it did."""
        if self._autocommit or self.in_transaction:
            return False
        driver = self._connection
        begin = driver.execute if self.options.may_be_refused else driver.begin_ahead
        self._wait(begin(self.options.begin()))
        return True

    # Two phases

    def tpc_begin(self, xid: str) -> None:
        """Begin a transaction that will be prepared under the name `xid`."""
        if self.in_transaction:
            raise ProgrammingError("a two-phase transaction cannot begin within a transaction")
        self._two_phase_id = xid

    def tpc_prepare(self) -> None:
        """Prepare the transaction; any connection can commit it afterwards."""
        if self._two_phase_id is None:
            raise ProgrammingError("there is no two-phase transaction to prepare")
        try:
            self._begin()
        except Exception as error:  # noqa: BLE001 - each becomes one of PEP 249's
            self._raise(error)
        check_prepared(self._command(f"PREPARE TRANSACTION {quote_literal(self._two_phase_id)}"))

    def tpc_end(self, command: str, xid: str) -> None:
        """`COMMIT` or `ROLLBACK` a prepared transaction, after rolling back the open one."""
        self._end("ROLLBACK")
        self._command(f"{command} PREPARED {quote_literal(xid)}")

    def tpc_recover(self) -> list[str]:
        """Return the names of this database's prepared transactions."""
        asked = (
            "SELECT gid FROM pg_catalog.pg_prepared_xacts "
            "WHERE database OPERATOR(pg_catalog.=) pg_catalog.current_database()"
        )
        try:
            rows = self._wait(self._connection.fetch_plain(asked))
        except Exception as error:  # noqa: BLE001
            self._raise(error)
        return [row[0] for row in rows]

    # Statements

    def fetch_result(self, operation: str, parameters: Sequence[Any]) -> Any:
        """Run a statement, in a transaction unless in autocommit; return the driver's `Result`.

        Without parameters the text may hold several statements: the result is that of the first, or
        None if the server had to split them.
        """
        if not parameters and is_script(operation):
            return self._run(lambda: self._run_script(operation))
        arguments, oids = self._typed(operation, parameters)

        def run() -> Any:
            fetch = functools.partial(self._connection.fetch_result, operation, record_class=tuple)
            try:
                return self._wait(fetch(*arguments, parameter_types=oids))
            except EncodeError:
                # Nothing was sent. The type of the statement's cast does not take the value, as
                # text takes no number. Declare the type of the value, which the server casts.
                values, types = adapted(parameters)
                return self._wait(fetch(*values, parameter_types=self._declared(types)))

        result = self._run(run)
        self._note_change(result.status)
        return result

    def _run_script(self, script: str) -> Any:
        """Run several statements, and return the `Result` of the first.

        Returns None if they have to be sent as one text: if they cannot be split, or in autocommit,
        where they are one transaction.
        """
        statements = None if self._autocommit else with_rows(script)
        first = None
        if statements is not None:
            query, *others = statements
            first = self._wait(self._connection.fetch_result(query, record_class=tuple))
            script = "; ".join(others)
        self._wait(self._connection.execute(script))
        self._note_script()
        return first

    def execute_many(self, operation: str, parameters: Sequence[Sequence[Any]]) -> list[str]:
        """Run a statement for each set of parameters; return the command tag of each series."""
        rows = [as_parameters(row) for row in parameters]
        columns = list(zip(*rows, strict=True)) if len(set(map(len, rows))) == 1 else []

        def run() -> list[str]:
            many = [Series(rows, ())]
            if uncast(operation):
                # As `adapted`, for a text whose parameters the server could not tell the types of.
                many = list(series_of(rows, columns, None))
            elif not are_plain(columns):
                types = self._wait(self._connection.parameter_types(operation))
                if len(types) == len(columns):
                    names = [pg_type.name for pg_type in types]
                    many = list(series_of(rows, columns, names))
            return [self._run_series(operation, one) for one in many]

        statuses: list[str] = self._run(run)
        return statuses

    def _typed(
        self, operation: str, parameters: Sequence[Any]
    ) -> tuple[tuple[Any, ...], Sequence[int]]:
        """Return the arguments, and the types that the parameters of a `text()` declare."""
        values, types = typed(operation, parameters)
        return as_parameters(values), self._declared(types)

    def _declared(self, types: Sequence[int]) -> Sequence[int]:
        return without_naive(types) if self._connection.naive_datetimes == "refuse" else types

    def _run_series(self, operation: str, series: Series) -> str:
        fetch, types = self._connection.fetchmany_result, self._declared(series.types)
        result = fetch(operation, series.rows, record_class=tuple, parameter_types=types)
        status: str = self._wait(result).status
        return status

    def open_cursor(self, operation: str, parameters: Sequence[Any]) -> tuple[Any, Any]:
        """Prepare a statement and open a cursor over its rows; return both."""
        if self._autocommit:
            raise OperationalError(
                "a server-side cursor needs a transaction, and this connection is in AUTOCOMMIT: "
                "leave stream_results and yield_per out, or use another isolation level"
            )
        arguments, oids = self._typed(operation, parameters)

        def run() -> tuple[Any, Any]:
            prepared = self._connection.prepare(operation, record_class=tuple, parameter_types=oids)
            statement = self._wait(prepared)
            return statement, self._wait(statement.cursor(*arguments).open())

        opened: tuple[Any, Any] = self._run(run)
        return opened

    def fetch_more(self, portal: Any, count: int) -> list[tuple[Any, ...]]:
        """Return the next `count` rows of a server-side cursor."""
        if count < 1:
            return []
        try:
            rows: list[tuple[Any, ...]] = self._wait(portal.fetch(count))
        except Exception as error:  # noqa: BLE001
            self._raise(error)
        return rows

    def fetch_columns_into(self, cursor: Cursor, operation: str, parameters: Sequence[Any]) -> None:
        """Run the statement of a cursor that has a request for columns."""
        request = cursor.columns_request
        if request is None:
            raise ProgrammingError("the cursor was not asked for columns")
        arguments, oids = self._typed(operation, parameters)
        words = {
            "schema": request.schema,
            "infinity": request.infinity,
            "timeout": request.timeout,
            "parameter_types": oids,
        }

        def run() -> None:
            if request.batch_rows is None:
                fetched = self._connection.fetch_columns(operation, *arguments, **words)
                cursor.columns = self._wait(fetched)
                return
            # Leaving a stream early cancels its query, which would fail the transaction. The
            # savepoint lets it continue.
            self._has_stream = self.in_transaction
            if self._has_stream:
                self._wait(self._connection.execute(f"SAVEPOINT {_STREAM}"))
            cursor.stream = self._connection.iter_columns(
                operation, *arguments, batch_rows=request.batch_rows, **words
            )
            cursor.columns = self._next_batch(cursor.stream)

        self._run(run)
        if cursor.columns is not None and cursor.columns.fields:
            cursor.description = [
                (field.name, field.type_oid, None, None, None, None, None)
                for field in cursor.columns.fields
            ]

    def next_batch(self, stream: Any) -> Any:
        """Return the next batch of a stream of columns, or None at its end."""
        try:
            batch = self._next_batch(stream)
        except Exception as error:  # noqa: BLE001
            # An error of the query itself fails the transaction, as for any statement.
            self._has_stream = False
            self._raise(error)
        if batch is None:
            self._leave_savepoint()
        return batch

    @staticmethod
    def _next_batch(stream: Any) -> Any:
        return next(stream, None)

    def close_stream(self, stream: Any) -> None:
        """End a stream of columns; the transaction continues."""
        self._close_stream(stream)
        self._leave_savepoint()

    @staticmethod
    def _close_stream(stream: Any) -> None:
        stream.close()

    def _leave_savepoint(self) -> None:
        """End a stream's savepoint: release it, or roll back to it if the query was cancelled."""
        has_stream, self._has_stream = self._has_stream, False
        if not has_stream or self.closed or not self.in_transaction:
            return
        try:
            self._wait(self._connection.execute(f"RELEASE SAVEPOINT {_STREAM}"))
        except InFailedSQLTransactionError:
            self._command(f"ROLLBACK TO SAVEPOINT {_STREAM}; RELEASE SAVEPOINT {_STREAM}")
        except Exception as error:  # noqa: BLE001
            self._raise(error)

    def _run(self, run: Any) -> Any:
        """Run a statement, and begin its transaction if needed."""
        try:
            self._forget_if_outdated()
            return run_in_transaction(self._begin, run, self._undo)
        except Exception as error:  # noqa: BLE001
            self._raise(error)

    def _undo(self) -> bool:
        """Roll back a transaction whose only statement was stale; False if it cannot be done."""
        if self.closed:
            return False
        self._wait(self._connection.execute("ROLLBACK"))
        self._wait(self._connection.reload_schema_state())
        return True

    def _command(self, command: str) -> str:
        """Run a command without beginning a transaction; return its command tag."""
        try:
            status: str = self._wait(self._connection.execute(command))
        except Exception as error:  # noqa: BLE001
            self._raise(error)
        return status

    def _raise(self, error: Exception) -> NoReturn:
        if is_stale(error):
            self._is_outdated = True
        raise_translated(error)

    # Changes of tables and types

    def _forget_if_outdated(self) -> None:
        known = _schema_changes.last()
        if self._is_outdated or self._known_change != known:
            self._wait(self._connection.reload_schema_state())
            self._is_outdated, self._known_change = False, known

    def _note_change(self, status: str) -> None:
        is_altering = _schema_changes.is_altering(status)
        if not self.in_transaction:
            if is_altering:
                _schema_changes.announce()
            return
        # Other connections see the change, or it is undone, when the transaction ends.
        self._has_altered |= is_altering
        self._has_made |= _schema_changes.is_making(status)
        # ROLLBACK is also the tag of a rollback to a savepoint, which may undo such changes.
        if is_altering or (status == "ROLLBACK" and (self._has_made or self._has_altered)):
            self._is_outdated = True

    def _note_script(self) -> None:
        """Assume that a script changed tables: only its last command tag is known."""
        if self.in_transaction:
            self._has_altered = self._has_made = self._is_outdated = True
        else:
            _schema_changes.announce()

    # The driver's own features, and the end

    def ping(self) -> None:
        """Make one round trip to the server, without beginning a transaction."""
        self._command(";")

    def add_notice_listener(self, listener: Any) -> None:
        """Call `listener(connection, message)` for each of the server's notices."""
        self._connection.add_log_listener(listener)

    def set_text_type(self, typename: str) -> None:
        """Fetch the values of a PostgreSQL type as str."""
        self._wait(
            self._connection.set_type_codec(
                typename, schema="pg_catalog", encoder=str, decoder=str, format="text"
            )
        )

    def close(self) -> None:
        """Close the connection gracefully."""
        try:
            self._wait(self._connection.close())
        except Exception as error:  # noqa: BLE001
            self._raise(error)

    def terminate(self) -> None:
        """Close the socket immediately."""
        self._connection.terminate()


class AsyncAdaptedConnection(AsyncAdapt_terminate, AdaptedConnection):
    """An adapted connection over an asyncio one, for code that runs in SQLAlchemy's greenlet."""

    __slots__ = ()

    # SQLAlchemy 2.0's base class awaits by this.
    await_ = staticmethod(await_only)

    @staticmethod
    def _wait(result: Any) -> Any:
        return await_only(result)

    @staticmethod
    def _next_batch(stream: Any) -> Any:
        return await_only(anext(stream, None))

    @staticmethod
    def _close_stream(stream: Any) -> None:
        await_only(stream.aclose())

    async def _terminate_graceful_close(self) -> None:
        await self._connection.close(timeout=_CLOSE_SECONDS)

    def _terminate_force_close(self) -> None:
        self._connection.terminate()


def as_parameters(values: Iterable[Any]) -> tuple[Any, ...]:
    """Mark each str as a literal for the server to parse, for a parameter of any type."""
    return tuple(TextValue(value) if type(value) is str else value for value in values)


def raise_translated(error: Exception) -> NoReturn:
    """Raise PEP 249's exception for one of the driver's, and any other exception unchanged."""
    made = translated(error)
    if made is None:
        raise error
    raise made from error
