"""The intervals of a timeline as `Columns`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade.columns import Columns

if TYPE_CHECKING:
    from collections.abc import Iterable

    from colonnade.observe.timeline.lane import Lane


def interval_columns(lanes: Iterable[Lane]) -> Columns:
    """One row per interval, lane after lane."""
    from colonnade.observe.timeline.native import batch_of_lists

    rows = [(lane, interval) for lane in lanes for interval in lane.intervals]
    return Columns(
        batch_of_lists(
            [
                ("lane", "int8", [lane.number for lane, _ in rows]),
                ("task", "text", [lane.name for lane, _ in rows]),
                ("coroutine", "text", [lane.coroutine for lane, _ in rows]),
                ("created_at", "text", [lane.created_at for lane, _ in rows]),
                ("kind", "text", [interval.kind for _, interval in rows]),
                ("start_s", "float8", [interval.start for _, interval in rows]),
                ("end_s", "float8", [interval.end for _, interval in rows]),
            ]
        )
    )
