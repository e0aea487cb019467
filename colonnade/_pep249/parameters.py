"""The PostgreSQL type that each Python value declares when it is a parameter.

A string goes as a literal: the server infers its type from the context each time (`UNKNOWN`),
because an earlier inference may be wrong after a change of the table. For None, and for values of
classes not listed here, it infers the type once (`INFERRED`). Every other value declares its type,
as in psycopg, so that `SELECT %s` works and the server finds the right overload of a function.
"""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import ipaddress
import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from colonnade import _core
from colonnade._pep249.errors import DataError
from colonnade._words.shown import class_name
from colonnade._words.type_facts import ARRAY_OIDS, OIDS, UNKNOWN

__all__ = ["INFERRED", "Json", "Jsonb", "adapted", "adapted_many", "without_naive"]

_INT2, _INT4, _INT8, _NUMERIC, _FLOAT8 = (
    OIDS[name] for name in ("int2", "int4", "int8", "numeric", "float8")
)
# The number types from small to large, and their array types in the same order.
_SIZES = (_INT2, _INT4, _INT8, _NUMERIC)
_ARRAY_SIZES = tuple(ARRAY_OIDS[oid] for oid in _SIZES)
_INTS = ((_INT2, 1 << 15), (_INT4, 1 << 31), (_INT8, 1 << 63))

# The server infers the type, and the driver writes the value by it.
INFERRED = 0

# The type of values of exactly this class.
_BY_CLASS: dict[type, int] = {
    str: UNKNOWN,
    type(None): INFERRED,
    bool: OIDS["bool"],
    float: _FLOAT8,
    decimal.Decimal: _NUMERIC,
    bytes: OIDS["bytea"],
    bytearray: OIDS["bytea"],
    memoryview: OIDS["bytea"],
    dt.date: OIDS["date"],
    dt.timedelta: OIDS["interval"],
    uuid.UUID: OIDS["uuid"],
    ipaddress.IPv4Address: OIDS["inet"],
    ipaddress.IPv6Address: OIDS["inet"],
    ipaddress.IPv4Interface: OIDS["inet"],
    ipaddress.IPv6Interface: OIDS["inet"],
    ipaddress.IPv4Network: OIDS["cidr"],
    ipaddress.IPv6Network: OIDS["cidr"],
}
# Classes whose `str()` is a literal of PostgreSQL.
_WRITTEN = {bool, int, float, decimal.Decimal, dt.date, dt.datetime, dt.time, uuid.UUID}
# Classes whose type depends on whether the value has a time zone: (without, with).
_ZONED = {
    dt.datetime: (OIDS["timestamp"], OIDS["timestamptz"]),
    dt.time: (OIDS["time"], OIDS["timetz"]),
}
_MOMENTS = set(_ZONED[dt.datetime])
# The types of datetime64 and timedelta64, by NumPy's kind character.
_NUMPY_TIMES = {"M": OIDS["timestamp"], "m": OIDS["interval"]}
# The server converts these to timestamptz in the session's time zone.
_NAIVE = {OIDS["timestamp"], ARRAY_OIDS[OIDS["timestamp"]]}


class Json:
    """A value to be sent as `json`; `dumps` serializes it (by default `json.dumps`)."""

    __slots__ = ("dumps", "obj")
    type_name = "json"

    def __init__(self, obj: Any, dumps: Callable[[Any], str] | None = None) -> None:
        self.obj = obj
        self.dumps = dumps or json.dumps

    def __repr__(self) -> str:
        """The class and the value."""
        return f"{type(self).__name__}({self.obj!r})"


class Jsonb(Json):
    """A value to be sent as `jsonb`; otherwise as `Json`."""

    __slots__ = ()
    type_name = "jsonb"


def without_naive(types: Iterable[int]) -> list[int]:
    """Replace the types of naive datetimes by INFERRED, so that the server infers them.

    The driver then sees which of them the server takes for timestamptz, and can refuse those.
    """
    return [INFERRED if oid in _NAIVE else oid for oid in types]


def adapted(values: Iterable[Any]) -> tuple[list[Any], list[int]]:
    """Return the values as the driver accepts them, and the OIDs of their types."""
    made: list[Any] = []
    types: list[int] = []
    for value in values:
        oid = _BY_CLASS.get(type(value))
        if oid is None:
            taken, oid = _adapted(value)
            made.append(taken)
        else:
            made.append(value)
        types.append(oid)
    return made, types


def adapted_many(sets: Sequence[Sequence[Any]]) -> tuple[Iterable[Sequence[Any]], list[int]]:
    """Adapt many sets of values for one statement: one type for each parameter of all sets."""
    types: list[int] = []
    columns: list[Sequence[Any]] = []
    for column in zip(*sets, strict=True):
        taken, oid = _column(column)
        columns.append(taken)
        types.append(oid)
    # zip() over no columns would lose the (empty) sets.
    return (zip(*columns, strict=True) if columns else sets), types


def _column(values: Sequence[Any]) -> tuple[Sequence[Any], int]:
    classes = set(map(type, values)) - {type(None)}
    if classes == {int}:
        return values, _int_oid(value for value in values if value is not None)
    if classes <= _BY_CLASS.keys():
        oids = {_BY_CLASS[kind] for kind in classes}
        if len(oids) <= 1:
            return values, oids.pop() if oids else INFERRED
    taken, types = adapted(values)
    known = {oid for value, oid in zip(taken, types, strict=True) if value is not None}
    for sizes in (_SIZES, _ARRAY_SIZES):
        if known <= set(sizes):
            return taken, max(known, key=sizes.index)
    if len(known) == 1:
        return taken, known.pop()
    if UNKNOWN not in known:
        return taken, INFERRED
    # With a string among them, the others go as literals, too.
    return [str(value) if type(value) in _WRITTEN else value for value in taken], UNKNOWN


def _int_oid(values: Iterable[int]) -> int:
    """Return the smallest integer type that holds all values; `numeric` beyond eight bytes."""
    found = list(values)
    least, most = min(found), max(found)
    for oid, limit in _INTS:
        if -limit <= least and most < limit:
            return oid
    return _NUMERIC


def _adapted(value: Any) -> tuple[Any, int]:
    """Adapt a value whose class alone does not decide its type, or is not a built-in one."""
    kind = type(value)
    if kind is int:
        return value, _int_oid((value,))
    if _core.is_missing(value):
        # NULL of pandas or NumPy, whose NaT is a datetime.
        return None, UNKNOWN
    if kind in _ZONED:
        return value, _ZONED[kind][value.tzinfo is not None]
    if isinstance(value, list):
        return _list(value)
    if isinstance(value, Json):
        return value.dumps(value.obj), OIDS[value.type_name]
    if isinstance(value, str):
        return str(value.value) if isinstance(value, enum.Enum) else str(value), UNKNOWN
    if isinstance(value, enum.Enum) and not isinstance(value, int):
        return value.name, UNKNOWN
    if isinstance(value, int):
        return int(value), _int_oid((int(value),))
    if hasattr(value, "dtype") and hasattr(value, "item") and not getattr(value, "shape", ()):
        # A NumPy scalar is treated as its Python value.
        return _scalar(value)
    for base in type.mro(kind):
        if base in _ZONED:
            return value, _ZONED[base][value.tzinfo is not None]
        if base in _BY_CLASS:
            return value, _BY_CLASS[base]
    return value, INFERRED


def _scalar(value: Any) -> tuple[Any, int]:
    plain = value.item()
    if type(plain) is type(value):
        return value, INFERRED
    oid = _NUMPY_TIMES.get(value.dtype.kind)
    if oid is not None and isinstance(plain, dt.datetime | dt.timedelta | int):
        # item() returns an int for units that datetime cannot represent, such as nanoseconds.
        return value, oid
    (taken,), (oid,) = adapted((plain,))
    return taken, oid


def _list(value: list[Any]) -> tuple[Any, int]:
    """Adapt a list as an array; a list of strings as an array literal that the server parses."""
    leaves = [leaf for leaf in _leaves(value) if leaf is not None]
    taken, types = adapted(leaves)
    known = {oid for leaf, oid in zip(taken, types, strict=True) if leaf is not None}
    if INFERRED in known and known <= {UNKNOWN, INFERRED}:
        # Tuples and the driver's own classes: the server's type says what they are.
        return _rebuilt(value, iter(taken)), INFERRED
    if known <= {UNKNOWN}:
        return _literal(value), UNKNOWN
    if known <= set(_SIZES) and all(isinstance(leaf, int) for leaf in taken):
        return value, ARRAY_OIDS[_int_oid(taken)]
    if known == _MOMENTS:
        raise DataError(
            "a list becomes an array of one type, but some datetimes of this one have a time zone, "
            "and others have none: give all of them one, with .replace(tzinfo=...)"
        )
    if len(known) > 1:
        classes = ", ".join(sorted({class_name(leaf) for leaf in leaves}))
        raise DataError(f"a list becomes an array of one type, but this one has {classes}")
    oid = known.pop()
    if all(a is b for a, b in zip(taken, leaves, strict=True)):
        return value, ARRAY_OIDS[oid]
    return _rebuilt(value, iter(taken)), ARRAY_OIDS[oid]


def _leaves(value: list[Any]) -> Iterator[Any]:
    for item in value:
        if isinstance(item, list):
            yield from _leaves(item)
        else:
            yield item


def _rebuilt(value: list[Any], leaves: Iterator[Any]) -> list[Any]:
    return [
        _rebuilt(item, leaves) if isinstance(item, list) else None if item is None else next(leaves)
        for item in value
    ]


def _literal(value: list[Any]) -> str:
    """Write a list of strings as PostgreSQL's array literal."""
    return "{" + ",".join(map(_element, value)) + "}"


def _element(value: Any) -> str:
    if isinstance(value, list):
        return _literal(value)
    if value is None:
        return "NULL"
    ((taken,), _) = adapted((value,))
    text = str(taken).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
