"""The error of a handler as the reason of its jobs: the failure, its place and its causes."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from colonnade._words.shown import class_name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

# Each job of the batch keeps the reason, once for every attempt.
_CHARACTERS_MOST = 2_000
_TEXT_CHARACTERS_MOST = 500
_NOTE_CHARACTERS_MOST = 200
_NOTES_MOST = 3
_FRAMES_MOST = 3
_LEAVES_MOST = 5
_CAUSES_MOST = 3
_OWN_MODULES = "colonnade."
_BETWEEN = " | "


def headline_of(error: BaseException) -> str:
    """Return the class of an error and its text, or its `repr` if it has none.

    The error is a stranger's, and so is the code that makes its text: an error of that code is left
    out, because a failure that cannot be told must still count.
    """
    for text_of in (str, repr):
        try:
            text = f"{text_of(error)}"
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001, S112 - the next one may do
            continue
        return f"{class_name(error)}: {text[:_TEXT_CHARACTERS_MOST]}"
    return class_name(error)


def reason_of(error: BaseException) -> str:
    """Return the headline, the last frames of the traceback, notes, causes, and leaves of groups.

        ValueError: no such user | at app/mail.py:12 in send | at app/worker.py:40 in handle

    One line, in which the innermost frame is the first.
    """
    parts = [headline_of(error)]
    try:
        parts += _details(error)
    except KeyboardInterrupt:
        raise
    except BaseException as failure:  # noqa: BLE001 - a stranger's attributes: the headline does
        parts.append(f"its details cannot be read: {class_name(failure)}")
    reason = _BETWEEN.join(parts)
    return reason if len(reason) <= _CHARACTERS_MOST else f"{reason[: _CHARACTERS_MOST - 3]}..."


def _details(error: BaseException) -> Iterator[str]:
    yield from _places(error)
    leaves = list(_leaves(error))
    for leaf in leaves[:_LEAVES_MOST]:
        yield f"one is {headline_of(leaf)}"
        yield from _places(leaf)
        yield from _causes(leaf)
    if len(leaves) > _LEAVES_MOST:
        yield f"and {len(leaves) - _LEAVES_MOST} more"
    yield from _causes(error)


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """The errors of a group and of the groups within it, from left to right."""
    left = [error]
    while left:
        one = left.pop()
        if isinstance(one, BaseExceptionGroup):
            left += reversed(one.exceptions)
        elif one is not error:
            yield one


def _causes(error: BaseException) -> Iterator[str]:
    """The error from which, or during which, another was raised."""
    seen = {id(error)}
    for _ in range(_CAUSES_MOST):
        is_explicit = error.__cause__ is not None
        before = error.__cause__
        if before is None and not error.__suppress_context__:
            before = error.__context__
        if before is None or id(before) in seen:
            return
        seen.add(id(before))
        error = before
        yield f"{'caused by' if is_explicit else 'while handling'} {headline_of(error)}"
        yield from _places(error)


def _places(error: BaseException) -> Iterator[str]:
    """Where an error was raised: its last frames, the outermost one, and its notes."""
    frames = [
        step
        for step in _steps(error)
        if not str(step.tb_frame.f_globals.get("__name__")).startswith(_OWN_MODULES)
    ]
    shown = frames[: -_FRAMES_MOST - 1 : -1]
    if len(frames) > _FRAMES_MOST:
        shown.append(frames[0])
    for step in shown:
        code = step.tb_frame.f_code
        file = "/".join(PurePath(code.co_filename).parts[-2:])
        yield f"at {file}:{step.tb_lineno} in {code.co_qualname}"
    for note in getattr(error, "__notes__", ())[:_NOTES_MOST]:
        yield f"note: {note[:_NOTE_CHARACTERS_MOST]}"


def _steps(error: BaseException) -> Iterator[TracebackType]:
    step = error.__traceback__
    while step is not None:
        yield step
        step = step.tb_next
