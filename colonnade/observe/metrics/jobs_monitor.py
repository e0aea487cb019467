"""Counts the jobs and events of queues of `colonnade.jobs`, beside the work and for metrics."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from colonnade._words.arguments import check_seconds
from colonnade._words.shown import class_name
from colonnade.jobs.observing import EVENTS, add_observer, remove_observer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from colonnade.jobs import QueueStats
    from colonnade.jobs.observing import JobsEvent

_log = logging.getLogger("colonnade.observe")
# Older numbers are no longer shown: they would look like a queue that stands still.
_KEPT_INTERVALS = 3
# Counting takes at most this part of the time, whatever the interval.
_COUNTING_PART = 0.05


@dataclass(frozen=True)
class QueueFigures:
    """A queue as a `JobsMonitor` knows it."""

    schema: str
    name: str
    stats: QueueStats | None
    """The jobs by state, and the age of the oldest; None if the last counts failed."""
    events: dict[JobsEvent, int]
    """The counts of this process since the start: jobs that it added, got, acknowledged, ..."""


class JobsMonitor:
    """Counts the jobs of queues every `every` seconds, and the acts of this process on them.

    `queues` are queues of `jobs.open_queue` or `jobs.create_queue`, of one colour: in asyncio it is
    started by `async with`, or by `start()`, and counts in a task; with `with` and queues of
    `jobs.sync` it counts in a thread. `figures()` reads the last counts, and asks no server.

    Counting reads rows, so it is done less often if it takes more than a twentieth of the time.
    All processes see the same jobs of a queue: let one of them monitor it, or take the maximum.

    Raises ValueError for a queue given twice or a wrong interval, TypeError for another object.
    """

    def __init__(self, queues: Iterable[Any], every: float = 15.0) -> None:
        check_seconds("every", every)
        self._every = every
        self._counts = [_Counted(queue) for queue in queues]
        self._by_name = {(one.schema, one.name): one for one in self._counts}
        if len(self._by_name) < len(self._counts):
            raise ValueError("a queue was given twice")
        self._task: asyncio.Task[None] | None = None
        self._thread: threading.Thread | None = None
        self._end = threading.Event()

    def figures(self) -> list[QueueFigures]:
        """The last counts, by queue."""
        return [one.figures() for one in self._counts]

    def start(self) -> None:
        """Start counting in a task of the running loop. Raises RuntimeError the second time."""
        self._begin()
        self._task = asyncio.get_running_loop().create_task(self._count_on())

    async def stop(self) -> None:
        """Stop; does nothing if it was not started."""
        remove_observer(self._note)
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.stop()

    def __enter__(self) -> Self:
        """Start counting in a thread."""
        self._begin()
        self._end.clear()
        self._thread = threading.Thread(target=self._count_in_thread, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        """Stop; a count that still runs ends by itself."""
        remove_observer(self._note)
        thread, self._thread = self._thread, None
        self._end.set()
        if thread is not None:
            thread.join(self._every)

    # Inside

    def _begin(self) -> None:
        if self._task is not None or self._thread is not None:
            raise RuntimeError("this monitor was started before")
        add_observer(self._note)

    def _note(self, schema: str, name: str, event: JobsEvent, count: int) -> None:
        counted = self._by_name.get((schema, name))
        if counted is not None:
            counted.note(event, count)

    async def _count_on(self) -> None:
        while True:
            began = time.monotonic()
            for one in self._counts:
                try:
                    one.take(await one.queue.stats())
                except Exception as error:  # noqa: BLE001 - a server that is away comes back
                    one.fail(error)
            await asyncio.sleep(self._pause(began))

    def _count_in_thread(self) -> None:
        while True:
            began = time.monotonic()
            for one in self._counts:
                try:
                    one.take(one.queue.stats())
                except Exception as error:  # noqa: BLE001 - as above
                    one.fail(error)
            if self._end.wait(self._pause(began)):
                return

    def _pause(self, began: float) -> float:
        """The time until the next round; the counts of this one are kept for several."""
        took = time.monotonic() - began
        pause = max(self._every - took, took / _COUNTING_PART)
        for one in self._counts:
            one.keep(_KEPT_INTERVALS * (took + pause))
        return pause


class _Counted:
    """A queue, and its counts."""

    def __init__(self, queue: Any) -> None:
        try:
            self.schema, self.name = queue.definition.schema, queue.definition.name
        except AttributeError:
            msg = f"a queue must be one of colonnade.jobs, not {class_name(queue)}"
            raise TypeError(msg) from None
        self.queue = queue
        self._stats: QueueStats | None = None
        self._good_until = 0.0
        self._has_failed = False
        self._events: dict[JobsEvent, int] = dict.fromkeys(EVENTS, 0)
        self._lock = threading.Lock()

    def take(self, stats: QueueStats) -> None:
        """Take new numbers."""
        self._stats = stats
        self._has_failed = False

    def keep(self, seconds: float) -> None:
        """Show the numbers for this time, if they are new."""
        if not self._has_failed:
            self._good_until = time.monotonic() + seconds

    def fail(self, error: Exception) -> None:
        """Tell of the first of several failures."""
        if not self._has_failed:
            queue = f'"{self.schema}.{self.name}"'
            _log.warning("the jobs of the queue %s cannot be counted: %r", queue, error)
        self._has_failed = True

    def note(self, event: JobsEvent, count: int) -> None:
        """Count an event; threads may do so together."""
        with self._lock:
            self._events[event] += count

    def figures(self) -> QueueFigures:
        """The counts as they are known now."""
        stats = self._stats if time.monotonic() < self._good_until else None
        with self._lock:
            return QueueFigures(self.schema, self.name, stats, dict(self._events))
