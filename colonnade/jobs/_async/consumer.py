"""The loop of a worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade._words.arguments import check_count, check_pause, check_seconds
from colonnade.errors import InterfaceError
from colonnade.jobs._async.acking import Acks
from colonnade.jobs._async.batch import release_within
from colonnade.jobs._async.getting import Asker, get_until
from colonnade.jobs._async.leases import Leases
from colonnade.jobs._async.turns import Turns
from colonnade.jobs._tasks.asyncio import Signal, failure_of, run_all
from colonnade.jobs._tasks.handlers import check_handler
from colonnade.jobs._tasks.hub.asyncio import on_duty
from colonnade.jobs.errors import PASSING, LeaseLostError, PoolTooSmallError
from colonnade.jobs.failures import headline_of, reason_of
from colonnade.jobs.logs import logger, of_jobs, of_queue
from colonnade.jobs.pace import Pace

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from colonnade.jobs._async.batch import Batch
    from colonnade.jobs._async.tables import Tables
    from colonnade.jobs._tasks.hub.asyncio import Hub

# One is kept for leases and notifications, and one gets and acknowledges jobs.
_CONNECTIONS_LEAST = 2
_PAUSE_S = 1.0
_GIVE_BACK_S = 5.0


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
        queues: Sequence[Tables],
        handler: Callable[[Batch], Awaitable[object]],
        *,
        limit: int,
        lease: float,
        concurrency: int,
        prefetch: int,
        stop_within: float,
    ) -> None:
        check_handler(handler)
        check_count("limit", limit)
        check_seconds("lease", lease)
        check_count("concurrency", concurrency)
        if prefetch != 0:
            check_count("prefetch", prefetch)
        check_pause("stop_within", stop_within)
        self._pool = queues[0].pool
        size = self._pool.get_max_size()
        if size < _CONNECTIONS_LEAST:
            raise PoolTooSmallError(size, _CONNECTIONS_LEAST)
        self._queues = queues
        self._handler = handler
        self._lease = lease
        self._lanes = concurrency + prefetch
        self._stop = Signal()
        self._stop_within = stop_within
        self._pace = Pace(limit)
        self._leases = Leases(lease)
        self._acks = Acks(self._leases.let_go)
        self._turns = Turns(concurrency, self._stop, self._acks.told, lease)
        self._hub: Hub | None = None
        self._is_begun = False
        self._drains = False

    async def run(self) -> None:
        """Work until `stop` is called; it returns for no other reason.

        Then no batch is begun: those that are held ready are given back, and the handlers that run
        may finish within `stop_within` seconds. Raises TimeoutError if they do not: they are
        cancelled (threads go on, but their leases end), and their jobs come back. Failures of the
        server are logged, and the next attempt follows after a second. What breaks the worker is
        raised: BrokenConsumerError if other code has cancelled one of its tasks, InterfaceError if
        the pool is closed, TypeError for a handler of the wrong kind (a plain function with
        asyncio, a coroutine function in threads).
        """
        self._drains = False
        await self._work()

    async def drain(self) -> None:
        """Work until no job is ready, or `stop` is called.

        Jobs that wait for another attempt are not awaited. What breaks the worker is raised, as by
        `run`, and failures of the server are, too.
        """
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
        channels = [queue.definition.channel for queue in self._queues]
        done = Signal()
        async with (
            on_duty(self._pool, channels, self._leases) as self._hub,
            self._turns.at_work(),
        ):
            is_whole = await run_all(
                [self._lane] * self._lanes,
                [lambda: self._acks.run(done)],
                stop=self._stop,
                done=done,
                seconds=self._stop_within,
            )
        if self._drains and self._acks.error is not None:
            raise self._acks.error
        if not is_whole:
            msg = (
                f"handlers still ran, or what they did could not be acknowledged,"
                f" {self._stop_within:g} s after stop(): these jobs come back"
            )
            raise TimeoutError(msg)

    async def _lane(self) -> None:
        """Get a batch, wait for a turn, work, settle, and again."""
        while not self._stop.is_set():
            async with self._turns.lane() as is_admitted:
                if not is_admitted:
                    return
                batch = await self._next()
                if batch:
                    try:
                        await self._through(batch)
                    finally:
                        await self._turns.end(batch)
                elif self._drains and not self._turns.halt.is_set():
                    return

    async def _next(self) -> Batch | None:
        timeout = 0 if self._drains else None
        asker = Asker(self._queues, self._pace, self._lease, timeout, self._hub)
        try:
            return await get_until(asker, self._turns.halt)
        except PASSING as error:
            if self._drains or self._pool.is_closing():
                raise
            queue = self._queues[0].definition
            logger.warning(
                "a consumer gets no jobs of the queue %s: %r", queue, error, extra=of_queue(queue)
            )
            await self._stop.wait(_PAUSE_S)
            return None

    async def _through(self, batch: Batch) -> None:
        self._leases.hold(batch)
        try:
            async with self._turns.turn(batch) as may_begin:
                if not (may_begin and await self._is_held(batch)):
                    await self._settled(batch, batch.release)
                    return
                failure = await failure_of(self._handler, batch)
        except BaseException:
            # Cancelled, or ended by Ctrl-C: the handler's unsettled jobs are not done. The
            # other lanes stop before it is given back. If one of them began it and ended by Ctrl-C
            # as well, the loop would end before this release.
            self._stop.set()
            await self._settled(batch, lambda: release_within(batch, _GIVE_BACK_S))
            raise
        if failure is None:
            await self._acks.add(batch)
        else:
            await self._failed(batch, failure)

    async def _is_held(self, batch: Batch) -> bool:
        """Whether a batch may be begun; after a stall, an extension first tells of lost jobs.

        With a lost one, the others are given back: a handler works on all that it is handed.
        """
        if self._leases.is_late and self._hub is not None:
            try:
                await self._hub.caught_up(self._stop)
            except PASSING:
                return False
        return not self._stop.is_set() and len(batch.held) == len(batch)

    async def _failed(self, batch: Batch, failure: BaseException) -> None:
        """Give back the jobs that the handler has not settled; no failure ends the worker."""
        logger.warning(
            "a handler failed with %d jobs of the queue %s: %s",
            *(len(batch.held), batch.queue.definition, headline_of(failure)),
            exc_info=failure,
            extra=of_jobs(batch, batch.held),
        )
        await self._settled(batch, batch.nack, reason=reason_of(failure))

    async def _settled(
        self, batch: Batch, verb: Callable[..., Awaitable[None]], **options: Any
    ) -> None:
        """Tell the server; a job of which it hears nothing comes back when its lease ends."""
        try:
            await verb(**options)
        except LeaseLostError as error:
            logger.warning("%s", error, extra=of_jobs(batch, error.lost))
        except PASSING as error:
            logger.warning(
                "the end of a batch of the queue %s was not told: its jobs come back: %r",
                *(batch.queue.definition, error),
                extra=of_jobs(batch, batch.held),
            )
        finally:
            self._leases.let_go(batch)
