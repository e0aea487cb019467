"""The types of the parameters of a text that has casts for some of them, as SQLAlchemy's may."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from colonnade._driver.sql.sql_text import uncast_parameters
from colonnade._pep249.parameters import adapted

__all__ = ["typed", "uncast"]

# Enough for a program's queries, few enough for generated SQL.
_KEPT_TEXTS = 512

uncast = functools.lru_cache(_KEPT_TEXTS)(uncast_parameters)
"""Return the numbers of the parameters that occur without a cast."""


def typed(sql: str, values: Sequence[Any]) -> tuple[Sequence[Any], list[int]]:
    """Return the values as the driver accepts them, and the OIDs to declare.

    A parameter without a cast declares the type of its value, as `adapted` does. The server infers
    the others, whose OID is 0. There are no OIDs if it infers all.
    """
    places = [number - 1 for number in uncast(sql) if number <= len(values)] if values else []
    if not places:
        return values, []
    taken, oids = adapted([values[place] for place in places])
    made, types = list(values), [0] * len(values)
    for place, value, oid in zip(places, taken, oids, strict=True):
        made[place], types[place] = value, oid
    return made, types
