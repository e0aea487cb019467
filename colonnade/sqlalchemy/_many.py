"""Many sets of parameters for one statement, whatever classes a single set may have.

A value whose class is not that of its parameter, such as a number for a column of text, is declared
to be of its own type, so that the server makes the cast. All sets of a series have one declaration;
where a column has values of several types, the sets are sent in as many series as it takes.
"""

from __future__ import annotations

import datetime as dt
import decimal
import itertools
import uuid
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from colonnade._pep249.oids import UNKNOWN
from colonnade._pep249.parameters import adapted, adapted_many
from colonnade.types import TextValue

_NOTHING = type(None)
# What each type takes as it is. Of types that do not stand here, it is not known.
_OWN: dict[str, frozenset[type]] = {
    **dict.fromkeys(("text", "varchar", "bpchar", "name", "citext", "xml"), frozenset()),
    "bool": frozenset({bool}),
    **dict.fromkeys(("int2", "int4", "int8", "oid"), frozenset({int, bool})),
    **dict.fromkeys(("float4", "float8"), frozenset({float, int})),
    "numeric": frozenset({decimal.Decimal, int, float}),
    "date": frozenset({dt.date}),
    **dict.fromkeys(("time", "timetz"), frozenset({dt.time})),
    "timestamp": frozenset({dt.datetime, dt.date}),
    "timestamptz": frozenset({dt.datetime}),
    "interval": frozenset({dt.timedelta}),
    "uuid": frozenset({uuid.UUID}),
    "bytea": frozenset({bytes, bytearray, memoryview}),
}
# Without a zone, for which a moment in one is the server's to convert.
_ZONELESS = {"time", "timestamp"}
_TEXTLIKE = (str, _NOTHING)
# Classes of Python's own; the driver knows what to do with those of NumPy and the rest.
_PLAIN = frozenset[type]().union(*_OWN.values())


class Series(NamedTuple):
    """Sets of parameters that are sent together."""

    rows: Sequence[Sequence[Any]]
    types: Sequence[int]
    """OIDs to declare; 0 leaves one to the server."""


def are_plain(columns: Sequence[Sequence[Any]]) -> bool:
    """Whether there is nothing but texts, which the server reads whatever the type is."""
    return all(set(map(type, column)) <= {TextValue, _NOTHING} for column in columns)


def series_of(
    rows: list[tuple[Any, ...]], columns: Sequence[Sequence[Any]], names: Sequence[str]
) -> Iterator[Series]:
    """The sets in their order; `names` are those of the parameters' types."""
    odd = [
        place
        for place, (column, name) in enumerate(zip(columns, names, strict=True))
        if _is_odd(column, name)
    ]
    if not odd:
        yield Series(rows, ())
        return
    made, types, is_mixed = list(columns), [0] * len(columns), False
    for place in odd:
        taken, [oid] = adapted_many([(value,) for value in columns[place]])
        made[place], types[place] = [value for (value,) in taken], oid
        # What has no type in common is declared set by set.
        is_mixed |= oid == UNKNOWN and not all(isinstance(it, _TEXTLIKE) for it in made[place])
    if not is_mixed:
        yield Series(list(zip(*made, strict=True)), types)
        return
    of_rows = (adapted(row) for row in rows)
    for same, group in itertools.groupby(of_rows, key=itemgetter(1)):
        yield Series([values for values, _types in group], same)


def _is_odd(column: Sequence[Any], name: str) -> bool:
    """Whether a column has a value of a class that is not the type's own."""
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
