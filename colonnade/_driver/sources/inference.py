"""The type of a new table's column for Python objects, by the classes of all of them."""

from __future__ import annotations

import datetime as dt
import decimal
import ipaddress
import uuid
from typing import TYPE_CHECKING, Any, NamedTuple

from colonnade import _core
from colonnade._words.shown import class_name
from colonnade.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy as np

# Class of Python objects -> type; a subclass counts as its first base class listed here.
_CLASSES: dict[type, str] = {
    bool: "boolean",
    int: "bigint",
    float: "double precision",
    str: "text",
    bytes: "bytea",
    bytearray: "bytea",
    memoryview: "bytea",
    decimal.Decimal: "numeric",
    uuid.UUID: "uuid",
    dt.timedelta: "interval",
    dt.date: "date",
    dt.time: "time",
    dict: "jsonb",
    ipaddress.IPv4Address: "inet",
    ipaddress.IPv6Address: "inet",
    ipaddress.IPv4Interface: "inet",
    ipaddress.IPv6Interface: "inet",
    ipaddress.IPv4Network: "cidr",
    ipaddress.IPv6Network: "cidr",
}
# Types of one column -> the type that can hold all of them.
_WIDER: dict[frozenset[str], str] = {
    frozenset({"bigint", "numeric"}): "numeric",
    frozenset({"bigint", "double precision"}): "double precision",
    frozenset({"inet", "cidr"}): "inet",
}
# Of bigint.
_LEAST, _MOST = -(2**63), 2**63 - 1
# Lists within lists; json may be nested deeper than an array has dimensions.
_DEPTH_MOST = 64


class _Seen(NamedTuple):
    """The first occurrence of a type."""

    row: int
    class_name: str


class Inference:
    """The types seen in a column. `of_array` returns the type of an array's elements.

    `depth` counts the lists around them.
    """

    def __init__(self, name: str, of_array: Callable[[Any], str], depth: int = 0) -> None:
        self._name = name
        self._depth = depth
        self._of_array = of_array
        self._types: dict[str, _Seen] = {}
        self._elements: Inference | None = None
        self._first_list: _Seen | None = None
        # Classes that add no new type, except for an int beyond bigint.
        self._known: set[type] = set()

    def see(self, values: Iterable[Any], first_row: int) -> None:
        """Record the types of values; the first value belongs to a row."""
        known = self._known
        for row, value in enumerate(values, first_row):
            kind = type(value)
            if kind in known and (kind is not int or _LEAST <= value <= _MOST):
                continue
            if not is_missing(value):
                self._see_one(value, row)
                if kind in _CLASSES:
                    known.add(kind)

    def _see_one(self, value: Any, row: int) -> None:
        is_scalar = hasattr(value, "__array_interface__") and not value.ndim
        if is_scalar and value.dtype.kind not in "mM":
            # A NumPy scalar counts as its Python equivalent; that of a time may be an int.
            value, is_scalar = value.item(), False
        if is_scalar:
            kind = _type_of_time(value.dtype)
        elif isinstance(value, list | tuple) or hasattr(value, "__array_interface__"):
            self._see_list(value, row)
            return
        else:
            kind = self._type_of(value)
        if kind not in self._types:
            self._types[kind] = _Seen(row, class_name(value))

    def _see_list(self, value: Any, row: int) -> None:
        if self._depth == _DEPTH_MOST:
            raise self._refusal(
                f"row {row} has lists in more than {_DEPTH_MOST} others, or one in itself"
            )
        if self._elements is None:
            self._elements = Inference(self._name, self._of_array, self._depth + 1)
            self._first_list = _Seen(row, class_name(value))
        if not isinstance(value, list | tuple) and value.dtype.kind == "O":
            # Its objects may be lists, or the array itself.
            value = value.ravel().tolist()
        if isinstance(value, list | tuple):
            for element in value:
                if not is_missing(element):
                    self._elements._see_one(element, row)  # noqa: SLF001 - one of its own
            return
        kind = self._of_array(value.ravel())
        self._elements._types.setdefault(kind, _Seen(row, class_name(value)))  # noqa: SLF001

    def _type_of(self, value: Any) -> str:
        if isinstance(value, dt.datetime):
            return "timestamp" if value.tzinfo is None else "timestamptz"
        for kind in type.mro(type(value)):
            if kind in _CLASSES:
                found = _CLASSES[kind]
                is_wide = found == "bigint" and not _LEAST <= value <= _MOST
                return "numeric" if is_wide else found
        raise self._refusal(f"no type stands for {class_name(value)}")

    def sql_type(self) -> str:
        """The type; text if no value was seen.

        Raises SchemaError if no single type can hold all classes.
        """
        if self._elements is not None:
            if self._has_dicts() and self._types.keys() <= {"jsonb"}:
                return "jsonb"
            element = self._elements.sql_type()
            if self._types:
                self._types["an array"] = self._first_list or _Seen(0, "list")
                raise self._mixed()
            # A list within a list is one more dimension of the same type.
            return element if element.endswith("[]") else f"{element}[]"
        kinds = frozenset(self._types)
        if len(kinds) <= 1:
            return next(iter(kinds), "text")
        if kinds not in _WIDER:
            raise self._mixed()
        return _WIDER[kinds]

    def _has_dicts(self) -> bool:
        """Whether there is one at any depth: then lists are JSON."""
        within = self._elements is not None and self._elements._has_dicts()  # noqa: SLF001
        return within or "jsonb" in self._types

    def _mixed(self) -> SchemaError:
        seen = [
            f"{seen.class_name} as {kind} (row {seen.row})" for kind, seen in self._types.items()
        ]
        return self._refusal(f"it holds {', '.join(seen[:-1])} and {seen[-1]}")

    def _refusal(self, reason: str) -> SchemaError:
        return SchemaError(
            f'column "{self._name}" cannot be made: {reason}',
            hint="Create the table first, or pass the type of the column.",
        )


def _type_of_time(dtype: np.dtype[Any]) -> str:
    if dtype.kind == "m":
        return "interval"
    return "date" if dtype.name.endswith(("[Y]", "[M]", "[W]", "[D]")) else "timestamp"


def is_missing(value: Any) -> bool:
    """None, and pandas' and NumPy's values for it; in a column of objects NaN is one of them."""
    if value is None or _core.is_missing(value):
        return True
    return isinstance(value, float) and value != value  # noqa: PLR0124 - NaN differs from itself
