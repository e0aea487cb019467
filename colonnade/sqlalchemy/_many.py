"""Many sets of parameters for one statement, whose values may have different classes.

A value whose class does not fit its parameter's type, such as a number for a text column, declares
its own type, so that the server casts it. All sets of a series declare the same types; if the
values of a column have several types, the sets are split into several series.
"""

from __future__ import annotations

import datetime as dt
import decimal
import itertools
import uuid
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from colonnade._pep249.parameters import INFERRED, adapted, adapted_many
from colonnade._words.type_facts import FLOATS, INTEGERS, UNKNOWN
from colonnade.types import TextValue

_NOTHING = type(None)
# The classes that the driver encodes for each type. Types that are not listed are not checked.
_OWN: dict[str, frozenset[type]] = {
    **dict.fromkeys(("text", "varchar", "bpchar", "name", "citext", "xml"), frozenset()),
    "bool": frozenset({bool}),
    **dict.fromkeys((*INTEGERS, "oid"), frozenset({int, bool})),
    **dict.fromkeys(FLOATS, frozenset({float, int})),
    "numeric": frozenset({decimal.Decimal, int, float}),
    "date": frozenset({dt.date}),
    **dict.fromkeys(("time", "timetz"), frozenset({dt.time})),
    "timestamp": frozenset({dt.datetime, dt.date}),
    "timestamptz": frozenset({dt.datetime}),
    "interval": frozenset({dt.timedelta}),
    "uuid": frozenset({uuid.UUID}),
    "bytea": frozenset({bytes, bytearray, memoryview}),
}
# Types without a time zone: the server must convert a value that has one.
_ZONELESS = {"time", "timestamp"}
_TEXTLIKE = (str, _NOTHING)
# Python's own classes; the driver handles those of NumPy and other libraries itself.
_PLAIN = frozenset[type]().union(*_OWN.values())


class Series(NamedTuple):
    """Sets of parameters that are sent together."""

    rows: Sequence[Sequence[Any]]
    types: Sequence[int]
    """OIDs to declare; for 0 the server infers the type."""


def are_plain(columns: Sequence[Sequence[Any]]) -> bool:
    """Return whether all values are None or literals, which the server parses for any type."""
    return all(set(map(type, column)) <= {TextValue, _NOTHING} for column in columns)


def series_of(
    rows: list[tuple[Any, ...]], columns: Sequence[Sequence[Any]], names: Sequence[str] | None
) -> Iterator[Series]:
    """Yield the sets in their order; `names` are the names of the parameters' types.

    Where the server does not tell them, each parameter declares the type of its values.
    """
    odd = [
        place
        for place, column in enumerate(columns)
        if names is None or _is_odd(column, names[place])
    ]
    if not odd:
        yield Series(rows, ())
        return
    made, types, is_mixed = list(columns), [0] * len(columns), False
    for place in odd:
        taken, [oid] = adapted_many([(value,) for value in columns[place]])
        made[place], types[place] = [value for (value,) in taken], oid
        # Values without a common type are declared set by set.
        is_mixed |= oid in {UNKNOWN, INFERRED} and not all(
            isinstance(it, _TEXTLIKE) for it in made[place]
        )
    if not is_mixed:
        yield Series(list(zip(*made, strict=True)), types)
        return
    of_rows = (adapted(row) for row in rows)
    for same, group in itertools.groupby(of_rows, key=itemgetter(1)):
        yield Series([values for values, _types in group], same)


def _is_odd(column: Sequence[Any], name: str) -> bool:
    """Return whether a column has a value that the driver would not encode for the type."""
    own = _OWN.get(name)
    if own is None:
        return False
    classes = set(map(type, column)) - {TextValue, _NOTHING}
    if not own:
        return not all(issubclass(kind, str) for kind in classes)
    if (classes & _PLAIN) - own:
        return True
    is_zoned = name in _ZONELESS and classes & {dt.datetime, dt.time}
    return bool(is_zoned) and any(getattr(it, "tzinfo", None) is not None for it in column)
