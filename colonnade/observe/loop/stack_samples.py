"""Stacks of a loop, taken from another thread while it stalls."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from colonnade.observe.loop.stall import Frame, Holder

if TYPE_CHECKING:
    from traceback import FrameSummary
    from types import CodeType, FrameType

_ASYNCIO = Path(asyncio.__file__).parent
# More frames than this tell nothing new: recursion.
_MOST_FRAMES = 64


class LoopSample(NamedTuple):
    """A loop's stack and task, and the thread that probably holds the interpreter."""

    frames: tuple[Frame, ...]
    task: str | None
    coroutine: str | None
    task_created: Frame | None
    holder: Holder | None


def stack_base() -> CodeType | None:
    """The code that called the running task's coroutine: the loop's, or uvloop's caller.

    None outside of a task, and where its coroutine has no frame.
    """
    task = asyncio.current_task()
    frame = getattr(None if task is None else task.get_coro(), "cr_frame", None)
    return None if frame is None or frame.f_back is None else frame.f_back.f_code


def sample_of(
    loop: asyncio.AbstractEventLoop, thread_ident: int, base: CodeType | None
) -> LoopSample:
    """Look at a loop that runs in another thread. It is short: the interpreter is held.

    A stack that ends at the base shows no frame: native code of the loop runs, no Python.
    """
    stacks = sys._current_frames()  # noqa: SLF001 - the documented way to another thread's stack
    frame = stacks.get(thread_ident)
    if frame is not None and frame.f_code is base:
        frame = None
    # A task of a loop in another thread is found by naming the loop.
    task = asyncio.current_task(loop)
    return LoopSample(
        frames=_frames(frame),
        task=None if task is None else task.get_name(),
        coroutine=None if task is None else _coroutine_name(task),
        task_created=None if task is None else _creation_site(task),
        holder=None,
    )


def find_holder(native_id: int | None) -> Holder | None:
    """The thread of Python that has this native id, as it is now; None if there is none."""
    for thread in threading.enumerate():
        if native_id is not None and thread.native_id == native_id:
            stacks = sys._current_frames()  # noqa: SLF001 - see sample_of
            return Holder(thread.name, _frames(stacks.get(thread.ident or 0)))
    return None


def _frames(frame: FrameType | None) -> tuple[Frame, ...]:
    # The collector calls them in the line that it interrupts, and that line is wanted.
    callbacks = [getattr(callback, "__code__", None) for callback in gc.callbacks]
    frames: list[Frame] = []
    while frame is not None and len(frames) < _MOST_FRAMES:
        code = frame.f_code
        if code in callbacks:
            frames.clear()
        else:
            frames.append(Frame(code.co_filename, frame.f_lineno or 0, code.co_qualname))
        frame = frame.f_back
    return tuple(reversed(frames))


def _coroutine_name(task: asyncio.Task[Any]) -> str:
    coroutine = task.get_coro()
    return str(getattr(coroutine, "__qualname__", type(coroutine).__qualname__))


def _creation_site(task: asyncio.Task[Any]) -> Frame | None:
    """Where the task was created: asyncio keeps that in its debug mode."""
    stack = getattr(task, "_source_traceback", None)
    if not stack:
        return None
    last = next((place for place in reversed(stack) if not _is_asyncios(place)), stack[-1])
    return Frame(str(last.filename), int(last.lineno or 0), str(last.name))


def _is_asyncios(place: FrameSummary) -> bool:
    return Path(place.filename).parent == _ASYNCIO
