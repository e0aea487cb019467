"""A connection: queries in rows and in columns, scripts, and its own life."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal, Self, overload

from colonnade import _core
from colonnade._columns.schema import asked_of, asked_types
from colonnade._driver._async import (
    callback_registration,
    codecs,
    copy,
    copy_in_columns,
    copy_records,
    many,
    pipeline as pipelines,
    plain,
    preparing,
    reset as resetting,
    result,
    server,
    transaction as transactions,
    write_table as writing,
)
from colonnade._driver._async.column_stream import ColumnStream
from colonnade._driver._async.connection_base import ConnectionBase
from colonnade._driver._async.dtype_fetch import dtype_row, dtype_value, dtype_whole
from colonnade._driver._async.failures import note_limit
from colonnade._driver._async.row_making import RowMaking, made_rows
from colonnade._driver._async.series import declared, run_many
from colonnade._driver.dtype_query import DtypeQuery
from colonnade._driver.transport.asyncio import deadline
from colonnade._driver.transport.exchanges import COLUMNS, ROWS, SCRIPT, STATUS
from colonnade._words.arguments import check_count, checked_timeout, column_error
from colonnade.columns import Columns

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence
    from types import TracebackType

    from colonnade._columns.schema import Schema
    from colonnade._driver._async.conversation import Conversation
    from colonnade._driver._async.row_making import Factory, MadeOf, RecordClass
    from colonnade._driver._async.series import Arguments
    from colonnade.rows import Row, RowFactory
    from colonnade.types import Infinity


class Connection(ConnectionBase):
    """A connection to a PostgreSQL server.

    Made by `colonnade.connect`. Use it as an async context manager, or `close` it. One operation
    runs at a time; a second one raises InterfaceError. A call that is cancelled or times out
    leaves the connection usable or closed: the query is cancelled on the server, and the next call
    waits until that is done.

    `timeout`, where a method takes it, is in seconds and covers the whole call, including the
    preparing of the statement; None means the connection's `command_timeout`.
    """

    def __init__(self, conversation: Conversation, row_making: RowMaking) -> None:
        super().__init__(conversation, row_making)
        conversation.callbacks.face(self)
        # By these names, tools that watch connections find where a query goes.
        self._addr = conversation.login.place
        self._params = conversation.login.parameters

    # Rows

    @overload
    async def fetch(
        self, query: DtypeQuery, *args: object, timeout: float | None = None
    ) -> Any: ...
    @overload
    async def fetch(
        self,
        query: str,
        *args: object,
        timeout: float | None = None,
        record_class: None = None,
        row_factory: None = None,
    ) -> list[_core.Record]: ...
    @overload
    async def fetch(
        self,
        query: str,
        *args: object,
        timeout: float | None = None,
        record_class: type[MadeOf],
        row_factory: None = None,
    ) -> list[MadeOf]: ...
    @overload
    async def fetch(
        self,
        query: str,
        *args: object,
        timeout: float | None = None,
        record_class: RecordClass = None,
        row_factory: RowFactory[Row],
    ) -> list[Row]: ...
    async def fetch(
        self,
        query: str,
        *args: object,
        timeout: float | None = None,
        record_class: type[Any] | None = None,
        row_factory: RowFactory[Any] | None = None,
    ) -> list[Any]:
        """Run a query, and return its rows as a list of `Record`.

        Parameters `$1`, `$2`, ... of the query take their values from `args`. The rows are of
        `record_class`: a subclass of `Record` without `__new__` and `__init__` of its own, or
        `tuple` for plain tuples (else InterfaceError); None means the connection's. With
        `row_factory` each row is what that makes of it: see `colonnade.rows`; where both are None,
        the connection's `row_factory` counts.
        """
        if type(query) is not str and isinstance(query, DtypeQuery):
            return await dtype_whole(  # type: ignore[no-any-return]
                self.conversation, query, args, timeout
            )
        if row_factory is not None or self.row_making.factory is not None:
            record_class, row_factory = self.row_making.of(record_class, row_factory)
        rows: list[Any] = await self._execute(query, args, 0, timeout, record_class)
        if row_factory is None:
            return rows
        return await made_rows(self.conversation.transport, rows, row_factory)

    @overload
    async def fetchrow(
        self, query: DtypeQuery, *args: object, timeout: float | None = None
    ) -> Any: ...
    @overload
    async def fetchrow(
        self,
        query: str,
        *args: object,
        timeout: float | None = None,
        record_class: None = None,
        row_factory: None = None,
    ) -> _core.Record | None: ...
    @overload
    async def fetchrow(
        self,
        query: str,
        *args: object,
        timeout: float | None = None,
        record_class: type[MadeOf],
        row_factory: None = None,
    ) -> MadeOf | None: ...
    @overload
    async def fetchrow(
        self,
        query: str,
        *args: object,
        timeout: float | None = None,
        record_class: RecordClass = None,
        row_factory: RowFactory[Row],
    ) -> Row | None: ...
    async def fetchrow(
        self,
        query: str,
        *args: object,
        timeout: float | None = None,
        record_class: type[Any] | None = None,
        row_factory: RowFactory[Any] | None = None,
    ) -> Any:
        """Run a query, and return its first row as a `Record`, or None where there is none.

        `record_class` and `row_factory` are as in `fetch`.
        """
        if type(query) is not str and isinstance(query, DtypeQuery):
            return await dtype_row(self.conversation, query, args, timeout)
        if row_factory is not None or self.row_making.factory is not None:
            record_class, row_factory = self.row_making.of(record_class, row_factory)
        rows = await self._execute(query, args, 1, timeout, record_class)
        if row_factory is not None:
            rows = await made_rows(self.conversation.transport, rows, row_factory)
        return rows[0] if rows else None

    async def fetchval(
        self, query: str, *args: object, column: int | str = 0, timeout: float | None = None
    ) -> Any:
        """Run a query, and return one value of its first row, or None where there is no row.

        `column` is the index or the name of the value's column.
        """
        if type(query) is not str and isinstance(query, DtypeQuery):
            return await dtype_value(self.conversation, query, args, column, timeout)
        rows = await self._execute(query, args, 1, timeout)
        try:
            return rows[0][column] if rows else None
        except KeyError as error:
            raise column_error(error, column) from None

    # Columns

    async def fetch_columns(
        self,
        query: str,
        *args: object,
        schema: Schema | None = None,
        infinity: Infinity = "raise",
        parameter_types: Sequence[int | None] | None = None,
        timeout: float | None = None,
    ) -> Columns:
        """Run a query, and return its result as `Columns`, in Arrow's memory layout.

        `schema` asks for other types than the usual ones, by column name: for example
        `{"price": "float64"}` or `{"price": "decimal128(38, 4)"}` for a numeric, `{"name": "U20"}`
        for text in cells of 20 characters, `{"seen": "datetime64[ms]"}`. Types are names, or types
        of NumPy, pyarrow or Polars; a structured dtype or a `pyarrow.Schema` is a whole schema. It
        is checked before the first row; SchemaError names a type that the column cannot become.

        `infinity` decides about values that Arrow's types cannot hold, which are infinite dates and
        timestamps, and NaN and infinite numerics: "raise" (DecodeError, which names column and
        row), "null", or "saturate" (the outermost date or timestamp). `parameter_types` is as in
        `fetch_result`.
        """
        # Written for small results: each call that is not made here is felt there.
        conversation = self.conversation
        session, overrides = conversation.session, None if schema is None else asked_types(schema)
        types = () if parameter_types is None else declared(parameter_types)
        batch = await conversation.ask(
            COLUMNS, (session, query, args, overrides, infinity), timeout, declared=types
        )
        if conversation.column_decoders:
            batch = conversation.decoded(batch)
        asked = None if schema is None else asked_of(schema)
        return Columns(batch, asked, session.timing(conversation.pool_wait))

    def iter_columns(
        self,
        query: str,
        *args: object,
        batch_rows: int = 65_536,
        schema: Schema | None = None,
        infinity: Infinity = "raise",
        parameter_types: Sequence[int | None] | None = None,
        timeout: float | None = None,
    ) -> ColumnStream:
        """Run a query, and iterate over its result in `Columns` of `batch_rows` rows each.

        Memory stays at a few batches for a result of any size: a slow consumer holds the
        server back. The connection is taken until the last batch, or until the stream is closed;
        leaving a loop early closes it, which cancels the query. `timeout` limits the wait for each
        batch. A result without rows gives one empty batch, whose columns have names and types.

        `schema`, `infinity` and `parameter_types` are as in `fetch_columns`. The scale of a numeric
        without a declared one is that of the first batch; a later value with more digits raises
        DecodeError.
        """
        check_count("batch_rows", batch_rows)
        conversation, overrides = self.conversation, asked_types(schema)

        def begin(statement: _core.Statement) -> None:
            conversation.session.stream_columns(statement, args, overrides, infinity, batch_rows)

        limit, types = conversation.limit(timeout), declared(parameter_types)
        return ColumnStream(
            conversation, query, args, begin, limit, asked=asked_of(schema), declared=types
        )

    # Commands

    async def execute(self, query: str, *args: object, timeout: float | None = None) -> str:
        """Run a command, and return its status, such as `INSERT 0 1`.

        Without arguments the text may hold several statements, separated by semicolons; the status
        is the last one's. Rows are thrown away.
        """
        if args:
            return await self._execute(query, args, 0, timeout, return_status=True) or ""
        conversation = self.conversation
        return await conversation.ask(SCRIPT, (conversation.session, query), timeout) or ""

    async def executemany(
        self,
        command: str,
        args: Arguments,
        *,
        parameter_types: Sequence[int | None] | None = None,
        timeout: float | None = None,
    ) -> None:
        """Run a command once for each set of arguments; rows are thrown away.

        `args` is an iterable of sequences, or an async iterable of them; it is read while the
        arguments before are on their way, and never held as a whole. All is one unit: where an
        argument, the iterable or the server fails, nothing of it stays. Within a transaction,
        the transaction decides: a caller who catches the error of an argument may commit the
        sets that were sent before it.

        `parameter_types` is as in `fetch_result`.

        Raises EncodeError for an argument that does not fit, with its place and the set's, and
        InterfaceError for a set of another length than the command has parameters.
        """
        if parameter_types:
            conversation, types = self.conversation, declared(parameter_types)
            begin = conversation.session.execute_many
            async with conversation.series(timeout, command, args):
                await run_many(conversation, command, args, begin, types=types)
            return
        await self._executemany(command, args, timeout)

    # Verbs that stand in modules about their subjects

    fetchmany = many.fetchmany
    parameter_types = many.parameter_types
    fetch_plain = plain.fetch_plain
    fetch_plain_columns = plain.fetch_plain_columns
    fetch_result = result.fetch_result
    fetchmany_result = result.fetchmany_result
    hold_result = result.hold_result
    prepare = preparing.prepare
    cursor = preparing.cursor
    pipeline = pipelines.pipeline
    transaction = transactions.transaction
    begin_ahead = transactions.begin_ahead

    copy_to_table = copy.copy_to_table
    copy_from_table = copy.copy_from_table
    copy_from_query = copy.copy_from_query
    copy_records_to_table = copy_records.copy_records_to_table
    copy_columns_to_table = copy_in_columns.copy_columns_to_table
    write_table = writing.write_table

    set_type_codec = codecs.set_type_codec
    reset_type_codec = codecs.reset_type_codec
    set_builtin_type_codec = codecs.set_builtin_type_codec
    reload_schema_state = codecs.reload_schema_state

    add_listener = callback_registration.add_listener
    remove_listener = callback_registration.remove_listener
    notifications = callback_registration.notifications
    add_log_listener = callback_registration.add_log_listener
    remove_log_listener = callback_registration.remove_log_listener
    add_termination_listener = callback_registration.add_termination_listener
    remove_termination_listener = callback_registration.remove_termination_listener
    add_query_logger = callback_registration.add_query_logger
    remove_query_logger = callback_registration.remove_query_logger
    query_logger = callback_registration.query_logger

    cancel = server.cancel
    get_server_pid = server.get_server_pid
    get_server_version = server.get_server_version
    get_settings = server.get_settings

    get_reset_query = resetting.get_reset_query
    reset = resetting.reset

    # State

    @property
    def row_factory(self) -> Factory:
        """The factory of rows for calls that name neither a factory nor a `record_class`.

        None, unless `connect` was given one.
        """
        return self.row_making.factory

    @property
    def transaction_status(self) -> str:
        """Whether a transaction is open: "idle", "in transaction" or "failed".

        As the server last reported; a "failed" transaction can only be rolled back.
        """
        return self.conversation.session.transaction_status

    @property
    def address(self) -> str | tuple[str, int]:
        """Where the server is: the path of its socket, or host and port."""
        return self.conversation.login.place

    @property
    def naive_datetimes(self) -> Literal["local", "refuse"]:
        """The meaning of a `datetime` without a zone as a timestamptz, as given to `connect`."""
        return "refuse" if self.conversation.session.refuses_naive_moments else "local"

    @property
    def user(self) -> str:
        """The name of the role that the connection was made as."""
        return self.conversation.login.user

    @property
    def database(self) -> str:
        """The name of the database."""
        return self.conversation.login.database

    def is_closed(self) -> bool:
        """Whether the connection is closed, by either side."""
        return self.conversation.session.is_closed

    def is_inherited(self) -> bool:
        """Whether this process is a fork of the one that opened the connection.

        Such a connection is the parent's alone: every query raises InterfaceError, and neither
        closing nor dropping it does anything to it.
        """
        return self.conversation.session.is_inherited

    def is_in_transaction(self) -> bool:
        """Whether a transaction is open, in good order or failed."""
        return self.conversation.is_in_transaction

    @property
    def last_timing(self) -> _core.QueryTiming | None:
        """Where the time of the last query went, in seconds; None before the first one.

        Of queries that travel together, in a pipeline, it is the time of all of them. Listening,
        COPY and commands of the driver's own count as queries here.
        """
        return self.conversation.timing()

    async def close(self, *, timeout: float | None = None) -> None:
        """Close the connection, after telling the server.

        An operation under way is cancelled first, and fails: in asyncio with QueryCanceledError;
        without, where another thread or the caller of a signal handler waits for it, with
        InterfaceError. Where this takes longer than `timeout` seconds, the socket is closed without
        further words and TimeoutError is raised.
        """
        conversation, transport = self.conversation, self.conversation.transport
        if conversation.session.is_closed:
            transport.abort()
            return
        limit = checked_timeout(timeout)
        try:
            async with deadline(limit):
                if conversation.break_off():
                    return
                transport.abandon(limit)
                await transport.close()
        except BaseException as error:
            transport.abort()
            note_limit(error, "the connection was not closed in good order", limit)
            raise

    def terminate(self) -> None:
        """Close the socket at once; an operation under way fails."""
        self.conversation.transport.abort()

    async def __aenter__(self) -> Self:
        """The connection itself."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the connection."""
        await self.close()

    def __repr__(self) -> str:
        """Server, role and database, and the present state."""
        session, login = self.conversation.session, self.conversation.login
        if session.is_inherited:
            state = "of the parent process"
        elif session.is_closed:
            state = "closed"
        elif self.conversation.owner is not None:
            state = "busy"
        else:
            state = session.transaction_status
        where = f"{login.user}@{login.address}/{login.database}"
        return f"<{type(self).__name__} {where} pid={session.process_id} {state}>"

    def __del__(self) -> None:
        """Warn about a connection that was never closed, and close it."""
        conversation = getattr(self, "conversation", None)
        if conversation is not None and not conversation.session.is_closed:
            msg = f"unclosed connection {self!r}{conversation.transport.origin}"
            warnings.warn(msg, ResourceWarning, stacklevel=2, source=self)
            # From Python 3.15 on, weak references within a collected cycle still work at this time.
            conversation.callbacks.leave_pool()
            conversation.transport.abort()

    # Queries with arguments, under asyncpg's names: tools that trace queries replace these.

    def _execute(
        self,
        query: str,
        args: tuple[object, ...],
        limit: int,
        timeout: float | None,
        record_class: RecordClass = None,
        *,
        return_status: bool = False,
    ) -> Awaitable[Any]:
        """The rows, or the status, of a query with arguments."""
        conversation = self.conversation
        if return_status:
            return conversation.ask(STATUS, (conversation.session, query, args), timeout)
        kind = record_class or self.row_making.record_class
        return conversation.ask(ROWS, (conversation.session, query, args, limit, kind), timeout)

    async def _executemany(self, command: str, args: Arguments, timeout: float | None) -> None:
        """As `executemany`."""
        conversation = self.conversation
        async with conversation.series(timeout, command, args):
            await run_many(conversation, command, args, conversation.session.execute_many)
