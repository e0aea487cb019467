"""Stalls of an event loop: their cause, and the stacks that were taken meanwhile."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from colonnade._words.shown import shown
from colonnade.observe.visible import visible

if TYPE_CHECKING:
    from datetime import datetime

    from colonnade._core.watch import Evidence

    Cause = Literal["gc", "decode", "gil", "starved", "blocked", "code"]

# How a message names each cause.
_SAID = {
    "gc": "the garbage collector ran",
    "decode": "answers of the server were decoded",
    "gil": "another thread held the interpreter",
    "starved": "the loop's thread got no processor",
    "blocked": "a call blocked the loop's thread",
    "code": "code ran without giving way",
}
# The longest path of Linux, and a name.
_FRAME_MOST = 4500
# A stack whose thread was waited for as long as this was taken at the release of the interpreter.
_LATE_SECONDS = 0.02


class Frame(NamedTuple):
    """A frame of a stack."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return visible(f"{self.file}:{self.line} in {self.function}", _FRAME_MOST)


class Holder(NamedTuple):
    """A thread that probably held the interpreter."""

    name: str
    """The name of the thread."""
    frames: tuple[Frame, ...]
    """Its stack when the interpreter was released, the innermost frame last."""


@dataclass(frozen=True, slots=True)
class StackSample:
    """The stack of the loop's thread during a stall."""

    at: float
    """How long the loop had not answered, in seconds."""
    waited: float
    """How long the watchdog had waited for the interpreter, in seconds."""
    frames: tuple[Frame, ...]
    """The frames, the innermost last."""
    task: str | None
    """The name of the task that ran; None in a callback."""
    coroutine: str | None
    """The qualified name of the task's coroutine."""
    task_created: Frame | None
    """Where the task was created; known only in asyncio's debug mode."""

    @property
    def is_late(self) -> bool:
        """Whether the interpreter was held until the stack was taken.

        Code in C may hold it for a whole stall; the stack then shows the line of Python that
        called this code, at the moment of the release.
        """
        return self.waited >= _LATE_SECONDS


@dataclass(frozen=True, slots=True)
class Stall:
    """A time in which the event loop looked for no events. All durations are in seconds."""

    cause: Cause
    """`gc`: the garbage collector ran, in any thread. `decode`: the loop's thread decoded answers
    of the server. `gil`: another thread held the interpreter. `starved`: the loop's thread, or the
    whole process, got no processor. `blocked`: the loop's thread slept in a call. `code`: it
    computed."""
    duration: float
    """From the turn of the loop that stalled to the next: exact on asyncio; on other loops within
    one interval of the monitor."""
    started: datetime
    """When it began (UTC)."""
    stacks: tuple[StackSample, ...]
    """A stack of the first moments, and one taken at ten times the threshold; fewer if the stall
    was over before the interpreter could be had."""
    holder: Holder | None
    """For the cause `gil`, the thread that ran most meanwhile, if it is one of Python."""
    evidence: Evidence = field(repr=False)
    """The counters from which the cause was derived."""

    @property
    def task(self) -> str | None:
        """The name of the task that ran; None if it is unknown, or in a callback."""
        return self.stacks[0].task if self.stacks else None

    @property
    def place(self) -> Frame | None:
        """The innermost frame of the loop's thread, or of the thread that held the interpreter."""
        stacks = [sample.frames for sample in self.stacks]
        frames = next(iter([self.holder.frames] if self.holder else stacks), ())
        return frames[-1] if frames else None

    def __str__(self) -> str:
        parts = [f"the event loop stalled for {self.duration * 1e3:.0f} ms: {_SAID[self.cause]}"]
        if self.holder is not None:
            parts.append(f"thread {shown(self.holder.name)}")
        if self.place is not None:
            parts.append(str(self.place))
        if self.task is not None:
            parts.append(f"task {shown(self.task)}")
        return ", ".join(parts)

    def explain(self) -> str:
        """Return several lines: the stall, the counters, and each stack."""
        lines = [f"{self} (began {self.started:%H:%M:%S.%f} UTC)", f"  counted: {self.evidence}"]
        for sample in self.stacks:
            late = ", when the interpreter was released" if sample.is_late else ""
            lines.append(f"  stack after {sample.at * 1e3:.0f} ms{late}:")
            lines += [f"    {frame}" for frame in sample.frames]
            if sample.task is not None:
                created = "" if sample.task_created is None else f", created {sample.task_created}"
                coroutine = visible(sample.coroutine or "")
                lines.append(f"    task {shown(sample.task)} ({coroutine}){created}")
        if self.holder is not None:
            lines.append(
                f"  stack of thread {shown(self.holder.name)}, as it released the interpreter:"
            )
            lines += [f"    {frame}" for frame in self.holder.frames]
        return "\n".join(lines)
