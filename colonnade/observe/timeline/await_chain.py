"""The chain of awaits of a suspended coroutine, from the outermost frame to the innermost."""

from __future__ import annotations

import gc
import inspect
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

# An await chain is as deep as the program's calls; a broken object must not hold the loop.
DEPTH_MAX = 200
_MISSING = object()


class Suspended(NamedTuple):
    """One function that awaits: its module, its qualified name, and its frame if it has one."""

    module: str
    name: str
    frame: FrameType | None


def suspended_functions(awaitable: object) -> Iterator[Suspended]:
    """The functions that await each other, the outermost first."""
    for _ in range(DEPTH_MAX):
        if awaitable is None:
            return
        frame = _frame_of(awaitable)
        if frame is not None:
            module = _text(frame.f_globals.get("__name__")) or _module_of(awaitable)
            name = _text(attribute_of(awaitable, "__qualname__")) or frame.f_code.co_name
            yield Suspended(module, name, frame)
        elif attribute_of(awaitable, "cr_await", _MISSING) is not _MISSING:
            # A coroutine of compiled code, such as uvloop's.
            name = _text(attribute_of(awaitable, "__qualname__"))
            yield Suspended(_module_of(awaitable), name, None)
        awaitable = _awaited_by(awaitable)


def attribute_of(stranger: object, name: str, missing: object = None) -> Any:
    """An attribute of a program's object, which may lack it, or refuse by any error."""
    try:
        return getattr(stranger, name, missing)
    except Exception:  # noqa: BLE001 - a proxy outside of its context, for example
        return missing


def _module_of(awaitable: object) -> str:
    # Frames of compiled code have no globals.
    return _text(attribute_of(awaitable, "__module__"))


def _text(name: object) -> str:
    # A program may set any object as a name.
    return name if isinstance(name, str) else ""


def _frame_of(awaitable: object) -> FrameType | None:
    for attribute in ("cr_frame", "gi_frame", "ag_frame"):
        frame = attribute_of(awaitable, attribute)
        if frame is not None:
            return frame if inspect.isframe(frame) else None
    return None


def _awaited_by(awaitable: object) -> Any:
    for attribute in ("cr_await", "gi_yieldfrom", "ag_await"):
        following = attribute_of(awaitable, attribute)
        if following is not None:
            return following
    if type(awaitable).__name__ in _STEPS:
        # Python does not name the object that they step, but the collector knows it.
        return next(filter(_is_suspendable, gc.get_referents(awaitable)), None)
    return None


_STEPS = {
    *("async_generator_asend", "async_generator_athrow", "coroutine_wrapper"),
    "anext_awaitable",
}


def _is_suspendable(candidate: object) -> bool:
    return (
        attribute_of(candidate, "cr_await", _MISSING) is not _MISSING
        or inspect.isasyncgen(candidate)
        or inspect.isgenerator(candidate)
        or type(candidate).__name__ in _STEPS
    )
