"""How the numbers of queues look."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from colonnade.cli.observe.view import seconds_text, spark
from colonnade.observe.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from colonnade.jobs.sync import QueueStats

_HISTORY = 30
# The change per second is taken over this many counts, the last ones.
_RECENT = 5
_QUEUE, _LAYOUT, _CHANGE, _COURSE = "queue", "layout", "change", ""
_STATES = ("total", "ready", "delayed", "leased", "dead")
_HEADS = (_QUEUE, _LAYOUT, *_STATES, "oldest", _CHANGE, _COURSE)
# In this order, where there is no room.
_LEFT_OUT = (_COURSE, _LAYOUT, _CHANGE, "total", "delayed", "leased")
_NAME_LEAST, _GAP = 8, 2
_OLD_S, _VERY_OLD_S = 10.0, 60.0
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400


@dataclass(frozen=True)
class Line:
    """A queue and its numbers; None for a queue that may not be read."""

    name: str
    layout: str
    stats: QueueStats | None


class Histories:
    """The last lengths of each queue, and when they were counted."""

    def __init__(self) -> None:
        self._counts: defaultdict[str, deque[tuple[float, int]]] = defaultdict(
            lambda: deque(maxlen=_HISTORY)
        )

    def add(self, lines: Iterable[Line], now: float) -> None:
        """Add the numbers that were counted now."""
        for line in lines:
            if line.stats is not None:
                self._counts[line.name].append((now, line.stats.total))

    def change(self, name: str) -> str:
        """By how much the queue has lately grown or shrunk each second."""
        recent = list(self._counts[name])[-_RECENT:]
        if len(recent) <= 1:
            return ""
        (since, before), (until, now) = recent[0], recent[-1]
        return f"{(now - before) / (until - since):+,.0f}/s"

    def course(self, name: str) -> str:
        """The lengths as a row of blocks, the newest last."""
        totals = [total for _, total in self._counts[name]]
        return spark(totals, max([1, *totals]))


def table_of(lines: Sequence[Line], histories: Histories | None, width: int) -> Table:
    """A table of queues; with histories, their course too.

    Where the width does not suffice, whole columns are left out, and then names are cut: of a
    number, no digit is ever missing.
    """
    rows = [_cells(line, histories) for line in lines]
    needs = {
        head: max([len(head), *(row[head].cell_len for row in rows if head in row)])
        for head in _HEADS
        if histories is not None or head not in {_CHANGE, _COURSE}
    }
    needs[_QUEUE] = min(needs[_QUEUE], _NAME_LEAST)
    for head in _LEFT_OUT:
        if sum(needs.values()) + _GAP * len(needs) > width:
            needs.pop(head, None)
    room = width - sum(needs.values()) - _GAP * len(needs) + needs[_QUEUE]
    table = Table(box=None, pad_edge=False, header_style="dim")
    for head, need in needs.items():
        # Text has no markup: a name is shown as it is.
        table.add_column(
            Text(head),
            justify="left" if head in {_QUEUE, _LAYOUT, _COURSE} else "right",
            overflow="ellipsis",
            no_wrap=True,
            min_width=need,
            max_width=max(room, need) if head == _QUEUE else None,
        )
    for row in rows:
        table.add_row(*(row.get(head, Text()) for head in needs))
    return table


def _cells(line: Line, histories: Histories | None) -> dict[str, Text]:
    stats = line.stats
    if stats is None:
        return {_QUEUE: Text(f"{visible(line.name)}: no right to read it", "yellow")}
    cells = {
        _QUEUE: Text(visible(line.name)),
        _LAYOUT: Text(line.layout, "dim"),
        "total": Text(f"{stats.total:,}"),
        "ready": Text(f"{stats.ready:,}"),
        "delayed": Text(f"{stats.delayed:,}"),
        "leased": Text(f"{stats.leased:,}"),
        "dead": Text(f"{stats.dead:,}", "red" if stats.dead else ""),
        "oldest": Text(age_text(stats.oldest_ready_s), _age_color(stats.oldest_ready_s)),
    }
    if histories is not None:
        cells[_CHANGE] = Text(histories.change(line.name))
        cells[_COURSE] = Text(histories.course(line.name))
    return cells


def age_text(seconds: float) -> str:
    """Write an age with its two largest units."""
    if seconds < _MINUTE_S:
        return seconds_text(seconds)
    if seconds < _HOUR_S:
        return f"{seconds // _MINUTE_S:.0f} min {seconds % _MINUTE_S:.0f} s"
    if seconds < _DAY_S:
        return f"{seconds // _HOUR_S:.0f} h {seconds % _HOUR_S // _MINUTE_S:.0f} min"
    return f"{seconds // _DAY_S:.0f} d {seconds % _DAY_S // _HOUR_S:.0f} h"


def _age_color(seconds: float) -> str:
    return "" if seconds < _OLD_S else "yellow" if seconds < _VERY_OLD_S else "red"
