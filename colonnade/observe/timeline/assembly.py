"""Makes the lanes of a timeline from the record of a trace."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from colonnade.observe.timeline.kinds import KINDS
from colonnade.observe.timeline.lane import Interval, Lane
from colonnade.observe.timeline.queries import split_by_phases
from colonnade.observe.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from colonnade.observe.timeline.lane_table import LaneEntry, LaneTable
    from colonnade.observe.timeline.native import Recorder
    from colonnade.observe.timeline.queries import Query, Row

# Paths of files are long.
_PLACE_MOST = 1000


def assemble(
    recorder: Recorder, table: LaneTable, queries: Iterable[Query], start: int, end: int
) -> tuple[Lane, ...]:
    """The lanes between two moments, in nanoseconds, in the order in which their tasks were made.

    Times of the lanes count from `start`.
    """
    rows: defaultdict[int, list[Row]] = defaultdict(list)
    for lane, kind, began, ended in recorder.intervals():
        if began < end:
            rows[lane].append((kind, began, min(ended, end)))
    of_lane: defaultdict[int, list[Query]] = defaultdict(list)
    for query in queries:
        of_lane[query.lane].append(query)
    return tuple(
        _lane(
            entry,
            recorder,
            split_by_phases(sorted(rows[number], key=_began), of_lane[number]),
            start,
            end,
        )
        for number, entry in sorted(table.entries.items())
    )


def _began(row: Row) -> int:
    return row[1]


def _lane(entry: LaneEntry, recorder: Recorder, rows: list[Row], start: int, end: int) -> Lane:
    began, ended = recorder.life(entry.number) or (start, None)
    return Lane(
        number=entry.number,
        # A name may have characters that no file can hold, or that would drive a terminal.
        name=visible(entry.name),
        coroutine=visible(entry.coroutine),
        created_at=None if entry.created_at is None else visible(entry.created_at, _PLACE_MOST),
        start=(began - start) / 1e9,
        end=((end if ended is None else min(ended, end)) - start) / 1e9,
        is_done=ended is not None,
        intervals=tuple(
            Interval(KINDS[kind], (begin - start) / 1e9, (stop - start) / 1e9)
            for kind, begin, stop in rows
        ),
    )
