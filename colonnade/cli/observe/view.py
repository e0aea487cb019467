"""How the report of a process looks: as a picture of the terminal's size, or as plain text."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import RenderableType

    from colonnade.observe.status.status import Figures, Loop, PastStall, Status

# A report that is older has missed several intervals.
_OLD_INTERVALS = 3
_OLD_SECONDS = 3.0
# As many reports as the bar has characters, so that both have one width.
_HISTORY = _BAR_WIDTH = 30
_UPPER_LINES = 12
_TENTHS_BELOW_MS = 10
_BLOCKS = " ▁▂▃▄▅▆▇█"
# The folders of a place tell less than its file.
_PLACE_PARTS = 2
_NOT_STARTED = "the monitor was not started yet"
_BUSY, _FULL = 0.5, 0.8
_LATE_S, _VERY_LATE_S = 0.02, 0.1


@dataclass
class History:
    """The last values of one process, the newest last."""

    utilization: deque[float] = field(default_factory=lambda: deque(maxlen=_HISTORY))
    lag: deque[float] = field(default_factory=lambda: deque(maxlen=_HISTORY))
    _walls: float = -1.0

    def add(self, loop: Loop) -> None:
        """Add the values of a report, once."""
        if loop.whole.wall != self._walls:
            self._walls = loop.whole.wall
            self.utilization.append(loop.recent.utilization)
            self.lag.append(loop.recent.lag_max)


def is_old(status: Status) -> bool:
    """Whether the process has stopped reporting."""
    return status.age > max(_OLD_SECONDS, _OLD_INTERVALS * status.interval)


def old_text(status: Status) -> str:
    """Say so."""
    if math.isinf(status.age):
        return "the report was written on another machine, or before this one last started"
    return f"no report for {status.age:.0f} s: the process is stopped or gone"


def stalled_text(loop: Loop) -> str:
    """Say since when the loop hangs."""
    return f"the loop has not answered for {seconds_text(loop.stalled)}"


def seconds_text(seconds: float) -> str:
    """Write a duration with two or three digits."""
    if seconds >= 1:
        return f"{seconds:.1f} s"
    milliseconds = seconds * 1e3
    return (
        f"{milliseconds:.0f} ms" if milliseconds >= _TENTHS_BELOW_MS else f"{milliseconds:.1f} ms"
    )


def whole_view(status: Status, history: History, height: int) -> Group:
    """The picture of one process, for a terminal of this height."""
    parts: list[RenderableType] = [_title(status)]
    loop = status.loop
    if is_old(status):
        parts.append(Text(old_text(status), "bold red"))
    elif loop is not None and loop.stalled:
        parts.append(Text(stalled_text(loop), "bold red"))
    if loop is None:
        parts.append(Text(_NOT_STARTED, "yellow"))
    else:
        parts += [Text(), _loop_table(loop, history)]
        parts += [Text(), Text(_stalls_line(loop), "bold", no_wrap=True, overflow="ellipsis")]
    # A third of the space below the lines above; the pools and statements need the rest.
    newest = list(reversed(status.stalls))[: max(2, (height - _UPPER_LINES) // 3)]
    if newest:
        parts.append(_stall_table(newest))
    if status.pools:
        parts += [Text(), _pool_table(status)]
    if status.statements:
        parts += [Text(), _statement_table(status)]
    return Group(*parts)


def several_view(statuses: Iterable[Status]) -> Group:
    """A line for each of several processes."""
    hint = Text("colonnade observe top PID shows one of them", "dim")
    return Group(several_table(statuses), Text(), hint)


def several_table(statuses: Iterable[Status]) -> Table:
    """A table of several processes."""
    table = _table("PID", "program", "utilization", "lag p99", "lag max", "tasks", "stalls", "")
    for status in statuses:
        loop = status.loop
        known = [""] * 5
        if loop is not None:
            recent = loop.recent
            known = [
                f"{recent.utilization:.0%}",
                seconds_text(recent.lag_p99),
                seconds_text(recent.lag_max),
                str(loop.tasks),
                str(sum(loop.whole.stalls.values())),
            ]
        note = old_text(status) if is_old(status) else ""
        if not note and loop is not None and loop.stalled:
            note = stalled_text(loop)
        table.add_row(*(Text(word) for word in (str(status.pid), status.program, *known, note)))
    return table


def plain_lines(status: Status) -> list[str]:
    """The report as lines of text, for a pipe."""
    lines = [_title(status).plain]
    loop = status.loop
    if is_old(status):
        lines.append(old_text(status))
    elif loop is not None and loop.stalled:
        lines.append(stalled_text(loop))
    if loop is None:
        lines.append(_NOT_STARTED)
    else:
        lines += [_plain_figures("now", loop.recent), _plain_figures("whole", loop.whole)]
        lines += [f"tasks: {loop.tasks}", _stalls_line(loop)]
    lines += [f"stall: {_stall_line(stall)}" for stall in reversed(status.stalls)]
    lines += [
        f"pool {pool.name}: {pool.busy} busy, {pool.idle} idle of {pool.max_size}, "
        f"{pool.waiting} waiting, longest wait {seconds_text(pool.wait_max)}, "
        f"{pool.given_up} given up, {pool.refused} refused"
        for pool in status.pools
    ]
    lines += [
        f"statement: {one.summary}: {_counted(one.count, 'time')}, "
        f"{_counted(one.errors, 'error')}, "
        f"longest {seconds_text(one.max)}, total {seconds_text(one.total)}"
        for one in status.statements
    ]
    return lines


def _counted(count: int, name: str) -> str:
    return f"{count} {name}" if count == 1 else f"{count} {name}s"


def _title(status: Status) -> Text:
    return Text.assemble(
        (status.program, "bold"),
        f"  process {status.pid}  Python {status.python}",
        no_wrap=True,
        overflow="ellipsis",
    )


def _loop_table(loop: Loop, history: History) -> Table:
    table = Table.grid(padding=(0, 2))
    # In a narrow terminal, the last column gives way: the newest values end the second.
    for width in (len("utilization"), _BAR_WIDTH, len("1.0 ms"), None):
        table.add_column(no_wrap=True, overflow="ellipsis", min_width=width)
    recent, whole = loop.recent, loop.whole
    filled = round(recent.utilization * _BAR_WIDTH)
    bar = Text("█" * filled, _color(recent.utilization, _BUSY, _FULL))
    bar.append("░" * (_BAR_WIDTH - filled), "dim")
    table.add_row(
        "utilization", bar, f"{recent.utilization:.0%}", f"{whole.utilization:.0%} in all"
    )
    table.add_row("", Text(spark(history.utilization, 1.0)), "", "")
    lag = f"p50 {seconds_text(recent.lag_p50)}  p99 {seconds_text(recent.lag_p99)}"
    table.add_row(
        "lag",
        lag,
        Text(seconds_text(recent.lag_max), _color(recent.lag_max, _LATE_S, _VERY_LATE_S)),
        f"p99 {seconds_text(whole.lag_p99)}, max {seconds_text(whole.lag_max)} in all",
    )
    table.add_row("", Text(spark(history.lag, max([_VERY_LATE_S, *history.lag]))), "", "")
    table.add_row("tasks", str(loop.tasks), "", f"watched for {seconds_text(whole.wall)}")
    table.add_row(
        "gc",
        f"{recent.gc_pauses} pauses, {seconds_text(recent.gc_time)}",
        seconds_text(recent.gc_longest),
        f"{whole.gc_pauses} pauses, longest {seconds_text(whole.gc_longest)} in all",
    )
    return table


def _stall_table(stalls: Iterable[PastStall]) -> Table:
    table = _table("began (UTC)", "stalled", "cause", "place", "task")
    for stall in stalls:
        began = stall.started.partition("T")[2].partition("+")[0]
        words = (seconds_text(stall.duration), stall.cause, _short(stall.place), stall.task or "")
        table.add_row(*(Text(word) for word in (began, *words)))
    return table


def _pool_table(status: Status) -> Table:
    table = _table(
        "pool", "busy", "idle", "most", "waiting", "acquired", "longest wait", "given up", "refused"
    )
    for pool in status.pools:
        numbers = (pool.busy, pool.idle, pool.max_size, pool.waiting, pool.acquired)
        ends = (str(pool.given_up), str(pool.refused))
        words = (*map(str, numbers), seconds_text(pool.wait_max), *ends)
        table.add_row(*(Text(word) for word in (pool.name, *words)))
    return table


def _statement_table(status: Status) -> Table:
    table = _table("slowest statements", "longest", "mean", "total", "times", "errors")
    for one in status.statements:
        times = (one.max, one.total / max(1, one.count), one.total)
        words = (*map(seconds_text, times), str(one.count), str(one.errors))
        table.add_row(*(Text(word) for word in (one.summary, *words)))
    return table


def _table(*names: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in names:
        # Text has no markup: what a report says is shown as it is.
        table.add_column(Text(name), overflow="ellipsis", no_wrap=True)
    return table


def _stalls_line(loop: Loop) -> str:
    whole = loop.whole
    told = [
        f"{count} {cause} ({seconds_text(whole.stall_time.get(cause, 0.0))})"
        for cause, count in whole.stalls.items()
        if count
    ]
    return f"stalls: {', '.join(told) or 'none'}"


def _stall_line(stall: PastStall) -> str:
    task = "" if stall.task is None else f", task {stall.task}"
    place = f", {stall.place}" if stall.place else ""
    return f"{stall.started}, {seconds_text(stall.duration)}, {stall.cause}{place}{task}"


def _plain_figures(name: str, figures: Figures) -> str:
    return (
        f"{name}: {figures.wall:.1f} s, utilization {figures.utilization:.0%}, "
        f"lag p50 {seconds_text(figures.lag_p50)}, p99 {seconds_text(figures.lag_p99)}, "
        f"max {seconds_text(figures.lag_max)}, gc {figures.gc_pauses} pauses, "
        f"longest {seconds_text(figures.gc_longest)}"
    )


def _short(place: str | None) -> str:
    if place is None:
        return ""
    file, colon, rest = place.partition(":")
    return "/".join(PurePath(file).parts[-_PLACE_PARTS:]) + colon + rest


def spark(values: Iterable[float], most: float) -> str:
    """Draw each value as a block, whose height is its part of `most`."""
    steps = len(_BLOCKS) - 1
    return "".join(_BLOCKS[min(steps, math.ceil(value / most * steps))] for value in values)


def _color(value: float, middle: float, high: float) -> str:
    return "green" if value < middle else "yellow" if value < high else "red"
