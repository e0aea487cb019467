"""Where the time of a timeline's tasks went, in numbers."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from typing import TYPE_CHECKING

from colonnade._words.shown import shown
from colonnade.observe.timeline.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from colonnade.observe.timeline.lane import Lane

# Neither computing nor waiting for something outside.
_NOT_WAITS = {"running", "loop_delay", "unknown"}
_LINES_MAX = 20


@dataclasses.dataclass(frozen=True)
class TaskSummary:
    """Where the time of one task went; `seconds` has each kind that it spent time in."""

    name: str
    coroutine: str
    duration: float
    seconds: dict[str, float]

    @property
    def running(self) -> float:
        """Seconds in which the task ran: it computed, or blocked the loop in a call."""
        return self.seconds.get("running", 0.0)

    @property
    def waiting(self) -> float:
        """Seconds in which it waited for something that is known: input, output, other tasks."""
        return sum(spent for kind, spent in self.seconds.items() if kind not in _NOT_WAITS)

    @property
    def loop_delay(self) -> float:
        """Seconds in which it was ready and the loop was busy."""
        return self.seconds.get("loop_delay", 0.0)

    @property
    def unknown(self) -> float:
        """Seconds for which nothing is known."""
        return self.seconds.get("unknown", 0.0)

    @property
    def named(self) -> float:
        """The share of the duration, from 0 to 1, whose kind is known."""
        return 1.0 - self.unknown / self.duration if self.duration else 1.0

    def percent(self, kind: str) -> float:
        """The per cent of the duration that went to a kind.

        Raises KeyError if there is no such kind.
        """
        if kind not in KINDS:
            raise KeyError(f"{shown(kind)} is none of the kinds {', '.join(KINDS)}")
        return 100.0 * self.seconds.get(kind, 0.0) / self.duration if self.duration else 0.0


@dataclasses.dataclass(frozen=True)
class TimelineSummary:
    """Where the time of all tasks went: `total` adds up the `tasks`, in the order of the lanes.

    `wall` is the length of the trace in seconds, `dropped` the number of intervals and queries that
    were not kept; their time is unknown. `str()` of it is a table.
    """

    wall: float
    total: TaskSummary
    tasks: tuple[TaskSummary, ...]
    dropped: int

    @property
    def utilization(self) -> float:
        """The share of the trace, from 0 to 1, in which one of the tasks ran."""
        return self.total.running / self.wall if self.wall else 0.0

    def __repr__(self) -> str:
        total = self.total
        return (
            f"<TimelineSummary: {len(self.tasks)} tasks in {self.wall * 1e3:.1f} ms;"
            f" running {total.percent('running'):.1f} %,"
            f" waiting {_share(total.waiting, total.duration):.1f} %,"
            f" loop delay {total.percent('loop_delay'):.1f} %,"
            f" unknown {total.percent('unknown'):.1f} %>"
        )

    def __str__(self) -> str:
        kinds = [kind for kind in KINDS if self.total.seconds.get(kind)]
        head = ["task", "ms", *(f"{kind.replace('_', ' ')} %" for kind in kinds)]
        longest = sorted(self.tasks, key=lambda task: -task.duration)[:_LINES_MAX]
        shown = [task for task in self.tasks if task in longest][:_LINES_MAX]
        lines = [head, *(_line(task, kinds) for task in shown), _line(self.total, kinds)]
        text = _aligned(lines)
        if len(shown) < len(self.tasks):
            text += f"\nThe {len(shown)} longest of {len(self.tasks)} tasks; the total is of all."
        if self.dropped:
            text += f"\n{self.dropped} intervals beyond the limit were not kept: raise limit=."
        return text


def summarize(lanes: Iterable[Lane], wall: float, dropped: int) -> TimelineSummary:
    """Add up the intervals of the lanes."""
    tasks = tuple(_task_summary(lane) for lane in lanes)
    seconds: defaultdict[str, float] = defaultdict(float)
    for task in tasks:
        for kind, spent in task.seconds.items():
            seconds[kind] += spent
    duration = sum(task.duration for task in tasks)
    total = TaskSummary("all tasks", "", duration, _in_order(seconds))
    return TimelineSummary(wall, total, tasks, dropped)


def _task_summary(lane: Lane) -> TaskSummary:
    seconds: defaultdict[str, float] = defaultdict(float)
    for interval in lane.intervals:
        seconds[interval.kind] += interval.duration
    # Where intervals were dropped, and while a wait is under way, nothing is known.
    rest = lane.duration - sum(seconds.values())
    if rest > 0:
        seconds["unknown"] += rest
    return TaskSummary(lane.name, lane.coroutine, lane.duration, _in_order(seconds))


def _in_order(seconds: defaultdict[str, float]) -> dict[str, float]:
    return {kind: seconds[kind] for kind in KINDS if seconds[kind]}


def _share(part: float, whole: float) -> float:
    return 100.0 * part / whole if whole else 0.0


def _line(task: TaskSummary, kinds: Sequence[str]) -> list[str]:
    name = task.name
    if task.coroutine and task.coroutine != name:
        name = f"{name} ({task.coroutine})"
    return [name, f"{task.duration * 1e3:.1f}", *(f"{task.percent(kind):.1f}" for kind in kinds)]


def _aligned(lines: list[list[str]]) -> str:
    widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
    return "\n".join(
        "  ".join(
            [line[0].ljust(widths[0])]
            + [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        )
        for line in lines
    )
