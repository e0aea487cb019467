"""A connection: queries in rows and in columns, scripts, and its own life."""

from __future__ import annotations

import threading
import warnings
from typing import TYPE_CHECKING, Any, Self, overload

from colonnade import _core, tracing
from colonnade._arguments import check_count, column_error
from colonnade._async.codecs import CodecsMixin, ColumnCodec
from colonnade._async.column_stream import ColumnStream
from colonnade._async.copy import CopyMixin
from colonnade._async.copy_in_columns import CopyInColumnsMixin
from colonnade._async.copy_out_columns import CopyOutColumnsMixin
from colonnade._async.copy_records import CopyRecordsMixin
from colonnade._async.listeners import ListenersMixin
from colonnade._async.many import ManyMixin
from colonnade._async.observed_operation import ObservedOperation
from colonnade._async.operation import (
    STALE_PLAN,
    CallHold,
    Operation,
    StreamHold,
    checked_timeout,
    may_encode_again,
    may_run_again,
    name_limit,
    name_query,
)
from colonnade._async.pipeline import PipelineMixin
from colonnade._async.plain import PlainMixin
from colonnade._async.prepared_statement import PreparingMixin
from colonnade._async.reset import ResetMixin
from colonnade._async.result import ResultMixin
from colonnade._async.row_factories import RowFactoriesMixin
from colonnade._async.server import ServerMixin
from colonnade._async.shaped import ShapedMixin
from colonnade._async.transaction import Transaction, TransactionMixin
from colonnade._schema import asked_of, asked_types
from colonnade._shaped_query import ShapedQuery
from colonnade._transport.asyncio import deadline
from colonnade._transport.event import batch_of, impossible
from colonnade._transport.farewell import closed_error
from colonnade.columns import Columns
from colonnade.errors import EncodeError, InterfaceError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from colonnade._async.row_factories import MadeOf, RecordClass
    from colonnade._connection_options import ConnectionParameters
    from colonnade._schema import Schema
    from colonnade._transport.asyncio import AsyncioTransport
    from colonnade.rows import Row, RowFactory
    from colonnade.types import Infinity


class Connection(
    PlainMixin,
    CodecsMixin,
    CopyOutColumnsMixin,
    CopyMixin,
    CopyInColumnsMixin,
    CopyRecordsMixin,
    ListenersMixin,
    RowFactoriesMixin,
    ManyMixin,
    PipelineMixin,
    ResetMixin,
    ResultMixin,
    PreparingMixin,
    ServerMixin,
    ShapedMixin,
    TransactionMixin,
):
    """A connection to a PostgreSQL server.

    Made by `colonnade.connect`. Use it as an async context manager, or `close` it. One operation
    runs at a time; a second one raises InterfaceError. A call that is cancelled or times out
    leaves the connection usable or closed: the query is cancelled on the server, and the next call
    waits until that is done.

    `timeout`, where a method takes it, is in seconds and covers the whole call, including the
    preparing of the statement; None means the connection's `command_timeout`.
    """

    def __init__(
        self,
        session: _core.Session,
        transport: AsyncioTransport,
        *,
        address: str,
        user: str,
        database: str,
        command_timeout: float | None,
        params: ConnectionParameters,
        record_class: type[_core.Record | tuple[Any, ...]] | None = None,
        row_factory: RowFactory[Any] | None = None,
    ) -> None:
        super().__init__()
        self._session = session
        self._transport = transport
        self._address = address
        self._user = user
        self._database = database
        # By these names, tools that watch connections find where a query goes.
        self._addr = transport.address.place
        self._params = params
        # Now, for later another thread may be inside the session.
        self._cancel_request = session.cancel_request()
        self._command_timeout = command_timeout
        self._record_class = record_class
        self._row_factory = row_factory
        self._owner: CallHold | Operation | StreamHold | None = None
        self._call = CallHold()
        self._transaction: Transaction | None = None
        self._savepoint_count = 0
        self._column_codecs: dict[int, ColumnCodec] = {}
        self._generated_columns: dict[tuple[str, frozenset[str]], frozenset[str]] = {}

    # Rows

    @overload
    async def fetch(
        self, query: ShapedQuery, *args: object, timeout: float | None = None
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
        if type(query) is not str and isinstance(query, ShapedQuery):
            return await self._shaped_whole(query, args, timeout)  # type: ignore[no-any-return]
        if row_factory is not None or self._row_factory is not None:
            record_class, row_factory = self._row_making(record_class, row_factory)
        rows: list[Any] = await self._execute(query, args, 0, timeout, record_class)
        return rows if row_factory is None else await self._shaped(rows, row_factory)

    @overload
    async def fetchrow(
        self, query: ShapedQuery, *args: object, timeout: float | None = None
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
        if type(query) is not str and isinstance(query, ShapedQuery):
            return await self._shaped_row(query, args, timeout)
        if row_factory is not None or self._row_factory is not None:
            record_class, row_factory = self._row_making(record_class, row_factory)
        rows = await self._execute(query, args, 1, timeout, record_class)
        if row_factory is not None:
            rows = await self._shaped(rows, row_factory)
        return rows[0] if rows else None

    async def fetchval(
        self, query: str, *args: object, column: int | str = 0, timeout: float | None = None
    ) -> Any:
        """Run a query, and return one value of its first row, or None where there is no row.

        `column` is the index or the name of the value's column.
        """
        if type(query) is not str and isinstance(query, ShapedQuery):
            return await self._shaped_value(query, args, column, timeout)
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
        timeout: float | None = None,
    ) -> Columns:
        """Run a query, and return its result as `Columns`, in Arrow's memory layout.

        `schema` asks for other types than the usual ones, by column name: for example
        `{"price": "float64"}` or `{"price": "decimal128(38, 4)"}` for a numeric, `{"name": "U20"}`
        for text in cells of 20 characters, `{"seen": "datetime64[ms]"}`. Types are names, or types
        of NumPy, pyarrow or Polars; a structured dtype or a `pyarrow.Schema` is a whole schema. It
        is checked before the first row; what is impossible raises SchemaError.

        `infinity` says what becomes of values that Arrow's types have no place for, that is of
        infinite dates and timestamps and of NaN and infinite numerics: "raise" (DecodeError, which
        names column and row), "null", or "saturate" (the outermost date or timestamp).
        """
        async with self._operation(timeout, query, args):
            overrides = asked_types(schema)

            def begin(statement: _core.Statement) -> None:
                self._session.fetch_batches(statement, args, overrides, infinity, None)

            batch = await self._run(query, begin)
            await self._completion()
        return Columns(self._decoded(batch_of(batch)), asked_of(schema), self.last_timing)

    def iter_columns(
        self,
        query: str,
        *args: object,
        batch_rows: int = 65_536,
        schema: Schema | None = None,
        infinity: Infinity = "raise",
        timeout: float | None = None,
    ) -> ColumnStream:
        """Run a query, and iterate over its result in `Columns` of `batch_rows` rows each.

        Memory stays at a few batches, whatever the size of the result: a slow consumer holds the
        server back. The connection is taken until the last batch, or until the stream is closed;
        leaving a loop early closes it, which cancels the query. `timeout` limits the wait for each
        batch. A result without rows gives one empty batch, for its columns have names and types.

        `schema` and `infinity` are as in `fetch_columns`. The scale of a numeric without a declared
        one is that of the first batch; a later value with more digits raises DecodeError.
        """
        check_count("batch_rows", batch_rows)
        overrides = asked_types(schema)

        def begin(statement: _core.Statement) -> None:
            self._session.fetch_batches(statement, args, overrides, infinity, batch_rows)

        return ColumnStream(self, query, args, begin, self._limit(timeout), asked=asked_of(schema))

    # Commands

    async def execute(self, query: str, *args: object, timeout: float | None = None) -> str:
        """Run a command, and return its status, such as `INSERT 0 1`.

        Without arguments the text may hold several statements, separated by semicolons; the status
        is the last one's. Rows are thrown away.
        """
        if args:
            status: str = await self._execute(query, args, 0, timeout, return_status=True)
            return status
        completion = await self._at_once(self._session.script, (query,), timeout)
        if completion is None:
            async with self._operation(timeout, query, args):
                self._session.script(query)
                completion = await self._completion()
        return completion.tag or ""

    # State

    def is_closed(self) -> bool:
        """Whether the connection is closed, by either side."""
        return self._session.is_closed

    def is_inherited(self) -> bool:
        """Whether this process is a fork of the one that opened the connection.

        Such a connection is the parent's alone: every query raises InterfaceError, and neither
        closing nor dropping it does anything to it.
        """
        return self._session.is_inherited

    def is_in_transaction(self) -> bool:
        """Whether a transaction is open, in good order or failed."""
        return self._session.transaction_status != "idle"

    @property
    def last_timing(self) -> _core.QueryTiming | None:
        """Where the time of the last query went, in seconds; None before the first one.

        Of queries that travel together, in a pipeline, it is the time of all of them. Listening,
        COPY and commands of the driver's own count as queries here.
        """
        return self._session.timing(self._pool_wait)

    async def close(self, *, timeout: float | None = None) -> None:
        """Close the connection, after telling the server.

        An operation under way is cancelled first, and fails: in asyncio with QueryCanceledError;
        without, where another thread or the caller of a signal handler waits for it, with
        InterfaceError. Where this takes longer than `timeout` seconds, the socket is closed without
        further words and TimeoutError is raised.
        """
        if self._session.is_closed:
            self._transport.abort()
            return
        limit = checked_timeout(timeout)
        try:
            async with deadline(limit):
                if self._is_broken_off():
                    return
                self._transport.abandon(limit)
                await self._transport.close()
        except BaseException as error:
            self._transport.abort()
            name_limit(error, "the connection was not closed in good order", limit)
            raise

    def terminate(self) -> None:
        """Close the socket at once; an operation under way fails."""
        self._transport.abort()

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
        """Where it leads, and what it is doing."""
        if self._session.is_inherited:
            state = "of the parent process"
        elif self._session.is_closed:
            state = "closed"
        elif self._owner is not None:
            state = "busy"
        else:
            state = self._session.transaction_status
        where = f"{self._user}@{self._address}/{self._database}"
        return f"<{type(self).__name__} {where} pid={self._session.process_id} {state}>"

    def __del__(self) -> None:
        """Warn about a connection that nobody closed, and close it."""
        session = getattr(self, "_session", None)
        if session is not None and not session.is_closed:
            msg = f"unclosed connection {self!r}{self._transport.origin}"
            warnings.warn(msg, ResourceWarning, stacklevel=2, source=self)
            self._transport.abort()

    # Inside

    def _limit(self, timeout: float | None) -> float | None:
        return self._command_timeout if timeout is None else checked_timeout(timeout)

    def _operation(
        self, timeout: float | None, query: str | None = None, args: tuple[object, ...] = ()
    ) -> Operation:
        # More than the server can be told of are refused before it is asked about the text.
        _core.check_arguments(args)
        if query is not None and self._is_observed():
            return ObservedOperation(self, self._limit(timeout), query, args)
        return Operation(self, self._limit(timeout), query)

    def _is_observed(self) -> bool:
        return bool(self._query_loggers) or tracing.active is not None

    def _take(self, owner: CallHold | Operation | StreamHold) -> None:
        if self._session.is_closed:
            raise closed_error(self._session)
        if self._owner is not None:
            msg = "cannot perform operation: another operation is in progress"
            if isinstance(self._owner, StreamHold):
                raise InterfaceError(msg, hint=self._owner.hint)
            raise InterfaceError(msg)
        self._owner = owner

    def _give_back(self, owner: CallHold | Operation | StreamHold) -> None:
        if self._owner is owner:
            self._owner = None

    def _is_broken_off(self) -> bool:
        """Whether a call was under way that closing the connection cannot wait for."""
        owner = self._owner
        if owner is None:
            return False
        if isinstance(owner, StreamHold):
            return owner.is_at_work() and self._transport.break_off(0, self._cancel_request)
        return self._transport.break_off(owner.thread, self._cancel_request)

    def _end_stream(self) -> None:
        """End a stream that somebody still holds, but not one that somebody waits for."""
        if isinstance(self._owner, StreamHold) and not self._owner.is_waiting:
            self._transport.abandon()
            self._owner = None

    async def _put_away_left_over(self) -> None:
        """Take the connection back from a caller that Ctrl-C kept from giving it back.

        Only the blocking transport can tell: there, a thread that asks for the connection again has
        left its operation. In a loop, tasks take turns, and Ctrl-C ends the loop.
        """
        owner = self._owner
        if owner is None or isinstance(owner, StreamHold) or self._is_telling:
            return
        if self._transport.has_left(owner.thread):
            self._transport.abandon()
            if isinstance(owner, Operation):
                await owner.put_away()
            self._give_back(owner)

    async def _at_once(
        self, begin: Callable[..., bool], arguments: tuple[Any, ...], timeout: float | None
    ) -> _core.Completion | None:
        """The short way of a call that is one exchange; None where it needs an `Operation`.

        It does where somebody else is to be asked, waited for or told, and where the text is not
        kept, or no longer as the server has it.
        """
        transport = self._transport
        if self._owner is not None or not transport.is_settled:
            return None
        if self._query_loggers or tracing.active is not None:
            return None
        limit = self._limit(timeout)
        if self._session.is_closed or (limit is not None and limit <= 0):
            return None
        call = self._owner = self._call
        call.thread = threading.get_ident()
        # The owner is taken back by hand: where Ctrl-C strikes before, `_put_away_left_over` does.
        completion = None
        try:
            if begin(*arguments):
                completion = self._complete(await transport.answer(limit))
        except EncodeError as error:
            if not may_encode_again(error):
                self._owner = None
                raise
        except STALE_PLAN as error:
            is_over = self.is_in_transaction() or self._session.is_closed
            if is_over or not may_run_again(error, arguments[0]):
                name_query(error, arguments[0])
                self._owner = None
                raise
        except BaseException as error:
            name_query(error, arguments[0])
            name_limit(error, "the query did not end", limit, self._command_timeout)
            transport.abandon()
            self._owner = None
            raise
        self._owner = None
        return completion

    async def _execute(
        self,
        query: str,
        args: tuple[object, ...],
        limit: int,
        timeout: float | None,
        record_class: type[_core.Record | tuple[Any, ...]] | None = None,
        *,
        return_status: bool = False,
    ) -> Any:
        """The rows, or the status, of a query with arguments.

        Every query with them comes here, under asyncpg's name for it: tools that trace queries
        replace it on the class.
        """
        if return_status:
            return await self._status(query, args, timeout)
        record_class = record_class or self._record_class
        begin = self._session.fetch_kept
        completion = await self._at_once(begin, (query, args, limit, record_class), timeout)
        if completion is not None:
            return completion.rows or []
        async with self._operation(timeout, query, args):
            return await self._rows(query, args, limit, record_class)

    async def _status(self, query: str, args: tuple[object, ...], timeout: float | None) -> str:
        completion = await self._at_once(self._session.execute_kept, (query, args), timeout)
        if completion is None:

            def begin(statement: _core.Statement) -> None:
                self._session.execute(statement, args)

            async with self._operation(timeout, query, args):
                completion = self._complete(await self._run(query, begin))
        return completion.tag or ""

    async def _rows(
        self,
        query: str,
        args: tuple[object, ...],
        limit: int,
        record_class: type[_core.Record | tuple[Any, ...]] | None = None,
    ) -> list[Any]:
        def begin(statement: _core.Statement) -> None:
            self._session.fetch_rows(statement, args, limit, record_class)

        completion = self._complete(await self._run(query, begin))
        return completion.rows or []

    async def _run(
        self,
        query: str,
        begin: Callable[[_core.Statement], None],
        declared: tuple[int, ...] = (),
    ) -> object:
        """Prepare a text unless it is known, begin to run it, and return the first event.

        `declared` are the OIDs of its parameters' types, where they are not the server's to infer.

        A statement is prepared anew, once, where no transaction is lost by it, if the server no
        longer takes it (its result changed shape, or it was deallocated), or if an argument does
        not fit a type that may have been altered since.
        """
        is_kept = self._session.cached_statement(query, declared) is not None
        statement = await self._prepared(query, declared)
        try:
            begin(statement)
            return await self._transport.next_event()
        except EncodeError as error:
            if not may_encode_again(error):
                raise
            if not self._session.forget_parameters(statement) or self.is_in_transaction():
                raise
        except STALE_PLAN as error:
            is_over = self.is_in_transaction() or self.is_closed()
            if not is_kept or is_over or not may_run_again(error, query):
                raise
        begin(await self._prepared(query, declared))
        return await self._transport.next_event()

    async def _completion(self) -> _core.Completion:
        return self._complete(await self._transport.next_event())

    def _complete(self, event: object) -> _core.Completion:
        if isinstance(event, _core.Completion):
            return event
        raise impossible("the end of the exchange", event)
