"""What `Cursor.description` says of a column."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from colonnade._pep249.oids import OIDS

if TYPE_CHECKING:
    from colonnade.types import Attribute

# What a value takes on the server, where all values of the type take the same.
_SIZES = {
    OIDS[name]: size
    for size, names in {
        1: ("bool", "char"),
        2: ("int2",),
        4: ("int4", "oid", "float4", "date"),
        8: ("int8", "float8", "time", "timestamp", "timestamptz", "money"),
        12: ("timetz",),
        16: ("uuid", "interval"),
    }.items()
    for name in names
}
_TEXTS = {OIDS[name] for name in ("varchar", "bpchar")}
_BITS = {OIDS[name] for name in ("bit", "varbit")}
_TIMES = {OIDS[name] for name in ("time", "timetz", "timestamp", "timestamptz", "interval")}
_NUMERIC = OIDS["numeric"]
# The modifier of a type with a length counts the four bytes that hold the length, too.
_HEADER = 4
# An interval's modifier has its fields in the upper half, and all ones where no precision is set.
_PRECISION_MASK = 0xFFFF


class Column(NamedTuple):
    """A column of a result: PEP 249's seven items, which have names, too.

    `type_code` is the OID of the type, and equals one of the module's type objects. `null_ok` is
    always None: the server does not say.
    """

    name: str
    type_code: int
    display_size: int | None = None
    internal_size: int | None = None
    precision: int | None = None
    scale: int | None = None
    null_ok: bool | None = None


def described(attribute: Attribute, modifier: int) -> Column:
    """A column, by its type and the modifier of it."""
    oid = attribute.type.oid
    display = precision = scale = None
    if modifier >= 0:
        if oid in _TEXTS:
            display = modifier - _HEADER
        elif oid in _BITS:
            display = modifier
        elif oid == _NUMERIC:
            precision, scale = (modifier - _HEADER) >> 16, (modifier - _HEADER) & 0x7FF
            # Since PostgreSQL 15 a scale may be negative.
            scale = (scale ^ 0x400) - 0x400
        elif oid in _TIMES and modifier & _PRECISION_MASK != _PRECISION_MASK:
            precision = modifier & _PRECISION_MASK
    return Column(attribute.name, oid, display, _SIZES.get(oid), precision, scale)
