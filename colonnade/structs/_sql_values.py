"""SQL expressions over the bytes of a struct, which are the first argument of a function.

They name the schema of each function and operator, so no search path changes them, and a function
without a `SET` clause can become a part of the query that calls it.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

from colonnade._driver.sql.quoting import quote_literal

_WORD, _LONG = 4, 8
_TIMES = re.compile(r"(datetime|timedelta)64\[(\w+)\]")


def operation(left: str, operator: str, right: str) -> str:
    """Return an operation of the server's own operator."""
    return f"({left} OPERATOR(pg_catalog.{operator}) {right})"


def byte_at(position: int) -> str:
    """Return a byte, as an integer."""
    return f"pg_catalog.get_byte($1, {position})"


def part(start: str, length: str) -> str:
    """Return this many bytes from a position, which counts from 0."""
    return f'pg_catalog."substring"($1, {operation(start, "+", "1")}, {length})'


def bytea(data: bytes) -> str:
    """Return a literal."""
    return f"'\\x{data.hex()}'::pg_catalog.bytea"


def word_at(position: int, size: int, kind: str = "int4") -> str:
    """Return the unsigned integer of this many bytes; 4 bytes of an int4 may be negative."""
    parts = []
    for index in range(size):
        byte = byte_at(position + index)
        if kind != "int4":
            byte = f"{byte}::pg_catalog.{kind}"
        parts.append(operation(byte, "<<", str(8 * index)) if index else byte)
    word = parts[0]
    for more in parts[1:]:
        word = operation(word, "|", more)
    return word


def text(found: str) -> str:
    """Return bytes as text."""
    return f"pg_catalog.convert_from({found}, 'UTF8')"


def literal(value: Any, kind: str, stored: str) -> str | None:
    """Return a value of a field's type as one of the server's type; None if it cannot have it."""
    if stored == "struct":
        return bytea(bytes(value))
    is_of_numpy = type(value).__module__ == "numpy"
    if (found := _TIMES.fullmatch(stored)) and (is_of_numpy or isinstance(value, dt.timedelta)):
        return _time(f"({_counted(value)})::pg_catalog.int8", *found.groups())[1]
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes | bytearray):
        return bytea(bytes(value))
    if isinstance(value, int | float | str | dt.date):
        return f"({quote_literal(str(value))}::pg_catalog.{kind})"
    if is_of_numpy and kind != "bytea":
        return f"({quote_literal(str(value))}::pg_catalog.{kind})"
    return None


def _counted(value: Any) -> int:
    """Return how many units a time has."""
    if isinstance(value, dt.timedelta):
        return value // dt.timedelta(microseconds=1)
    return int(value.astype("int64"))


def scalar(kind: str, slot: int) -> tuple[str, str] | None:
    """Return the server's type for a type of fixed size, and the expression of its value."""
    if kind == "bool":
        return "bool", operation(byte_at(slot), "<>", "0")
    if found := re.fullmatch(r"(u?)int(\d+)", kind):
        return _integer(slot, int(found[2]) // 8, is_signed=not found[1])
    if kind.startswith("float"):
        return _float(slot, int(kind[5:]))
    if found := _TIMES.fullmatch(kind):
        return _time(word_at(slot, 8, "int8"), *found.groups())
    if found := re.fullmatch(r"ascii\[(\d+)\]", kind):
        # Text does not start with zeros.
        return "text", text(f"pg_catalog.btrim({part(str(slot), found[1])}, {bytea(bytes(1))})")
    if found := re.fullmatch(r"S(\d+)", kind):
        # Bytes may start with zeros, which the first byte keeps; only PostgreSQL 14 has rtrim.
        kept = operation(bytea(b"\1"), "||", part(str(slot), found[1]))
        trimmed = f"pg_catalog.btrim({kept}, {bytea(bytes(1))})"
        return "bytea", f'pg_catalog."substring"({trimmed}, 2)'
    return None


def _integer(slot: int, size: int, *, is_signed: bool) -> tuple[str, str]:
    if size == _LONG:
        bits = word_at(slot, 8, "int8")
        if is_signed:
            return "int8", bits
        whole = operation(f"{bits}::pg_catalog.numeric", "+", "18446744073709551616")
        negative = operation(bits, "<", "0")
        return "numeric", f"CASE WHEN {negative} THEN {whole} ELSE {bits}::pg_catalog.numeric END"
    if size == _WORD:
        return ("int4", word_at(slot, 4)) if is_signed else ("int8", word_at(slot, 4, "int8"))
    word, kind = word_at(slot, size), "int2" if is_signed or size == 1 else "int4"
    if is_signed:
        unused = str(32 - 8 * size)
        word = operation(operation(word, "<<", unused), ">>", unused)
    return kind, f"{word}::pg_catalog.{kind}"


# Bits of a float -> those of its exponent and its fraction, and the server's type.
_FLOATS = {16: (5, 10, "float4"), 32: (8, 23, "float4"), 64: (11, 52, "float8")}


def _float(slot: int, width: int) -> tuple[str, str]:
    exponent_bits, fraction_bits, kind = _FLOATS[width]
    bits = word_at(slot, width // 8, "int8")
    exponent_most = (1 << exponent_bits) - 1
    exponent = operation(operation(bits, ">>", str(fraction_bits)), "&", str(exponent_most))
    fraction = operation(bits, "&", f"{(1 << fraction_bits) - 1}")
    sign_bit = operation(operation(bits, ">>", str(width - 1)), "&", "1")
    is_negative = operation(sign_bit, "=", "1")
    bias = (exponent_most >> 1) + fraction_bits
    least = f"{2.0 ** (1 - bias):.17g}"
    scale = f"{operation(exponent, '-', str(bias))}::pg_catalog.float8"
    power = f"pg_catalog.power(2::pg_catalog.float8, {scale})"
    whole = operation(fraction, "+", str(1 << fraction_bits))
    normal = operation(f"{whole}::pg_catalog.float8", "*", power)
    small = operation(f"{fraction}::pg_catalog.float8", "*", f"'{least}'::pg_catalog.float8")
    size = (
        f"CASE WHEN {operation(exponent, '=', str(exponent_most))}"
        f" THEN CASE WHEN {operation(fraction, '=', '0')}"
        " THEN 'Infinity'::pg_catalog.float8 ELSE 'NaN'::pg_catalog.float8 END"
        f" WHEN {operation(exponent, '=', '0')} THEN {small} ELSE {normal} END"
    )
    sign = f"CASE WHEN {is_negative} THEN -1 ELSE 1 END"
    value = operation(f"({size})", "*", f"({sign})::pg_catalog.float8")
    return kind, f"{value}::pg_catalog.{kind}"


def _interval(**parts: str) -> str:
    names = ("years", "months", "weeks", "days", "hours", "mins", "secs")
    kinds = {"secs": "float8"}
    given = [f"({parts.get(name, '0')})::pg_catalog.{kinds.get(name, 'int4')}" for name in names]
    return f"pg_catalog.make_interval({', '.join(given)})"


# Unit -> how many of it a day, an hour and a second have.
_PER_DAY = {"h": 24, "m": 1440, "s": 86_400, "ms": 86_400_000, "us": 86_400_000_000}
_PER_HOUR = {"h": 1, "m": 60, "s": 3_600, "ms": 3_600_000, "us": 3_600_000_000}


def _split(count: str, unit: str, per: int) -> tuple[str, str]:
    """Return how many whole days or hours a count has, and the seconds of the rest."""
    rest = operation(count, "%", str(per))
    seconds = _PER_HOUR[unit] / 3600
    if seconds < 1:
        scaled = operation(f"{rest}::pg_catalog.float8", "*", f"{3600 // _PER_HOUR[unit]}")
    else:
        scaled = operation(f"{rest}::pg_catalog.float8", "/", f"{int(seconds)}")
    return operation(count, "/", str(per)), scaled


def size_of(kind: str) -> int:
    """Return the bytes of the slot that a function reads for a type."""
    if kind in {"str", "bytes", "struct"}:
        return 4
    if kind == "bool":
        return 1
    if found := re.fullmatch(r"(?:u?int|float)(\d+)", kind):
        return int(found[1]) // 8
    if found := re.fullmatch(r"(?:ascii\[|S)(\d+)\]?", kind):
        return int(found[1])
    return _LONG


# The first and last count of each unit that the server's type can have, and its arithmetic on the
# way: dates and timestamps from 4713 BC on, intervals of 32 bits of months, days and hours.
_FIRST_SECOND, _LAST_SECOND = -210_866_803_200, 9_224_318_015
_INT4 = 2**31 - 1
_MOMENTS = {
    "Y": (-6_681, 292_000),
    "M": (-6_681 * 12, 292_000 * 12),
    "W": (-348_655, 306_433_135),
    "D": (-2_440_588, 2_145_031_948),
    "h": (_FIRST_SECOND // 3600, _LAST_SECOND // 3600),
    "m": (_FIRST_SECOND // 60, _LAST_SECOND // 60),
    "s": (_FIRST_SECOND, _LAST_SECOND),
    "ms": (_FIRST_SECOND * 10**3, _LAST_SECOND * 10**3 + 999),
    "us": (_FIRST_SECOND * 10**6, 2**63 - 1),
}
_DURATIONS = {
    "Y": _INT4 // 12,
    "M": _INT4,
    "W": _INT4 // 7,
    "D": _INT4,
    "h": _INT4,
    "m": _INT4 * 60,
    "s": _INT4 * 3_600,
    "ms": _INT4 * 3_600_000,
    "us": _INT4 * 3_600_000_000,
}


def _time(count: str, kind: str, unit: str) -> tuple[str, str]:
    """Return the server's type of a time, and its value; NULL beyond what the type can have."""
    is_moment = kind == "datetime"
    returned, value = (_moment if is_moment else _duration)(count, unit)
    most = _DURATIONS.get(unit, 0)
    first, last = _MOMENTS.get(unit, (0, 0)) if is_moment else (-most, most)
    if not last:
        # The count itself.
        return returned, value
    is_within = f"{operation(count, '>=', str(first))} AND {operation(count, '<=', str(last))}"
    return returned, f"CASE WHEN {is_within} THEN {value} END"


def _moment(count: str, unit: str) -> tuple[str, str]:
    epoch = "'1970-01-01'::pg_catalog.date"
    if unit in {"Y", "M"}:
        months = operation(count, "*", "12") if unit == "Y" else count
        return "date", f"{operation(epoch, '+', _interval(months=months))}::pg_catalog.date"
    if unit in {"W", "D"}:
        days = operation(count, "*", "7") if unit == "W" else count
        return "date", operation(epoch, "+", f"({days})::pg_catalog.int4")
    if unit not in _PER_DAY:
        return "int8", count
    days, seconds = _split(count, unit, _PER_DAY[unit])
    start = "'1970-01-01'::pg_catalog.timestamp"
    return "timestamp", operation(start, "+", _interval(days=days, secs=seconds))


def _duration(count: str, unit: str) -> tuple[str, str]:
    if unit in {"Y", "M"}:
        months = operation(count, "*", "12") if unit == "Y" else count
        return "interval", _interval(months=months)
    if unit in {"W", "D"}:
        days = operation(count, "*", "7") if unit == "W" else count
        return "interval", _interval(days=days)
    if unit not in _PER_HOUR:
        return "int8", count
    hours, seconds = _split(count, unit, _PER_HOUR[unit])
    return "interval", _interval(hours=hours, secs=seconds)
