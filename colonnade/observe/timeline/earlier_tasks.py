"""Tasks that were there before the trace: their coroutines can no longer be wrapped.

The future that such a task waits for calls back in the order in which it was asked. So one call
right before the task's own tells when its step begins, and one right after it when that ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from typing import TYPE_CHECKING, Any

from colonnade.observe.timeline.await_chain import attribute_of
from colonnade.observe.timeline.kinds import LOOP_DELAY, RUNNING, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable

    from colonnade.observe.timeline.lane_table import LaneTable
    from colonnade.observe.timeline.native import Recorder

    Explain = Callable[[Any, Any, str | None, int, int], tuple[int, int, bool]]


class EarlierTasks:
    """Follows the tasks of a loop that were there when a trace began."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        recorder: Recorder,
        table: LaneTable,
        explain: Explain,
    ) -> None:
        self._loop = loop
        self._recorder = recorder
        self._table = table
        self._explain = explain
        self._followed: list[_FollowedTask] = []

    def follow(self) -> None:
        """Open a lane for each task of the loop."""
        current = asyncio.current_task(self._loop) if self._is_running_here() else None
        # The set that asyncio returns has no order.
        for task in sorted(asyncio.all_tasks(self._loop), key=lambda task: task.get_name()):
            number = self._recorder.open()
            entry = self._table.add(number, task.get_coro(), None)
            self._table.bind(number, task)
            entry.read_name()
            followed = _FollowedTask(task, number, self._loop, self._recorder, self._explain)
            self._followed.append(followed)
            if task is current:
                followed.runs_now()
            else:
                followed.has_suspended(self._recorder.now())

    def leave(self) -> None:
        """Stop following them."""
        for followed in self._followed:
            followed.stop()

    def _is_running_here(self) -> bool:
        return asyncio._get_running_loop() is self._loop  # noqa: SLF001 - None instead of an error


class _FollowedTask:
    def __init__(
        self,
        task: asyncio.Task[Any],
        lane: int,
        loop: asyncio.AbstractEventLoop,
        recorder: Recorder,
        explain: Explain,
    ) -> None:
        self._task = task
        self._lane = lane
        self._loop = loop
        self._recorder = recorder
        self._explain = explain
        self._context = contextvars.Context()
        self._since: int | None = None
        self._future: Any = None
        self._callback: str | None = None
        self._turn: asyncio.Handle | None = None

    def runs_now(self) -> None:
        """The task is the current one: its step began before the trace."""
        self._recorder.enter(self._lane, self._recorder.now())
        self._turn = self._loop.call_soon(self._after_step, context=self._context)

    def has_suspended(self, since: int) -> None:
        """Note what the task waits for, and ask to be called around its next step."""
        self._since = since
        self._future = future = getattr(self._task, "_fut_waiter", None)
        if future is None:
            # It gave its turn, and comes next after those that are ready now.
            self._turn = self._loop.call_soon(self._after_step, context=self._context)
            return
        found: Any = attribute_of(future, "_callbacks")
        callbacks: list[tuple[Any, Any]] = [] if found is None else list(found)
        own = [one for one, _ in callbacks if getattr(one, "__self__", None) is self._task]
        self._callback = None
        if callbacks and callbacks[0][0] not in own:
            self._callback = getattr(callbacks[0][0], "__qualname__", None)
        if not own:
            future.add_done_callback(self._after_step, context=self._context)
            return
        for callback, _ in callbacks:
            future.remove_done_callback(callback)
        for callback, context in callbacks:
            is_own = callback in own
            if is_own:
                future.add_done_callback(self._before_step, context=self._context)
            future.add_done_callback(callback, context=context)
            if is_own:
                future.add_done_callback(self._after_step, context=self._context)

    def stop(self) -> None:
        """End the calls, and record the wait or step that is under way."""
        if self._turn is not None:
            self._turn.cancel()
        if self._future is not None:
            with contextlib.suppress(AttributeError):
                self._future.remove_done_callback(self._before_step)
                self._future.remove_done_callback(self._after_step)
        if self._since is not None:
            self._end_wait(self._recorder.now())
        else:
            self._recorder.leave(self._lane)
        self._future = None

    def _before_step(self, _: object) -> None:
        now = self._recorder.now()
        self._end_wait(now)
        # It belongs to the task, which may let go of it in its step.
        self._future = None
        self._recorder.enter(self._lane, now)

    def _after_step(self, _: object = None) -> None:
        self._turn = None
        if self._since is not None:
            # Nothing told when the step began: not before the last step of another task ended.
            now = self._recorder.now()
            began = max(self._recorder.last_end, self._since)
            kind = LOOP_DELAY if self._future is None else UNKNOWN
            self._recorder.add(self._lane, kind, self._since, began)
            self._since = None
            self._recorder.add(self._lane, RUNNING, began, now)
            ended = now
        else:
            ended = self._recorder.leave(self._lane)
        self._future = None
        if self._task.done():
            self._recorder.close(self._lane)
        else:
            self.has_suspended(ended)

    def _end_wait(self, now: int) -> None:
        since, self._since = self._since, None
        if since is None:
            return
        coroutine = self._task.get_coro()
        kind, over, _ = self._explain(coroutine, self._future, self._callback, since, now)
        over = min(max(over, since), now)
        self._recorder.add(self._lane, kind, since, over)
        self._recorder.add(self._lane, LOOP_DELAY, over, now)
