"""The figures as a table in a terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from benches.measure.summary import Statistic, Summaries, Summary

MEGABYTE = 1_000_000
#: The width of a table written to a file or a pipe.
_PLAIN_WIDTH = 132
_ABSENT = "-"
_DIGITS_MAX = 4
_RATIOS_MAX = 9


def output() -> Console:
    """Open standard output for tables: a pipe gets plain text of a fixed width."""
    out = Console()
    return out if out.is_terminal else Console(width=_PLAIN_WIDTH)


def cost_table(title: str, summaries: Summaries, *, base: str | None) -> Table:
    """Tabulate each peer's cost: medians with minima, and multiples of the peer `base`."""
    yardstick = summaries.base(base) if base is not None else None
    table = Table(title=title, title_justify="left", title_style="bold", caption_justify="left")
    table.add_column("peer", no_wrap=True)
    table.add_column("wall ms\n(min)", justify="right")
    table.add_column("CPU ms\n(min)", justify="right")
    if yardstick is not None:
        table.caption = f"ratio: to {yardstick.peer.title}, medians"
        table.add_column("wall\nratio", justify="right")
        table.add_column("CPU\nratio", justify="right")
    table.add_column("memory\nMB", justify="right")
    table.add_column("memory ÷\nresult", justify="right")
    table.add_column("loop hold\nms", justify="right")
    table.add_column("of it CPU\nms", justify="right")
    for summary in summaries:
        name = summary.peer.title
        if not summary.runs:
            table.add_row(name, "failed")
            continue
        cells = [_with_minimum(summary, "wall_s"), _with_minimum(summary, "cpu_s")]
        if yardstick is not None:
            cells += [_times(summary.ratio(yardstick, name)) for name in ("wall_s", "cpu_s")]
        cells += [
            _scaled(summary, "peak_memory_bytes", 1 / MEGABYTE),
            _times(summary.figure("memory_ratio")),
            _scaled(summary, "loop_gap_s", 1000, digits=1),
            _scaled(summary, "loop_burst_s", 1000, digits=1),
        ]
        table.add_row(name, *cells)
    return table


def ratio_table(title: str, summaries: Summaries, figure: str, statistic: Statistic) -> Table:
    """Tabulate one figure of every peer as a multiple of every other's.

    If that is too wide, only the floors and Colonnade's own peers have columns.
    """
    ran = list(enumerate(_ran(summaries), 1))
    against = ran
    if len(ran) > _RATIOS_MAX:
        against = [each for each in ran if each[1].peer.is_yardstick]
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("peer", no_wrap=True)
    for number, _ in against:
        table.add_column(f"÷ {number}", justify="right")
    for number, summary in ran:
        ratios = (_times(summary.ratio(other, figure, statistic)) for _, other in against)
        table.add_row(f"{number} {summary.peer.title}", *ratios)
    return table


def _ran(summaries: Summaries) -> list[Summary]:
    return [summary for summary in summaries if summary.runs]


def _with_minimum(summary: Summary, name: str) -> str:
    median, minimum = summary.figure(name), summary.figure(name, "minimum")
    if median is None or minimum is None:
        return _ABSENT
    return f"{median * 1000:,.0f} ({minimum * 1000:,.0f})"


def _scaled(summary: Summary, name: str, factor: float, *, digits: int = 0) -> str:
    value = summary.figure(name)
    return _ABSENT if value is None else f"{value * factor:,.{digits}f}"


def _times(value: float | None) -> str:
    if value is None:
        return _ABSENT
    # Three significant digits, without an exponent.
    digits = max(0, 2 - math.floor(math.log10(value))) if value > 0 else 2
    return f"{value:,.{min(digits, _DIGITS_MAX)}f}"
