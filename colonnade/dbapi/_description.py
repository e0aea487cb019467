"""The items of `Cursor.description`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from colonnade._words.type_facts import FLOATS, INTEGERS, OIDS, TIMES, WIDTHS

if TYPE_CHECKING:
    from colonnade.types import Attribute

# The size of a value on the server in bytes, for types of fixed size. An amount of money has one
# there, although it is read as text.
_SIZED = {*INTEGERS, *FLOATS, *TIMES, "bool", "char", "oid", "uuid"}
_SIZES = {OIDS["money"]: 8} | {OIDS[name]: WIDTHS[name] for name in _SIZED}
_TEXTS = {OIDS[name] for name in ("varchar", "bpchar")}
_BITS = {OIDS[name] for name in ("bit", "varbit")}
_TIMES = {OIDS[name] for name in TIMES - {"date"}}
_NUMERIC = OIDS["numeric"]
# The type modifier of varchar, char and numeric includes the four bytes of a length header.
_HEADER = 4
# The lower half of an interval's modifier is its precision, or all ones if it has none. The upper
# half holds the interval's fields.
_PRECISION_MASK = 0xFFFF


class Column(NamedTuple):
    """A column of a result: a named tuple of PEP 249's seven items.

    `type_code` is the OID of the type; it compares equal to one of the module's type objects, such
    as NUMBER. `display_size` is the declared length in characters (or bits), `internal_size` the
    size of a value in bytes; each is None for a type without one. `precision` and `scale` are in
    decimal digits, None where the type declares none. `null_ok` is always None, because the server
    does not send it.
    """

    name: str
    type_code: int
    display_size: int | None = None
    internal_size: int | None = None
    precision: int | None = None
    scale: int | None = None
    null_ok: bool | None = None


def described(attribute: Attribute, modifier: int) -> Column:
    """Describe a column by its type and its type modifier; a modifier of -1 means none."""
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
