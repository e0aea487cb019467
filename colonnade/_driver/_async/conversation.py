"""One connection's talk with its server: its owner, the way of a query, and its end."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from colonnade import _core, tracing
from colonnade._driver._async.callbacks import Callbacks
from colonnade._driver._async.failures import (
    may_encode_again,
    may_run_again,
    note_limit,
    note_outdated,
    note_query,
)
from colonnade._driver._async.observation import Observation, Observers
from colonnade._driver._async.owners import CallOwner, StreamOwner
from colonnade._driver.transport.asyncio import deadline
from colonnade._driver.transport.closed_error import closed_error
from colonnade._driver.transport.event import batch_of, completion_of, statement_of
from colonnade._words.arguments import checked_timeout
from colonnade.columns import Columns
from colonnade.errors import EncodeError, InterfaceError, PostgresError
from colonnade.errors._place import ComposedSql

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import TracebackType

    from colonnade._driver._async.login import Login
    from colonnade._driver._async.own_statement import OwnStatement
    from colonnade._driver.transport.asyncio import Transport
    from colonnade._driver.transport.exchanges import QueryExchange

    class OpenTransaction(Protocol):
        """The facts about an open transaction that others need."""

        isolation: str | None
        is_managed: bool


T = TypeVar("T")


def check_sets(sets: object) -> None:
    """Refuse sets of arguments if the first one has more than the protocol can count.

    Only lists and tuples are checked here: sets of other kinds are read when they are sent.
    """
    if isinstance(sets, list | tuple) and sets and isinstance(sets[0], list | tuple):
        _core.check_arguments(sets[0])


class Conversation:
    """Session, transport and clock of one connection, and its present owner.

    Every object that talks to the server holds a conversation: the connection's verbs, statements,
    cursors, streams, pipelines, transactions, COPY and the pool. It alone knows the short way and
    the long way of a query, the one retry of a stale statement, limits in time, and the end of an
    exchange that its caller leaves.
    """

    def __init__(
        self,
        session: _core.Session,
        transport: Transport,
        login: Login,
        command_timeout: float | None,
    ) -> None:
        self.session = session
        self.transport = transport
        self.login = login
        self.command_timeout = command_timeout
        # Taken now: later, another thread may hold the session.
        self.cancel_request = session.cancel_request()
        self.callbacks = Callbacks(session, transport)
        self._loggers = self.callbacks.query_loggers
        self.observers = Observers(login, self.callbacks, self.timing)
        self.owner: CallOwner | Operation | StreamOwner | None = None
        self._call = CallOwner()
        self.transaction: OpenTransaction | None = None
        """The outermost one that was begun by `Connection.transaction`."""
        self.savepoint_count = 0
        self.reset_query: str | None = None
        """The statements that reset a session of this server, once they are known."""
        self.generation = 0
        """How often a pool got the connection back. A prepared statement or cursor of an earlier
        borrower is of no use to the present one."""
        self.pool_wait = 0.0
        """The seconds that the last `acquire` of a pool waited for this connection."""
        self.column_decoders: dict[int, Callable[[Columns], Any]] = {}
        """The decoders of whole columns, by the number of their codec."""
        self.are_values_plain = False
        """Whether the driver copies values of its own, which no codec sees."""
        self.generated_columns: dict[tuple[object, ...], frozenset[str]] = {}
        """The generated columns, which COPY cannot fill, by table and columns of earlier copies."""

    # State

    def timing(self) -> _core.QueryTiming | None:
        """Where the time of the last query went."""
        return self.session.timing(self.pool_wait)

    @property
    def is_in_transaction(self) -> bool:
        """Whether a transaction is open, in good order or failed."""
        return self.session.transaction_status != "idle" and not self.transport.rolls_back

    def limit(self, timeout: float | None) -> float | None:
        """The seconds that a call may take; None means the connection's own limit."""
        return self.command_timeout if timeout is None else checked_timeout(timeout)

    # Whose it is

    def operation(
        self, timeout: float | None, query: str | None = None, args: tuple[object, ...] = ()
    ) -> Operation:
        """A block that has the connection; with a `query`, its loggers are told of it."""
        # Too many arguments are refused before the server is asked about the text.
        _core.check_arguments(args)
        return self._operation(timeout, query, args)

    def series(self, timeout: float | None, query: str, sets: object) -> Operation:
        """The same for a query that runs once for each of many sets of arguments."""
        check_sets(sets)
        return self._operation(timeout, query, sets)

    def _operation(self, timeout: float | None, query: str | None, args: Any) -> Operation:
        limit = self.limit(timeout)
        if query is not None and self.observers.are_there():
            return ObservedOperation(self, limit, query, self.observers.begin(query, args, limit))
        return Operation(self, limit, query)

    def take(self, owner: CallOwner | Operation | StreamOwner) -> None:
        """Become the owner; InterfaceError where the connection has one."""
        if self.session.is_closed:
            raise closed_error(self.session)
        if self.owner is not None:
            msg = "cannot perform operation: another operation is in progress"
            if isinstance(self.owner, StreamOwner):
                raise InterfaceError(msg, hint=self.owner.hint)
            raise InterfaceError(msg)
        self.owner = owner

    def give_back(self, owner: CallOwner | Operation | StreamOwner) -> None:
        """Have it no more."""
        if self.owner is owner:
            self.owner = None
            self.session.end_call()

    def break_off(self) -> bool:
        """End a call under way that closing cannot wait for; whether there was one."""
        owner = self.owner
        if owner is None:
            return False
        if isinstance(owner, StreamOwner):
            return owner.is_at_work() and self.transport.break_off(0, self.cancel_request)
        return self.transport.break_off(owner.thread, self.cancel_request)

    def end_stream(self) -> None:
        """End an open stream, unless a caller is waiting for its next batch."""
        if isinstance(self.owner, StreamOwner) and not self.owner.is_waiting:
            self.transport.abandon()
            self.owner = None

    async def put_away_left_over(self) -> None:
        """Take the connection back from a caller that Ctrl-C kept from giving it back.

        Only the blocking transport can tell: there, a thread that asks for the connection again has
        left its operation. In a loop, tasks take turns, and Ctrl-C ends the loop.
        """
        owner = self.owner
        if owner is None or isinstance(owner, StreamOwner) or self.callbacks.is_telling:
            return
        if self.transport.has_left(owner.thread):
            self.transport.abandon()
            if isinstance(owner, Operation):
                await owner.put_away()
            self.give_back(owner)

    # A query

    async def ask(
        self,
        exchange: QueryExchange[T],
        arguments: tuple[Any, ...],
        timeout: float | None,
        *,
        declared: tuple[int, ...] = (),
        own: OwnStatement | None = None,
    ) -> T:
        """Run one query whose answer is one event, and return the caller's part of that.

        `arguments` are the session, the text, its values, and further arguments of the exchange.
        The short way is one exchange, if a statement is cached for the text. The long way is an
        `Operation`: where the connection is busy or recovering, and where the text is not prepared,
        or no longer as the server has it. `own` is the statement to run; None means the one that is
        kept for the text, with the types of parameters that are `declared`.
        """
        begin_now, begin, taken = exchange
        query: str = arguments[1]
        limit = self.command_timeout if timeout is None else checked_timeout(timeout)
        observation = None
        if self._loggers or tracing.active is not None:
            _, _, *values = arguments
            observation = self.observers.begin(query, values[0] if values else (), limit)
        thread = threading.get_ident()
        if (limit is None or limit > 0) and self.owner is None:
            # No call is made since the test, so neither another thread nor Ctrl-C comes between.
            # `put_away_left_over` asks for the thread.
            self._call.thread = thread
            self.owner = self._call
            try:
                given = arguments
                if own is not None and begin is not None:
                    begin_now, given = begin, (arguments[0], own.statement, *arguments[2:])
                elif declared:
                    given = (*arguments, declared)
                answer = self.transport.ask(begin_now, given, limit)
                completion: Any = None if answer is None else await answer
            except BaseException as error:
                # A script is never run again: its first statements may have committed.
                if begin is None or not self._is_mended_by_the_long_way(error, query):
                    self._end_failed(error, query, limit)
                    self.owner = None
                    if observation is not None:
                        observation.ended(error)
                    raise
                completion = None
            self.owner = None
            if completion is not None:
                self.session.end_call()
                if observation is not None:
                    observation.ended(None)
                return taken(completion)
        operation = Operation(self, limit, query)
        if observation is not None:
            operation = ObservedOperation(self, limit, query, observation)
        return taken(await self._ask_within(operation, begin, arguments, declared, own))

    def _is_mended_by_the_long_way(self, error: BaseException, query: str) -> bool:
        """Whether a query that has failed may be prepared anew."""
        if isinstance(error, EncodeError):
            return may_encode_again(error)
        return (
            isinstance(error, PostgresError)
            and may_run_again(error, query)
            and self._is_free(can_repeat=True)
        )

    def _end_failed(self, error: BaseException, query: str, limit: float | None) -> None:
        """Leave the exchange of a query that has failed."""
        self.session.end_call()
        if self.is_in_transaction:
            note_outdated(error)
        note_query(error, query)
        note_limit(error, "the query did not end", limit, self.command_timeout)
        self.transport.abandon()

    async def _ask_within(
        self,
        operation: Operation,
        begin: Callable[..., bool] | None,
        arguments: tuple[Any, ...],
        declared: tuple[int, ...],
        own: OwnStatement | None,
    ) -> _core.Completion:
        session, query, *values = arguments

        def begun(statement: _core.Statement) -> None:
            if begin is not None:
                begin(session, statement, *values)

        async with operation:
            if begin is None:
                session.script(query)
                return await self.completion()
            # Too many arguments are refused before the server is asked about the text.
            _core.check_arguments(values[0])
            return completion_of(await self.run(query, begun, declared, own=own))

    # Within an operation

    async def run(
        self,
        query: str,
        begin: Callable[[_core.Statement], object],
        declared: tuple[int, ...] = (),
        *,
        own: OwnStatement | None = None,
    ) -> object:
        """Prepare a text unless it is known, begin to run it, and return the first event.

        `declared` are the OIDs of its parameters' types, where they are not the server's to infer.
        `own` is as in `ask`.
        """

        async def start(statement: _core.Statement) -> object:
            begin(statement)
            return await self.transport.next_event()

        return await self.started(query, start, declared, own=own)

    async def started(
        self,
        query: str,
        start: Callable[[_core.Statement], Awaitable[Any]],
        declared: tuple[int, ...] = (),
        *,
        own: OwnStatement | None = None,
        can_repeat: bool = True,
    ) -> Any:
        """Prepare a text unless it is known, and start it, which sends it and waits.

        A statement is prepared anew, once, where no transaction is lost by it, if the server
        refuses it because it was described before a change, or if an argument does not fit a type
        that may have been altered since; `can_repeat` says that the arguments can be had a second
        time. `own` is as in `ask`.
        """
        if own is None:
            is_kept = self.session.cached_statement(query, declared) is not None
        else:
            is_kept = not self.session.is_outdated(own.statement)
        statement = await (self.prepared(query, declared) if own is None else own.current(self))
        try:
            return await start(statement)
        except EncodeError as error:
            has_known_types = self.session.forget_statement(statement)
            if not may_encode_again(error) or not (is_kept or has_known_types):
                raise
            error.is_outdated = True
            if not self._is_free(can_repeat=can_repeat):
                note_outdated(error)
                raise
        except PostgresError as error:
            if not is_kept or not may_run_again(error, query):
                raise
            if not self._is_free(can_repeat=can_repeat):
                note_outdated(error)
                raise
        statement = await (self.prepared(query, declared) if own is None else own.current(self))
        return await start(statement)

    def _is_free(self, *, can_repeat: bool) -> bool:
        return can_repeat and not self.is_in_transaction and not self.session.is_closed

    async def prepared(self, query: str, declared: tuple[int, ...] = ()) -> _core.Statement:
        """The statement that is kept for a text; it is prepared if there is none."""
        statement = self.session.cached_statement(query, declared)
        if statement is None:
            self.session.prepare(query, declared)
            statement = statement_of(await self.completion())
        return statement

    async def describe(self, sql: str) -> _core.Statement:
        """The present parameters and columns of a text; the statement is not kept."""
        self.session.describe(sql, self.are_values_plain)
        return statement_of(await self.completion())

    async def script(self, sql: str) -> str:
        """Run statements, and return the status of the last one."""
        self.session.script(sql)
        return (await self.completion()).tag or ""

    async def plain_rows(self, query: str, args: tuple[object, ...]) -> list[tuple[Any, ...]]:
        """The rows of a query, past the codecs and the classes that the connection's owner set.

        All queries of the driver's own go this way, or by `plain_columns`.
        """

        async def fetch(statement: _core.Statement) -> list[Any]:
            self.session.fetch_rows(statement, args, 0, tuple)
            return (await self.completion()).rows or []

        rows: list[Any] = await self._plain(query, 0, fetch)
        return rows

    async def plain_columns(self, query: str, args: tuple[object, ...], owners: int) -> _core.Batch:
        """The result of a query in columns; the first `owners` use the codecs of the owner."""

        async def fetch(statement: _core.Statement) -> _core.Batch:
            self.session.fetch_columns(statement, args, None, "raise")
            return batch_of(await self.transport.next_event())

        batch: _core.Batch = await self._plain(query, owners, fetch)
        return batch

    async def _plain(
        self, query: str, owners: int, fetch: Callable[[_core.Statement], Awaitable[Any]]
    ) -> Any:
        is_kept = self.session.cached_plain(query, owners) is not None
        try:
            return await fetch(await self._prepared_plain(query, owners))
        except PostgresError as error:
            if not is_kept or not may_run_again(error, query) or not self._is_free(can_repeat=True):
                raise
        return await fetch(await self._prepared_plain(query, owners))

    async def _prepared_plain(self, query: str, owners: int) -> _core.Statement:
        statement = self.session.cached_plain(query, owners)
        if statement is None:
            self.session.prepare_plain(query, owners)
            statement = statement_of(await self.completion())
        return statement

    async def completion(self) -> _core.Completion:
        """The end of the exchange, which must come next."""
        return completion_of(await self.transport.next_event())

    def decoded(self, batch: _core.Batch) -> _core.Batch:
        """The batch, with the columns whose codecs take them whole."""
        if not self.column_decoders:
            return batch
        for index in range(batch.num_columns):
            number = batch.codec(index)
            decode = None if number is None else self.column_decoders.get(number)
            if decode is not None:
                batch = batch.with_column(index, decode(Columns(batch.stored_column(index))))
        return batch


class Operation:
    """A block during which a connection belongs to one caller.

    Leaving it by an exception (an error, a timeout, a cancelled task, Ctrl-C) gives up the exchange
    that is still under way: the query is cancelled on the server, and the connection is usable
    again or closed before anybody else gets to use it.
    """

    def __init__(
        self, conversation: Conversation, timeout: float | None, query: str | None = None
    ) -> None:
        self._conversation = conversation
        self._query = query
        self._timeout = timeout
        self._deadline = None if timeout is None else deadline(timeout)
        self._is_entered = False
        self.thread = threading.get_ident()

    async def __aenter__(self) -> None:
        """Take the connection, and start the clock."""
        conversation = self._conversation
        try:
            await conversation.put_away_left_over()
            conversation.take(self)
            if self._deadline is not None:
                self._is_entered = True
                await self._deadline.__aenter__()
            await conversation.transport.settled()
        except BaseException as error:
            await self._leave(type(error), error, error.__traceback__)
            raise
        if conversation.session.is_closed:
            await self._leave(None, None, None)
            raise closed_error(conversation.session)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Give the connection back."""
        if error is not None:
            note_query(error, self._query)
            self._conversation.transport.abandon()
        await self._leave(kind, error, traceback)

    async def _leave(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if self._deadline is not None and self._is_entered:
                await self._deadline.__aexit__(kind, error, traceback)
                if self._deadline.expired():
                    # The blocking deadline ends the wait itself.
                    self._note_limit(error)
        except TimeoutError as late:
            self._note_limit(late)
            raise
        finally:
            self._conversation.give_back(self)

    def _note_limit(self, error: BaseException | None) -> None:
        if self._query is None:
            what = "the call"
        else:
            what = "the COPY" if isinstance(self._query, ComposedSql) else "the query"
        usual = self._conversation.command_timeout
        note_limit(error, f"{what} did not end", self._timeout, usual)

    async def put_away(self) -> None:
        """Give the connection back for an operation that Ctrl-C interrupted before it could."""
        await self._leave(None, None, None)


class ObservedOperation(Operation):
    """An operation that tells the query loggers and the tracer how it went."""

    def __init__(
        self,
        conversation: Conversation,
        timeout: float | None,
        query: str,
        observation: Observation,
    ) -> None:
        super().__init__(conversation, timeout, query)
        self._observation = observation

    async def __aenter__(self) -> None:
        """Take the connection."""
        try:
            await super().__aenter__()
        except BaseException as error:
            self._observation.refused(error)
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Give the connection back, and tell how it went."""
        failure = error
        try:
            await super().__aexit__(kind, error, traceback)
        except BaseException as raised:
            # A deadline turns the exception into a TimeoutError.
            failure = raised
            raise
        finally:
            self._observation.ended(failure)
