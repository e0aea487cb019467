"""The kind of a column, derived from its Arrow type."""

from __future__ import annotations

import enum
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from colonnade._core import Batch


class Kind(enum.Enum):
    """Groups of Arrow types that are converted in the same way."""

    BOOL = "bool"
    INT = "integer"
    FLOAT = "floating-point"
    DATE = "date"
    TIME = "time of day"
    TIMESTAMP = "timestamp"
    DURATION = "duration"
    DECIMAL = "decimal"
    TEXT = "text"
    DICTIONARY = "text that repeats"
    CELLS = "text or bytes of a fixed width"
    BINARY = "binary"
    UUID = "UUID"
    INTERVAL = "interval"
    LIST = "list"
    FIXED_LIST = "list of a fixed length"
    STRUCT = "struct"
    MAP = "map"
    NULL = "null"
    OTHER = "other"


class ColumnType(NamedTuple):
    """The kind of a column and the parameters of its type.

    ``values`` is the NumPy dtype of the column's buffer, None if NumPy cannot read it in place.
    ``zone`` is the time zone of a timestamp, ``unit`` the unit of a date or time type, and ``size``
    the number of elements of each list of a fixed length.
    """

    kind: Kind
    values: str | None
    zone: str | None = None
    unit: str = "us"
    size: int = 0

    @property
    def is_zoned(self) -> bool:
        """Whether a timestamp has a time zone."""
        return self.zone is not None


_FIXED = {
    "bool": ColumnType(Kind.BOOL, "?"),
    "int8": ColumnType(Kind.INT, "i1"),
    "int16": ColumnType(Kind.INT, "i2"),
    "int32": ColumnType(Kind.INT, "i4"),
    "int64": ColumnType(Kind.INT, "i8"),
    "uint8": ColumnType(Kind.INT, "u1"),
    "uint16": ColumnType(Kind.INT, "u2"),
    "uint32": ColumnType(Kind.INT, "u4"),
    "uint64": ColumnType(Kind.INT, "u8"),
    "float32": ColumnType(Kind.FLOAT, "f4"),
    "float64": ColumnType(Kind.FLOAT, "f8"),
    # Days in 32 bits: NumPy's days have 64 bits, so they are read as integers and widened.
    "date32": ColumnType(Kind.DATE, "i4"),
    # The same holds for seconds and milliseconds of a day.
    "time32[s]": ColumnType(Kind.TIME, "i4", unit="s"),
    "time32[ms]": ColumnType(Kind.TIME, "i4", unit="ms"),
    "time64[us]": ColumnType(Kind.TIME, "m8[us]"),
    "time64[ns]": ColumnType(Kind.TIME, "m8[ns]", unit="ns"),
    "fixed_size_binary[16]": ColumnType(Kind.UUID, "V16"),
    "month_day_nano_interval": ColumnType(Kind.INTERVAL, None),
    "null": ColumnType(Kind.NULL, None),
}
_WITH_UNIT = re.compile(r"(timestamp|duration)\[(\w+)(?:, (.+))?\]")
_NESTED = re.compile(r"(fixed_size_list|large_list|list|struct|map)<.*>(?:\[(\d+)\])?", re.DOTALL)
_NESTED_KINDS = {
    "fixed_size_list": Kind.FIXED_LIST,
    "large_list": Kind.LIST,
    "list": Kind.LIST,
    "struct": Kind.STRUCT,
    "map": Kind.MAP,
}
_TEXT = {"utf8", "large_utf8", "utf8_view"}
_BINARY = {"binary", "large_binary", "binary_view"}


def column_type(arrow_type: str) -> ColumnType:
    """Return the kind and the parameters of an Arrow type."""
    fixed = _FIXED.get(arrow_type)
    if fixed is not None:
        return fixed
    if arrow_type in _TEXT:
        return ColumnType(Kind.TEXT, None)
    if arrow_type in _BINARY:
        return ColumnType(Kind.BINARY, None)
    if arrow_type.startswith("dictionary<"):
        return ColumnType(Kind.DICTIONARY, None)
    if nested := _NESTED.fullmatch(arrow_type):
        word, size = nested.groups()
        return ColumnType(_NESTED_KINDS[word], None, size=int(size or 0))
    if arrow_type[0] in "US":
        return ColumnType(Kind.CELLS, arrow_type)
    if found := _WITH_UNIT.fullmatch(arrow_type):
        word, unit, zone = found.groups()
        if word == "duration":
            return ColumnType(Kind.DURATION, f"m8[{unit}]", unit=unit)
        return ColumnType(Kind.TIMESTAMP, f"M8[{unit}]", zone, unit)
    if arrow_type.startswith(("decimal128(", "decimal256(")):
        return ColumnType(Kind.DECIMAL, None)
    return ColumnType(Kind.OTHER, None)


def require_unique_names(batch: Batch, user: str) -> None:
    """Raise ValueError for a batch with two columns of one name: one would silently be lost."""
    twice = [name for name, places in batch.places.items() if len(places) > 1]
    if twice:
        shown = ", ".join(f'"{name}"' for name in twice)
        raise ValueError(
            f"{user} needs unique column names, and several columns are named {shown}: "
            "rename them in the query with AS, or take them by position"
        )
