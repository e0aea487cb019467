"""When the lanes of a process's workers may get jobs and begin them."""

from __future__ import annotations

import time
from contextlib import ExitStack, asynccontextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from colonnade.jobs._tasks.asyncio import Mutex, Semaphore, Signal, workers_beside
from colonnade.jobs._tasks.shares import Shares

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from colonnade.jobs._async.batch import Batch


class Workers:
    """The workers that would end together; one job that may end them begins alone."""

    def __init__(self) -> None:
        self.mutex = Mutex()
        self.alone: Batch | None = None
        self.lanes = 0
        # Set while no batch is alone, and whenever a lane has ended.
        self.together, self.fewer = Signal(), Signal()
        self.together.set()
        self._turns: list[Turns] = []

    def join(self, turns: Turns) -> None:
        """Take part until `leave`."""
        with self.mutex:
            self._turns.append(turns)
            if self.alone is not None:
                turns.halt.set()

    def leave(self, turns: Turns) -> None:
        """Stop taking part."""
        with self.mutex:
            self._turns.remove(turns)

    def admit(self) -> bool:
        """Count a lane; False while a batch is alone."""
        with self.mutex:
            self.lanes += self.alone is None
            return self.alone is None

    def dismiss(self) -> None:
        """Stop counting a lane."""
        with self.mutex:
            self.lanes -= 1
        self.fewer.set()

    def claim(self, batch: Batch) -> bool:
        """Let a batch be alone; False if another one is, and this one must be given back."""
        with self.mutex:
            if self.alone is None:
                self.alone = batch
                self.together.clear()
                for turns in self._turns:
                    turns.halt.set()
            return self.alone is batch

    def go_on(self) -> None:
        """End the turn of a batch that ran alone, and let the others go on."""
        with self.mutex:
            self.alone = None
            self.together.set()
            for turns in self._turns:
                turns.resume()

    async def told(self) -> None:
        """Wait until the server was told of all that is finished."""
        for turns in tuple(self._turns):
            await turns.told()


_workers = Shares[Workers]()
# A worker that a handler runs is part of the handler's turn: it must not wait for that to end.
_is_in_a_turn: ContextVar[bool] = ContextVar("colonnade.jobs.turn", default=False)


class Turns:
    """Lets a number of batches begin at once, or, alone, one job that may end the process.

    Such a job, before its last attempt, begins when no other lane of the process, or of the event
    loop, holds or gets any: they would lose an attempt with it, and some have no other. Meanwhile
    the others give back what they have not begun. Handlers that take longer than `patience` seconds
    are not awaited, so that a slow one does not make the worker idle.
    """

    def __init__(
        self,
        concurrency: int,
        stop: Signal,
        told: Callable[[], Awaitable[None]],
        patience: float,
    ) -> None:
        self.halt = Signal()
        """Set while no jobs are to be got."""
        self.told = told
        self._stop = stop
        self._patience = patience
        self._turn = Semaphore(concurrency)
        self._workers = Workers()

    @asynccontextmanager
    async def at_work(self) -> AsyncGenerator[None]:
        """The worker has lanes, and `stop` halts them."""
        with ExitStack() as stack:
            if not _is_in_a_turn.get():
                self._workers = stack.enter_context(_workers.of(workers_beside(), Workers))
            stack.enter_context(self._stop.sets(self.halt))
            self._workers.join(self)
            stack.callback(self._workers.leave, self)
            yield

    @asynccontextmanager
    async def lane(self) -> AsyncGenerator[bool]:
        """A lane gets jobs, works, and settles them; False if the worker stops before that."""
        is_admitted = self._workers.admit() or await self._admitted_later()
        try:
            yield is_admitted
        finally:
            if is_admitted:
                self._workers.dismiss()

    async def _admitted_later(self) -> bool:
        signal = Signal()
        with self._stop.sets(signal), self._workers.together.sets(signal):
            while not self._stop.is_set():
                await signal.wait(None)
                signal.clear()
                if self._workers.admit():
                    return True
        return False

    @asynccontextmanager
    async def turn(self, batch: Batch) -> AsyncGenerator[bool]:
        """A lane works on a batch; False if it has to give it back, because another is alone.

        A batch that is alone keeps the others out until `end`.
        """
        if batch.is_alone and self._workers.claim(batch):
            await self._others_end()
        async with self._turn:
            before = _is_in_a_turn.set(True)
            try:
                yield self._workers.alone in {None, batch}
            finally:
                _is_in_a_turn.reset(before)

    async def end(self, batch: Batch) -> None:
        """Let the others go on when the server knows the end of a batch that was alone."""
        if self._workers.alone is not batch:
            return
        try:
            await self.told()
        finally:
            self._workers.go_on()

    def resume(self) -> None:
        """Get jobs again, unless the worker is to stop."""
        self.halt.clear()
        # It may have been set amid this.
        if self._stop.is_set():
            self.halt.set()

    async def _others_end(self) -> None:
        give_up = time.monotonic() + self._patience
        workers = self._workers
        with self._stop.sets(workers.fewer):
            while workers.lanes > 1 and (left := give_up - time.monotonic()) > 0:
                if self._stop.is_set():
                    return
                await workers.fewer.wait(left)
                workers.fewer.clear()
        await workers.told()
