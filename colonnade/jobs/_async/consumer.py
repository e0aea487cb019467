"""The loop of a worker."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from colonnade._arguments import check_count, check_number
from colonnade._shown import shown
from colonnade.errors import InterfaceError
from colonnade.jobs._async.acking import Acks
from colonnade.jobs._async.getting import get_until
from colonnade.jobs._tasks.asyncio import Semaphore, Signal, call_handler, run_all
from colonnade.jobs._tasks.handlers import WrongHandlerError
from colonnade.jobs.definition import check_seconds
from colonnade.jobs.errors import PASSING, LeaseLostError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from colonnade.jobs._async.batch import Batch
    from colonnade.jobs._async.queue import Queue

_logger = logging.getLogger("colonnade.jobs")
# A lease is extended when a third of it has passed, so that one late answer does not lose it.
_EXTENSIONS_PER_LEASE = 3
_PAUSE_S = 1.0


class Consumer:
    """A worker: it calls `handler(batch)` for each batch; made by `Queue.consume`.

    A job is acknowledged only after the handler has returned; batches that end at about the same
    time are acknowledged in one statement, and the next is begun meanwhile. If it raises, the jobs
    of the batch that it has not settled itself are given back with the error as their reason; to
    give back single rows, it calls `batch.nack(ids, reason=...)` and returns. Leases are extended
    until the handler is done. `concurrency` handlers run at once, and `prefetch` further batches
    are held ready for them.

    A handler, not an iterator, so that nothing but its end can acknowledge a job: neither a `break`
    nor an exception between two steps of a loop.
    """

    def __init__(
        self,
        queues: Sequence[Queue],
        handler: Callable[[Batch], Awaitable[object]],
        *,
        limit: int,
        lease: float,
        concurrency: int,
        prefetch: int,
        stop_within: float,
    ) -> None:
        check_count("limit", limit)
        check_seconds("lease", lease)
        check_count("concurrency", concurrency)
        if prefetch != 0:
            check_count("prefetch", prefetch)
        check_number("stop_within", stop_within)
        if not 0 <= stop_within <= 10**9:
            msg = f"stop_within must be from 0 to 10^9 seconds, not {shown(stop_within)}"
            raise ValueError(msg)
        self._queues = queues
        self._handler = handler
        self._limit = limit
        self._lease = lease
        self._lanes = concurrency + prefetch
        self._turn = Semaphore(concurrency)
        self._stop = Signal()
        self._done = Signal()
        self._stop_within = stop_within
        self._lanes_left = 0
        self._held: list[Batch] = []
        self._acks = Acks()
        self._is_begun = False
        self._drains = False

    async def run(self) -> None:
        """Work until `stop` is called.

        Then no batch is begun: those that are held ready are given back, and the handlers that run
        may finish within `stop_within` seconds. Raises TimeoutError if they do not: they are
        cancelled (threads go on, but their leases end), and their jobs come back. Failures of the
        server are logged, and the next attempt follows after a second. A handler of the wrong kind
        (a plain function with asyncio, a coroutine function in threads) is a TypeError.
        """
        self._drains = False
        await self._work()

    async def drain(self) -> None:
        """Work until no job is ready. Jobs that wait for another attempt are not awaited."""
        self._drains = True
        await self._work()

    def stop(self) -> None:
        """Let `run` end; may be called from a handler of signals."""
        self._stop.set()

    async def _work(self) -> None:
        if self._is_begun:
            msg = "a consumer works once: make another one"
            raise InterfaceError(msg)
        self._is_begun = True
        self._lanes_left = self._lanes
        works = [self._lane] * self._lanes + [self._keep, self._acknowledge]
        is_whole = await run_all(works, self._stop, lambda: self._stop_within)
        if not is_whole:
            msg = f"handlers still ran {self._stop_within:g} s after stop(): their jobs come back"
            raise TimeoutError(msg)

    async def _lane(self) -> None:
        """Get a batch, wait for a turn, work, settle, and again."""
        try:
            while not self._stop.is_set():
                batch = await self._next()
                if batch:
                    await self._through(batch)
                elif self._drains:
                    return
        finally:
            self._lanes_left -= 1
            if not self._lanes_left:
                self._done.set()

    async def _next(self) -> Batch | None:
        timeout = 0 if self._drains else None
        try:
            return await get_until(self._queues, self._limit, self._lease, timeout, self._stop)
        except PASSING as error:
            if self._drains or self._queues[0].pool.is_closing():
                raise
            _logger.warning("a consumer gets no jobs: %r", error)
            await self._stop.wait(_PAUSE_S)
            return None

    async def _through(self, batch: Batch) -> None:
        self._held.append(batch)
        try:
            async with self._turn:
                if self._stop.is_set():
                    await self._settled(batch.release)
                    return
                await self._handle(batch)
        except BaseException:
            # Cancelled, or killed by Ctrl-C: what the handler has not settled was not done.
            await self._settled(batch.release)
            raise
        finally:
            if batch in self._held:
                self._held.remove(batch)

    async def _handle(self, batch: Batch) -> None:
        try:
            await call_handler(self._handler, batch)
        except WrongHandlerError:
            raise
        except Exception as error:  # noqa: BLE001 - it becomes the reason of the jobs
            _logger.warning("a handler failed with %d jobs: %r", len(batch.held), error)
            reason = f"{type(error).__name__}: {error}"
            # Not extended any more, while they are given back.
            self._held.remove(batch)
            await self._settled(batch.nack, reason=reason)
        else:
            self._held.remove(batch)
            await self._acks.add(batch)

    async def _settled(self, verb: Callable[..., Awaitable[None]], **options: Any) -> None:
        """Tell the server; what it does not hear comes back when the lease ends."""
        try:
            await verb(**options)
        except LeaseLostError as error:
            _logger.warning("%s", error)
        except PASSING as error:
            _logger.warning("the end of a batch was not told: its jobs come back: %r", error)

    async def _acknowledge(self) -> None:
        """Acknowledge what handlers have finished, until the last lane has ended."""
        await self._acks.run(self._done)

    async def _keep(self) -> None:
        """Extend the leases of all batches until the last lane has ended."""
        while not self._done.is_set():
            await self._done.wait(self._lease / _EXTENSIONS_PER_LEASE)
            for batch in tuple(self._held):
                if not self._done.is_set() and len(batch.held):
                    await self._settled(batch.extend, lease=self._lease)
