"""A lane: one task, the place where it was made, and its intervals."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Interval:
    """A part of a lane's time, in seconds since the trace began.

    `kind` is "running", or what the task waited for: "pool", "prepare", "send", "server",
    "transfer", "decode", "loop_delay", "sleep", "lock", "task", "thread", "network", "unknown".
    """

    kind: str
    start: float
    end: float

    @property
    def duration(self) -> float:
        """Its length in seconds."""
        return self.end - self.start


@dataclasses.dataclass(frozen=True)
class Lane:
    """One task of a timeline; times are in seconds since the trace began.

    `name` is the task's, `coroutine` the qualified name of its function, and `created_at` the place
    where it was made ("file:line in function"); None if it was there before the trace.
    """

    number: int
    name: str
    coroutine: str
    created_at: str | None
    start: float
    end: float
    is_done: bool
    """Whether the task ended during the trace."""
    intervals: tuple[Interval, ...]

    @property
    def duration(self) -> float:
        """Its length in seconds."""
        return self.end - self.start
