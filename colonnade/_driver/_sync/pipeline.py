# Generated from colonnade/_driver/_async/pipeline.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""Many queries in one round trip."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Self

from colonnade import _core
from colonnade._driver._sync.failures import may_run_again, note_limit, note_query
from colonnade._driver._sync.observation import Observation
from colonnade._driver._sync.owners import StreamOwner
from colonnade._driver._sync.pipeline_queries import PipelineQueries
from colonnade._driver._sync.pipeline_result import PipelineResult
from colonnade._driver._sync.resource import ConnectionResource
from colonnade._driver._sync.row_making import RowMaking
from colonnade._driver._sync.series import CHUNK_BYTES, check_many
from colonnade._driver.dtype_query import ResultBuilder
from colonnade._driver.sql.sql_text import is_read
from colonnade._driver.transport.event import impossible
from colonnade._driver.transport.threads import deadline, mutex, whole_block
from colonnade.errors import DecodeError, InterfaceError, PostgresError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType

    from colonnade._driver._sync.connection_base import ConnectionBase
    from colonnade._driver._sync.conversation import Conversation

    # A coroutine function.
    Finish = Callable[[list[object], _core.Completion], Any]

# With this many queries under way, it waits for the answers to half of them.
SENT_MAX = 512

_OVERTAKEN = (
    "The statement was out of date. It was not run again, because later queries of the pipeline "
    "have already run: run it once more, and it is prepared again."
)
_LEFT = "the pipeline was left before the query's answer came"


class _Query:
    """A query of a pipeline: how to begin it, and how to handle its answer."""

    def __init__(
        self,
        result: PipelineResult[Any],
        text: str,
        args: Any,
        begin: Callable[[_core.Statement], object] | None,
        finish: Finish,
    ) -> None:
        self.result = result
        self.text = text
        self.args = args
        # None if the text is sent as a script, which needs no preparation.
        self.begin = begin
        self.finish = finish
        # For `executemany`: the sets of arguments still to be sent.
        self.sets: Iterator[Any] | None = None
        # The reason why it was abandoned, if the server has undone it.
        self.failure: Exception | None = None
        self.is_repeated = False
        # The builder that takes the rows, if they do not become records.
        self.builders: Sequence[ResultBuilder] = ()
        self.observation: Observation | None = None

    def only_reads(self) -> bool:
        return self.begin is not None and is_read(self.text)

    def can_repeat(self) -> bool:
        """Whether it may run again, on a newly prepared statement."""
        if self.begin is None or self.is_repeated:
            return False
        return self.sets is None or not hasattr(self.args, "__next__")


class _PipelineOwner(StreamOwner):
    """Stands for a pipeline that holds the connection, until its block ends."""

    hint = "A pipeline is open: use it, or leave its block."

    def __init__(self, is_at_work: Callable[[], bool]) -> None:
        super().__init__()
        self.is_waiting = True
        self._is_at_work = is_at_work

    def is_at_work(self) -> bool:
        """Whether a call sends or waits at this moment."""
        return self._is_at_work()


@whole_block
class Pipeline(PipelineQueries, ConnectionResource):
    """Queries that are sent together; made by `Connection.pipeline`.

    Its methods return a `PipelineResult` immediately, and nothing is sent until the caller waits
    for a result, or for the end of the block.
    """

    def __init__(
        self, conversation: Conversation, row_making: RowMaking, timeout: float | None
    ) -> None:
        super().__init__(conversation)
        self._row_making = row_making
        self._session = conversation.session
        self._transport = conversation.transport
        self._timeout = timeout
        self._turn = mutex()
        self._owner = _PipelineOwner(self._turn.locked)
        self._is_open = False
        self._results: list[PipelineResult[Any]] = []
        self._waiting: deque[_Query] = deque()
        # The owner of the session's events: a query, or the preparation of a text.
        self._sent: deque[_Query | str] = deque()
        # Events of the oldest one that came before its end.
        self._events: list[object] = []
        # Queries that the server has refused because their statements are out of date.
        self._stale: list[tuple[_Query, Exception]] = []
        self._is_order_lost = False
        # For the texts that this pipeline has prepared; the error if there is no statement.
        self._prepared: dict[str, _core.Statement | Exception | None] = {}

    # The block

    def __enter__(self) -> Self:
        """Take the connection: until the block ends, only the pipeline uses it."""
        self._check_connection("__enter__")
        self._conversation.put_away_left_over()
        self._conversation.take(self._owner)
        self._is_open = True
        try:
            self._transport.settled()
        except BaseException as error:
            self._abandon(error)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Wait for all queries, and give the connection back.

        Raises the first error whose result was never read. If an exception leaves the block,
        queries under way are abandoned.
        """
        try:
            if error is None:
                self._finish(None)
        finally:
            self._leave()
        if error is None:
            for result in self._results:
                if result.is_unasked_failure():
                    result.result()

    def __repr__(self) -> str:
        """The queries under way."""
        state = "open" if self._is_open else "closed"
        waiting, sent = len(self._waiting), len(self._sent)
        return f"<{type(self).__name__} {state}, {waiting} to be sent, {sent} under way>"

    # Inside

    def _queue(
        self,
        query: str,
        args: Any,
        begin: Callable[[_core.Statement], object] | None,
        finish: Finish,
        *,
        sets: Iterator[Any] | None = None,
        builders: Sequence[ResultBuilder] = (),
    ) -> PipelineResult[Any]:
        if not self._is_open:
            msg = "a pipeline takes queries within its block"
            raise InterfaceError(msg)
        result: PipelineResult[Any] = PipelineResult(self._finish)
        self._results.append(result)
        asked = _Query(result, query, args, begin, finish)
        asked.sets, asked.builders = sets, builders
        self._waiting.append(asked)
        return result

    def _abandon(self, error: BaseException) -> None:
        """Leave after an interruption, even one while entering or leaving."""
        del error
        if self._conversation.owner is self._owner:
            self._is_open = True
            self._leave()

    def _leave(self) -> None:
        """Give the connection back, and abandon the queries under way."""
        if not self._is_open:
            return
        self._is_open = False
        if self._waiting or self._sent or not self._session.is_idle:
            self._transport.abandon()
        for query, error in self._stale:
            self._end(query, error=error)
        self._stale.clear()
        for left in (*self._sent, *self._waiting):
            if isinstance(left, _Query):
                self._end(left, error=InterfaceError(_LEFT))
        for result in self._results:
            # Belongs to a query that another task is sending.
            if not result.is_done():
                result.settle(error=InterfaceError(_LEFT))
        self._waiting.clear()
        self._sent.clear()
        self._conversation.give_back(self._owner)

    def _finish(self, wanted: PipelineResult[Any] | None) -> None:
        """Send all waiting queries, and read answers until the wanted one is there; None: all."""
        try:
            with deadline(self._timeout), self._turn:
                self._go_on(wanted)
        except TimeoutError as error:
            note_limit(error, "the answers to a pipeline did not come", self._timeout)
            raise

    def _go_on(self, wanted: PipelineResult[Any] | None) -> None:
        while (self._waiting or self._sent or self._stale) and not (wanted and wanted.is_done()):
            if self._stale and not self._sent:
                self._settle_stale()
            elif self._waiting and not self._stale:
                self._send_part()
            else:
                self._take_in()

    def _send_part(self) -> None:
        """Send the queries whose statements do not depend on a pending script."""
        part = self._next_part()
        for query in part:
            if query.begin is not None and query.text not in self._prepared:
                self._ask_for(query.text)
        while any(isinstance(sent, str) for sent in self._sent):
            self._take_in()
        for query in part:
            if len(self._sent) >= SENT_MAX:
                self._take_in_down_to(SENT_MAX // 2)
            self._waiting.popleft()
            self._begin(query)
        # The queries before may have created the missing object.
        for text in [text for text, made in self._prepared.items() if isinstance(made, Exception)]:
            del self._prepared[text]

    def _next_part(self) -> list[_Query]:
        """The queries up to the first one that must be prepared after a script has run.

        A script may create the tables that later queries use.
        """
        part: list[_Query] = []
        has_script = False
        for query in self._waiting:
            if query.begin is None:
                has_script = True
            elif has_script and not self._is_known(query.text):
                break
            if len(part) >= SENT_MAX:
                break
            part.append(query)
        return part

    def _is_known(self, text: str) -> bool:
        return text in self._prepared or self._session.cached_statement(text) is not None

    def _ask_for(self, text: str) -> None:
        statement = self._session.cached_statement(text)
        self._prepared[text] = statement
        if statement is not None:
            return
        try:
            self._session.prepare(text)
        except Exception as error:  # noqa: BLE001 - the query's result raises it
            self._prepared[text] = error
        else:
            self._sent.append(text)

    def _begin(self, query: _Query) -> None:
        observers = self._conversation.observers
        if query.observation is None and observers.are_there():
            query.observation = Observation(observers, query.text, query.args, self._timeout)
        try:
            if query.begin is None:
                self._session.script(query.text)
            elif query.sets is not None:
                self._begin_many(query, self._statement(query.text))
            else:
                query.begin(self._statement(query.text))
        except BaseException as error:
            if isinstance(error, Exception) and not isinstance(error, TimeoutError):
                self._end(query, error=error)
                return
            # After a deadline or a cancelled task while sets of arguments were sent: nothing can
            # follow an incomplete series.
            self._end(query, error=InterfaceError(_LEFT))
            self._leave()
            raise
        self._sent.append(query)

    def _begin_many(self, query: _Query, statement: _core.Statement) -> None:
        """Send all sets of arguments, or have the server undo those already sent."""
        check_many(statement)
        query.sets = iter(query.args)
        arguments = self._session.execute_many(statement)
        try:
            while self._session.send_many(arguments, query.sets, CHUNK_BYTES):
                # Answers must be read meanwhile, or the server would stop reading.
                self._take_in_down_to(0)
                self._transport.flush()
                self._transport.give_turn()
        except TimeoutError:
            raise
        except Exception as error:  # noqa: BLE001 - the result raises it
            query.failure = error
            # The transaction status is known once all earlier queries are answered.
            self._take_in_down_to(0)
            self._session.give_up_many()
        else:
            self._session.end_many()

    def _statement(self, text: str) -> _core.Statement:
        statement = self._prepared[text]
        if isinstance(statement, Exception):
            raise statement
        if statement is None:
            raise impossible("a prepared statement", None)
        return statement

    def _take_in_down_to(self, count: int) -> None:
        while len(self._sent) > count:
            self._take_in()

    def _take_in(self) -> None:
        """Wait for the end of the oldest exchange under way."""
        try:
            while not isinstance(event := self._transport.next_event(), _core.Completion):
                self._events.append(event)
        except TimeoutError:
            # After a deadline: the exchange continues.
            raise
        except Exception as error:  # noqa: BLE001 - the result raises it
            self._take_out(error=error)
        else:
            self._take_out(event)

    def _take_out(
        self, completion: _core.Completion | None = None, error: Exception | None = None
    ) -> None:
        ended = self._sent.popleft()
        events, self._events = self._events, []
        if isinstance(ended, str):
            self._prepared[ended] = error or (completion and completion.statement)
            return
        if isinstance(error, PostgresError) and may_run_again(error, ended.text):
            self._prepared.pop(ended.text, None)
            is_over = self._session.is_closed or self._conversation.is_in_transaction
            if ended.can_repeat() and not is_over:
                self._stale.append((ended, error))
                return
        if self._stale and not all(query.only_reads() for query in self._stale_and(ended)):
            self._is_order_lost = True
        if error is not None or completion is None:
            self._end(ended, error=error)
            return
        try:
            value = ended.finish(events, completion)
        except Exception as failure:  # noqa: BLE001 - the result raises it
            self._end(ended, error=failure)
        except BaseException:
            # The rows are lost; only this query gets the error.
            self._end(ended, error=InterfaceError(_LEFT))
            raise
        else:
            self._end(ended, value)

    def _stale_and(self, last: _Query) -> Iterator[_Query]:
        yield last
        for query, _ in self._stale:
            yield query

    def _settle_stale(self) -> None:
        """Run queries with outdated statements again, or say why not.

        They then run after queries that were sent later. That makes no difference if all of these
        were refused for the same reason, or if all of them, including the repeated ones, only read.
        """
        stale, self._stale = self._stale, []
        is_order_lost, self._is_order_lost = self._is_order_lost, False
        if is_order_lost or self._session.is_closed or self._conversation.is_in_transaction:
            for query, error in stale:
                if isinstance(error, PostgresError):
                    error.hint = error.hint or _OVERTAKEN
                self._end(query, error=error)
            return
        for query, _ in reversed(stale):
            query.is_repeated = True
            self._waiting.appendleft(query)

    def _end(self, query: _Query, value: Any = None, error: Exception | None = None) -> None:
        error = query.failure or error
        if error is not None:
            if query.builders and isinstance(error, DecodeError):
                refusal = query.builders[0].refusal(error)
                if refusal is not error:
                    refusal.__cause__ = error
                    error = refusal
            note_query(error, query.text)
        query.result.settle(value, error)
        if query.observation is not None:
            query.observation.ended(error)
            query.observation = None


def pipeline(self: ConnectionBase, *, timeout: float | None = None) -> Pipeline:
    """Send several queries together: their answers cost one round trip.

    For use as a context manager. Statements that are not kept yet are prepared together,
    which costs another round trip. `timeout` limits each wait for answers.

    Each query is independent, as if it ran by itself: outside a transaction, a failing query does
    not undo the others, and later ones still run.
    """
    limit = self.conversation.limit(timeout)
    return Pipeline(self.conversation, self.row_making, limit)
