"""The task factory of a trace: it makes the tasks that the loop would make, and records each."""

from __future__ import annotations

import asyncio
import contextlib
import warnings
import weakref
from typing import TYPE_CHECKING, Any

from colonnade.observe.timeline.lane_table import creation_site

if TYPE_CHECKING:
    from collections.abc import Callable

    from colonnade.observe.timeline.lane_table import LaneTable
    from colonnade.observe.timeline.native import Recorder


class TracedTasks:
    """Wraps the coroutine of each new task of a loop, and leaves the making to the former factory.

    The task looks as it would without: also `task.get_coro()` returns its own coroutine.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, recorder: Recorder, table: LaneTable
    ) -> None:
        self._loop = loop
        self._recorder = recorder
        self._table = table
        self._former: Callable[..., Any] | None = None
        # One object, to be recognized by its identity.
        self._factory = self._make

    def install(self) -> None:
        """Become the loop's task factory."""
        self._former = self._loop.get_task_factory()
        self._loop.set_task_factory(self._factory)

    def remove(self) -> None:
        """Put the former factory back; warn if another one has taken the place since."""
        if self._loop.get_task_factory() is self._factory:
            self._loop.set_task_factory(self._former)
            return
        warnings.warn(
            "the loop's task factory was replaced during observe.trace(): the new one stays, and"
            " the one from before the trace is not put back",
            RuntimeWarning,
            stacklevel=4,
        )

    def _make(self, loop: asyncio.AbstractEventLoop, coro: Any, **options: Any) -> Any:
        recorder = self._recorder
        if not recorder.is_on or recorder.is_full or not asyncio.iscoroutine(coro):
            return self._make_untraced(loop, coro, options)
        traced = recorder.traced(coro)
        number = traced.lane
        entry = self._table.add(number, coro, creation_site())
        entry.traced = weakref.ref(traced)
        was_making = recorder.set_making(True)
        try:
            task = self._make_untraced(loop, traced, options)
        except BaseException:
            recorder.close(number)
            raise
        finally:
            recorder.set_making(was_making)
        self._table.bind(number, task)
        # A task that has ended at once has no coroutine any more; a foreign one may refuse.
        with contextlib.suppress(AttributeError, TypeError):
            if task.get_coro() is traced:
                task.get_coro = traced.traced_coroutine
        return task

    def _make_untraced(
        self, loop: asyncio.AbstractEventLoop, coro: Any, options: dict[str, Any]
    ) -> Any:
        if self._former is None:
            return asyncio.Task(coro, loop=loop, **options)
        return self._former(loop, coro, **options)
