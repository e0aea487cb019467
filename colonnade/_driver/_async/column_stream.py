"""A result in columns, batch by batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from colonnade import _core
from colonnade._driver._async.failures import note_limit, note_query
from colonnade._driver._async.observation import Observation
from colonnade._driver._async.owners import StreamOwner
from colonnade._driver._async.resource import ConnectionResource
from colonnade._driver.transport.asyncio import deadline, whole_block
from colonnade.columns import Columns
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from colonnade._columns.schema import Asked
    from colonnade._driver._async.conversation import Conversation
    from colonnade._driver._async.own_statement import OwnStatement


@whole_block
class ColumnStream(ConnectionResource):
    """The batches of `Connection.iter_columns`, in order, each as `Columns`.

    The query starts when the first batch is requested. Closing the stream before its end cancels
    the query; so does dropping it, for example by leaving an `async for` early. A traceback may
    keep a stream alive after an exception; used as a context manager, the stream is always closed.
    """

    # For a stream that Ctrl-C left half made, and that is dropped like any other.
    _observation: Observation | None = None
    _is_finished = True

    def __init__(
        self,
        conversation: Conversation,
        query: str,
        args: tuple[object, ...],
        begin: Callable[[_core.Statement], None],
        timeout: float | None,
        *,
        asked: Asked | None = None,
        own: OwnStatement | None = None,
        declared: tuple[int, ...] = (),
    ) -> None:
        super().__init__(conversation)
        self._owner = StreamOwner()
        self._query = query
        self._args = args
        self._own = own
        self._declared = declared
        self._begin = begin
        self._timeout = timeout
        self._asked = asked
        self._is_started = False
        self._is_sent = False
        self._is_finished = False
        _core.check_arguments(args)

    def __aiter__(self) -> Self:
        """The stream is its own iterator."""
        return self

    async def __anext__(self) -> Columns:
        """The next batch."""
        if self._is_finished:
            raise StopAsyncIteration
        if self._owner.is_waiting:
            msg = "cannot perform operation: another operation is in progress"
            raise InterfaceError(msg)
        if not self._is_started:
            if self._is_orphaned():
                self._check_connection("__anext__")
            await self._conversation.put_away_left_over()
            self._conversation.take(self._owner)
            self._is_started = True
            observers = self._conversation.observers
            if observers.are_there():
                self._observation = Observation(observers, self._query, self._args, self._timeout)
        elif not self._has_connection():
            msg = "the stream was closed: its transaction has ended"
            raise InterfaceError(msg)
        self._owner.is_waiting = True
        try:
            async with deadline(self._timeout):
                event = await self._next_event()
        except BaseException as error:
            note_limit(error, "no batch of columns came", self._timeout)
            self.finish(error)
            raise
        finally:
            self._owner.is_waiting = False
        if isinstance(event, _core.Batch):
            batch = self._conversation.decoded(event)
            return Columns(batch, self._asked)
        self.finish()
        raise StopAsyncIteration

    async def _next_event(self) -> object:
        conversation = self._conversation
        if not self._is_sent:
            self._is_sent = True
            await conversation.transport.settled()
            return await conversation.run(self._query, self._begin, self._declared, own=self._own)
        return await conversation.transport.next_event()

    def _has_connection(self) -> bool:
        """False once the end of a transaction has taken the connection away."""
        return self._conversation.owner is self._owner

    def finish(self, error: BaseException | None = None) -> None:
        """Give the connection back without waiting; abandons an exchange still under way."""
        # At the end of the process, names of modules may be gone before the stream.
        if error is not None:
            note_query(error, self._query)
        observation, self._observation = self._observation, None
        if not self._is_finished and self._has_connection():
            self._conversation.transport.abandon()
            self._conversation.give_back(self._owner)
        self._is_finished = True
        if observation is not None:
            observation.ended(error)

    def _abandon(self, error: BaseException) -> None:
        """End after an interruption, even one while entering or leaving a block."""
        self.finish(error)

    async def aclose(self) -> None:
        """End the stream; a query still running is cancelled."""
        self.finish()
        await self._conversation.transport.settled()

    async def __aenter__(self) -> Self:
        """The stream itself."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the stream."""
        await self.aclose()

    def __del__(self) -> None:
        """A dropped stream must not keep its connection."""
        self.finish()
