"""What a column holds, as the Arrow type of its field says it."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from colonnade._core import Batch


class Kind(enum.Enum):
    """Columns of one kind are handed over in the same way."""

    BOOL = "bool"
    INT = "integer"
    FLOAT = "floating-point"
    DATE = "date"
    TIME = "time of day"
    TIMESTAMP = "timestamp"
    DECIMAL = "decimal"
    TEXT = "text"
    BINARY = "binary"
    UUID = "UUID"
    OTHER = "other"


class ColumnType(NamedTuple):
    """The kind, and how NumPy reads the column's values where they lie; None where it cannot."""

    kind: Kind
    values: str | None
    is_zoned: bool = False


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
    # Days in 32 bits: NumPy's days have 64, so this one is read and then widened.
    "date32": ColumnType(Kind.DATE, "i4"),
    "time64[us]": ColumnType(Kind.TIME, "m8[us]"),
    "timestamp[us]": ColumnType(Kind.TIMESTAMP, "M8[us]"),
    "fixed_size_binary[16]": ColumnType(Kind.UUID, "V16"),
}
_TEXT = {"utf8", "large_utf8", "utf8_view"}
_BINARY = {"binary", "large_binary", "binary_view"}


def column_type(arrow_type: str) -> ColumnType:
    """The kind of a column by its field's Arrow type."""
    fixed = _FIXED.get(arrow_type)
    if fixed is not None:
        return fixed
    if arrow_type in _TEXT:
        return ColumnType(Kind.TEXT, None)
    if arrow_type in _BINARY:
        return ColumnType(Kind.BINARY, None)
    if arrow_type.startswith("timestamp[us, "):
        return ColumnType(Kind.TIMESTAMP, "M8[us]", is_zoned=True)
    if arrow_type.startswith(("decimal128(", "decimal256(")):
        return ColumnType(Kind.DECIMAL, None)
    return ColumnType(Kind.OTHER, None)


def require_unique_names(batch: Batch, user: str) -> None:
    """Refuse a batch with two columns of one name, of which one would silently be lost."""
    names = [field.name for field in batch.fields]
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        shown = ", ".join(f'"{name}"' for name in twice)
        raise ValueError(
            f"{user} needs column names that differ, and several columns are named {shown}: "
            "name them in the query with AS, or take them by position"
        )
