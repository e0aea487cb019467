"""`trace()`: records the steps and waits of an event loop's tasks."""

from __future__ import annotations

import asyncio
import contextlib
import operator
from typing import TYPE_CHECKING, Any

from colonnade import tracing
from colonnade._words.arguments import check_count
from colonnade._words.shown import class_name
from colonnade.errors import InterfaceError
from colonnade.observe.timeline.assembly import assemble
from colonnade.observe.timeline.earlier_tasks import EarlierTasks
from colonnade.observe.timeline.lane_table import LaneTable
from colonnade.observe.timeline.queries import QueryTracer
from colonnade.observe.timeline.timeline import Timeline
from colonnade.observe.timeline.traced_tasks import TracedTasks
from colonnade.observe.timeline.waits import explain_wait

if TYPE_CHECKING:
    from colonnade.observe.timeline.lane import Lane

# A shorter wait is not explained: reading why takes a few microseconds.
PATIENCE_NS = 20_000


class trace:  # noqa: N801 - a context manager, called like a function
    """Records the steps and waits of each task of an event loop, until it is stopped.

        async with observe.trace() as timeline:
            await asyncio.gather(first(), second())
        print(timeline.summary())

    `loop` is the loop to trace, by default the running one; `with observe.trace(loop)` traces one
    that does not run yet. `start()` and `stop()` do the same without a block. At most `limit`
    intervals are kept, of about 24 bytes each; `timeline.dropped` counts the others.

    A task factory wraps the coroutine of each new task, also where another factory is set. Tasks
    that are there already are followed, too. Nothing changes for the program. Call it in the thread
    of the loop.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop | None = None, *, limit: int = 1_000_000
    ) -> None:
        if loop is not None and not isinstance(loop, asyncio.AbstractEventLoop):
            raise TypeError(f"loop must be an event loop, not {class_name(loop)}")
        check_count("limit", limit)
        self._loop = loop
        self._limit = limit
        self._recording: Recording | None = None

    def start(self) -> Timeline:
        """Begin to record.

        Raises InterfaceError if it has begun already, and RuntimeError if neither a loop was given
        nor one is running.
        """
        if self._recording is not None:
            raise InterfaceError("the trace was started already: stop() ends it")
        loop = self._loop or asyncio.get_running_loop()
        recording = Recording(loop, operator.index(self._limit))
        recording.start()
        self._recording = recording
        return Timeline(recording)

    def stop(self) -> None:
        """End the recording, and put the former task factory back.

        Warns if the loop's task factory was replaced meanwhile: then the new one stays. Raises
        InterfaceError without a start.
        """
        if self._recording is None:
            raise InterfaceError("the trace was not started: start() begins it")
        recording, self._recording = self._recording, None
        recording.stop()

    def __enter__(self) -> Timeline:
        return self.start()

    def __exit__(self, *exception: object) -> None:
        self.stop()

    async def __aenter__(self) -> Timeline:
        return self.start()

    async def __aexit__(self, *exception: object) -> None:
        self.stop()


class Recording:
    """One recording of one loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, limit: int) -> None:
        from colonnade.observe.timeline.native import Recorder

        self._loop = loop
        self._table = LaneTable()
        self._recorder = Recorder(limit, PATIENCE_NS, self._table.opened, self._explain)
        self._tasks = TracedTasks(loop, self._recorder, self._table)
        self._earlier = EarlierTasks(loop, self._recorder, self._table, self._explain)
        self._tracer = QueryTracer(loop, self._recorder, limit, self._lane_now)
        self._began = 0
        self._ended: int | None = None
        self._lanes: tuple[Lane, ...] | None = None

    def start(self) -> None:
        """Begin to record, or leave the loop as it was: it may have no task factories."""
        with contextlib.ExitStack() as undo:
            self._recorder.start()
            undo.callback(self._recorder.stop)
            self._began = self._recorder.now()
            undo.callback(self._earlier.leave)
            self._earlier.follow()
            self._tasks.install()
            undo.callback(self._tasks.remove)
            tracing.add_tracer(self._tracer)
            undo.pop_all()

    def stop(self) -> None:
        """End the recording."""
        tracing.remove_tracer(self._tracer)
        self._record_open_waits()
        self._earlier.leave()
        self._ended = self._recorder.stop()
        self._tasks.remove()

    @property
    def is_running(self) -> bool:
        """Whether it still records."""
        return self._ended is None

    @property
    def duration(self) -> float:
        """Its length so far in seconds."""
        return (self._end() - self._began) / 1e9

    @property
    def dropped(self) -> int:
        """The number of intervals and queries beyond the limit."""
        return self._recorder.dropped + self._tracer.dropped

    @property
    def lanes(self) -> tuple[Lane, ...]:
        """The lanes so far."""
        if self._lanes is not None:
            return self._lanes
        lanes = assemble(
            self._recorder, self._table, self._tracer.queries, self._began, self._end()
        )
        if self._ended is not None:
            self._lanes = lanes
        return lanes

    def _end(self) -> int:
        return self._recorder.now() if self._ended is None else self._ended

    def _lane_now(self) -> int | None:
        lane = self._recorder.running_lane
        return self._table.number_of(asyncio.current_task()) if lane is None else lane

    def _explain(
        self, coroutine: Any, future: Any, callback: str | None, since: int, now: int
    ) -> tuple[int, int, bool]:
        return explain_wait(coroutine, future, callback, since, now, end_of=self._end_of)

    def _end_of(self, task: Any) -> int | None:
        number = self._table.number_of(task)
        life = None if number is None else self._recorder.life(number)
        return None if life is None else life[1]

    def _record_open_waits(self) -> None:
        from colonnade.observe.timeline.kinds import LOOP_DELAY

        for entry in list(self._table.entries.values()):
            traced = None if entry.traced is None else entry.traced()
            pending = None if traced is None else traced.pending()
            if traced is None or pending is None:
                continue
            since, future, callback = pending
            now = self._recorder.now()
            if future is None:
                self._recorder.add(entry.number, LOOP_DELAY, since, now)
                continue
            kind, over, _ = self._explain(traced.traced_coroutine(), future, callback, since, now)
            over = min(max(over, since), now)
            self._recorder.add(entry.number, kind, since, over)
            self._recorder.add(entry.number, LOOP_DELAY, over, now)
