"""The lanes of a trace by number, and by task."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import weakref
from typing import TYPE_CHECKING, Any

from colonnade._words.shown import class_name

if TYPE_CHECKING:
    from types import FrameType

    from colonnade.observe.timeline.native import TracedCoroutine

# Frames of these packages pass a coroutine on: it was made by their caller.
_PASSING_ON = ("asyncio", "uvloop", "anyio", "colonnade")
_SITE_DEPTH_MAX = 30


class LaneEntry:
    """The facts about a lane besides its intervals; it does not keep its task alive."""

    __slots__ = ("_name", "_task", "coroutine", "number", "site", "traced")

    def __init__(self, number: int, coroutine: Any, site: tuple[str, int, str] | None) -> None:
        self.number = number
        self.coroutine = _name_of(coroutine)
        self.site = site
        self.traced: weakref.ref[TracedCoroutine] | None = None
        self._name: str | None = None
        self._task: weakref.ref[asyncio.Future[Any]] | None = None

    def bind(self, task: asyncio.Future[Any]) -> None:
        """Set the task of the lane."""
        self._task = weakref.ref(task)

    @property
    def is_bound(self) -> bool:
        """Whether the lane's task is known."""
        return self._task is not None

    def read_name(self) -> None:
        """Keep the task's name, which it may take along."""
        task = self._task() if self._task is not None else None
        if task is not None:
            get_name = getattr(task, "get_name", None)
            self._name = get_name() if get_name is not None else None

    @property
    def name(self) -> str:
        """The task's name; its coroutine's if the task has ended before it was asked."""
        self.read_name()
        return self._name or self.coroutine

    @property
    def created_at(self) -> str | None:
        """The place where the task was made."""
        return None if self.site is None else "{}:{} in {}".format(*self.site)


class LaneTable:
    """All lanes of a trace."""

    def __init__(self) -> None:
        self.entries: dict[int, LaneEntry] = {}
        self._numbers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def add(self, number: int, coroutine: Any, site: tuple[str, int, str] | None) -> LaneEntry:
        """Add a lane."""
        entry = self.entries[number] = LaneEntry(number, coroutine, site)
        return entry

    def bind(self, number: int, task: Any) -> None:
        """Set the task of a lane; the task shows its own coroutine, not the one around it."""
        entry = self.entries[number]
        if entry.is_bound:
            return
        entry.bind(task)
        self._numbers[task] = number
        traced = None if entry.traced is None else entry.traced()
        # A task that has ended at once has no coroutine any more; a foreign one may refuse.
        with contextlib.suppress(AttributeError, TypeError):
            if traced is not None and task.get_coro() is traced:
                task.get_coro = traced.traced_coroutine

    def opened(self, number: int) -> None:
        """Note that the task of a lane begins to run; only now it has its own name."""
        entry = self.entries.get(number)
        if entry is None:
            return
        task = None if entry.is_bound else asyncio.current_task()
        if task is not None:
            # It is eager: it runs before the one that makes it has it.
            self.bind(number, task)
        entry.read_name()

    def number_of(self, task: Any) -> int | None:
        """The lane of a task."""
        try:
            return self._numbers.get(task)
        except TypeError:
            # Not every awaitable can be a key.
            return None


def _name_of(coroutine: Any) -> str:
    """The qualified name of a coroutine; another library's may have none, or refuse to tell it."""
    with contextlib.suppress(Exception):
        name = getattr(coroutine, "__qualname__", None)
        if isinstance(name, str):
            return name
    return class_name(coroutine)


def creation_site() -> tuple[str, int, str] | None:
    """File, line and function that make a task, below the packages that pass coroutines on."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - a stack without its text, in 1 us
    for _ in range(_SITE_DEPTH_MAX):
        if frame is None:
            return None
        module = frame.f_globals.get("__name__")
        if not isinstance(module, str) or module.partition(".")[0] not in _PASSING_ON:
            code = frame.f_code
            return code.co_filename, frame.f_lineno, getattr(code, "co_qualname", code.co_name)
        frame = frame.f_back
    return None
