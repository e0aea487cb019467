"""The workers of a gather as tasks, and the reads that gathers share."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from colonnade._driver.gather.shared_errors import own

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Hashable

    from colonnade._driver.gather.plan import Job

    Work = Callable[[], Coroutine[Any, Any, Any]]


class Workers:
    """The workers of one gather. A task is stopped by its cancellation."""

    def __init__(self) -> None:
        self.has_begun = False

    def begins(self, conversation: Any) -> None:
        """Record that a query is about to run on a connection."""
        del conversation  # A task is stopped whatever it does.
        self.has_begun = True

    def ended(self, conversation: Any) -> None:
        """Record that it has ended."""

    async def run(self, work: Work, count: int, seconds: float | None) -> None:
        """Run `count` workers to their end, or for `seconds`.

        If one fails, or the caller is cancelled, or the time is over, the others are cancelled, and
        no worker is left. Raises the first failure; the end of the time is not one.
        """
        if count == 1 and seconds is None:
            await work()
            return
        tasks = [asyncio.ensure_future(work()) for _ in range(count)]
        try:
            await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
            # Only workers that have ended count here: the others are cancelled below.
            failures = [task for task in tasks if task.done() and _failure(task) is not None]
        finally:
            left = [task for task in tasks if not task.done()]
            for task in left:
                task.cancel()
            if left:
                await asyncio.wait(left)
            for task in tasks:
                # asyncio warns of exceptions that nobody has looked at.
                _failure(task)
        for task in failures:
            task.result()


class SharedReads:
    """The shared queries under way in a pool, each with its waiting callers."""

    def __init__(self) -> None:
        self._reads: dict[Hashable, _Read] = {}

    async def join(
        self,
        key: Hashable,
        read: Callable[[Workers], Coroutine[Any, Any, Any]],
        workers: Workers,
        job: Job,
    ) -> Any:
        """The result of the query with this key, which begins unless it is under way.

        A caller that is cancelled leaves it to the others; the last one cancels it.
        """
        del workers  # Its task is cancelled, and so is this wait.
        shared = self._reads.get(key)
        if shared is None:
            reader = Workers()
            shared = self._reads[key] = _Read(reader, asyncio.ensure_future(read(reader)))
            shared.task.add_done_callback(lambda task: self._end(key, task))
        shared.callers += 1
        job.read = shared.workers
        try:
            await asyncio.wait([shared.task])
        finally:
            shared.callers -= 1
            if not shared.callers and not shared.task.done():
                # At once: a caller that comes now must not get the cancelled one.
                self._end(key, shared.task)
                shared.task.cancel()
        failure = _failure(shared.task)
        if isinstance(failure, Exception):
            raise own(failure)
        return shared.task.result()

    def _end(self, key: Hashable, task: asyncio.Future[Any]) -> None:
        if task.done():
            _failure(task)
        shared = self._reads.get(key)
        if shared is not None and shared.task is task:
            del self._reads[key]


class _Read:
    """A shared query under way."""

    __slots__ = ("callers", "task", "workers")

    def __init__(self, workers: Workers, task: asyncio.Future[Any]) -> None:
        self.workers = workers
        self.task = task
        self.callers = 0


def _failure(task: asyncio.Future[Any]) -> BaseException | None:
    return None if task.cancelled() else task.exception()
