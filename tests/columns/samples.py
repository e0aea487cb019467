"""Values of the common types, and placements of NULLs among them."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime
from typing import Any

from samples import COMMON, Sample

# The ends of Python's calendar. As parameters they mean infinity, so they are samples only here.
_ENDS: dict[str, tuple[tuple[Any, str], ...]] = {
    "date": tuple((day, day.isoformat()) for day in (date.min, date(1969, 12, 31), date.max)),
    "timestamp": tuple(
        (moment, str(moment))
        for moment in (
            datetime.min,
            datetime(1999, 12, 31, 23, 59, 59, 999_999),
            datetime(9999, 12, 31),
        )
    ),
}

SAMPLES = tuple(
    replace(sample, objects=_ENDS.get(sample.sql_type, sample.objects))
    for sample in COMMON
    if sample.objects
)

# Placement of NULLs -> a literal's index per row, None for NULL.
PLACEMENTS: dict[str, tuple[int | None, ...]] = {
    "none": (0, 1, 2),
    "first": (None, 0, 1, 2),
    "last": (0, 1, 2, None),
    "between": (0, None, 1, 2),
    "all": (None, None),
    "no rows": (),
}


def query(sample: Sample, placement: str) -> str:
    """A query for the sample's values as column `v`, with NULLs where the placement has them."""
    rows = PLACEMENTS[placement] or (None,)
    literals = ("null" if row is None else f"'{sample.objects[row][1]}'" for row in rows)
    values = ", ".join(f"({number}, {literal})" for number, literal in enumerate(literals))
    where = "" if PLACEMENTS[placement] else " where false"
    return f"select v::{sample.sql_type} as v from (values {values}) t (i, v){where} order by i"


def expected(sample: Sample, placement: str) -> list[Any]:
    """The Python values of that query."""
    return [None if row is None else sample.objects[row][0] for row in PLACEMENTS[placement]]
