"""The task factory of a trace: it makes the tasks that the loop would make, and records each."""

from __future__ import annotations

import asyncio
import functools
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
        self._factory: Callable[..., Any] = self._make
        self._eager_constructor: Any = None

    def install(self) -> None:
        """Become the loop's task factory."""
        self._former = self._loop.get_task_factory()
        self._eager_constructor = _eager_constructor(self._former)
        if self._eager_constructor is not None:
            # Others (anyio) recognize eager factories, and take the constructor out of them.
            self._factory = vars(asyncio)["create_eager_task_factory"](self._construct)
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
        if self._former is None:
            return self._made(asyncio.Task, coro, {"loop": loop, **options})
        return self._made(functools.partial(self._former, loop), coro, options)

    def _construct(self, coro: Any, **options: Any) -> Any:
        return self._made(self._eager_constructor, coro, options)

    def _made(self, make: Any, coro: Any, options: dict[str, Any]) -> Any:
        recorder = self._recorder
        if not recorder.is_on or recorder.is_full or not asyncio.iscoroutine(coro):
            return make(coro, **options)
        traced = recorder.traced(coro)
        number = traced.lane
        entry = self._table.add(number, coro, creation_site())
        entry.traced = weakref.ref(traced)
        was_making = recorder.set_making(True)
        try:
            task = make(traced, **options)
        except BaseException:
            recorder.close(number)
            raise
        finally:
            recorder.set_making(was_making)
        self._table.bind(number, task)
        return task


def _eager_constructor(factory: Any) -> Any:
    """The constructor within a factory of `asyncio.create_eager_task_factory`; else None."""
    eager = vars(asyncio).get("eager_task_factory")
    if eager is None or getattr(factory, "__code__", None) is not eager.__code__:
        return None
    return factory.__closure__[0].cell_contents
