"""The expected contents of a column, from the server's own text, without the driver's code."""

from __future__ import annotations

import json
import re
import struct
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pyarrow as pa

from samples import base_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

MOMENT = re.compile(
    r"(?P<year>\d{4,7})-(?P<month>\d\d)-(?P<day>\d\d)"
    r"(?: (?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?:\.(?P<fraction>\d{1,6}))?(?:\+00)?)?"
    r"(?P<bc> BC)?"
)
NUMBER = re.compile(r"NaN|-?(?:Infinity|\d[\d.]*(?:e[+-]?\d+)?)")
PAIR = re.compile(r'"((?:[^"\\]|\\.)*)"=>(?:NULL|"((?:[^"\\]|\\.)*)")')
ESCAPE = re.compile(r"\\(.)")
# The Gregorian calendar repeats after 400 years, which are 146097 days.
CYCLE_YEARS, CYCLE_DAYS = 400, 146_097


def json_texts(texts: Iterable[str | None]) -> str:
    """The argument of `corpus.query`."""
    return json.dumps(list(texts))


def days(text: str) -> int:
    match = MOMENT.fullmatch(text)
    assert match, text
    year = int(match["year"])
    if match["bc"]:
        year = 1 - year
    cycles, year_of_cycle = divmod(year, CYCLE_YEARS)
    # Python has no year 0, but the year 400 is the same.
    like = date(year_of_cycle + CYCLE_YEARS, int(match["month"]), int(match["day"]))
    since_1970 = like.toordinal() - date(1970, 1, 1).toordinal()
    return since_1970 + (cycles - 1) * CYCLE_DAYS


def clock(text: str) -> int:
    hours, minutes, seconds = text.split(":")
    whole, _, fraction = seconds.partition(".")
    micros = int(fraction.ljust(6, "0")) if fraction else 0
    return (int(hours) * 3600 + int(minutes) * 60 + int(whole)) * 1_000_000 + micros


def moment(text: str) -> int:
    match = MOMENT.fullmatch(text)
    assert match, text
    micros = int((match["fraction"] or "").ljust(6, "0"))
    seconds = int(match["hour"]) * 3600 + int(match["minute"]) * 60 + int(match["second"])
    return (days(text) * 86_400 + seconds) * 1_000_000 + micros


def float4_bits(number: float) -> bytes:
    # All NaNs are equal, and zeros differ by sign.
    return b"nan" if number != number else struct.pack("<f", number)  # noqa: PLR0124


def float8_bits(number: float) -> bytes:
    return b"nan" if number != number else struct.pack("<d", number)  # noqa: PLR0124


def numbers(text: str) -> list[bytes]:
    """The numbers of a geometric value, in order."""
    return [float8_bits(float(number)) for number in NUMBER.findall(text)]


def points(text: str) -> list[list[bytes]]:
    found = numbers(text)
    return [found[start : start + 2] for start in range(0, len(found), 2)]


def time_tz(text: str) -> dict[str, int]:
    sign = max(text.rfind("+"), text.rfind("-"))
    offset = clock((text[sign + 1 :] + ":00:00")[:8]) // 1_000_000
    return {"time": clock(text[:sign]), "offset": -offset if text[sign] == "-" else offset}


def interval(text: str) -> tuple[int, int, int]:
    """Months, days and nanoseconds of an interval printed in the style "postgres"."""
    months = days = micros = 0
    words = text.split()
    if ":" in words[-1]:
        last = words.pop()
        micros = clock(last.lstrip("+-")) * (-1 if last.startswith("-") else 1)
    for count, unit in zip(words[::2], words[1::2], strict=True):
        if unit.startswith("day"):
            days += int(count)
        else:
            months += int(count) * (12 if unit.startswith("year") else 1)
    return months, days, micros * 1000


def tid(text: str) -> dict[str, int]:
    block, offset = text.strip("()").split(",")
    return {"block": int(block), "offset": int(offset)}


def lsn(text: str) -> int:
    high, low = text.split("/")
    return int(high, 16) << 32 | int(low, 16)


def hstore(text: str) -> list[tuple[str, str | None]]:
    unescaped = [
        [w and ESCAPE.sub(r"\1", w) for w in pair.groups()] for pair in PAIR.finditer(text)
    ]
    return [(key or "", value) for key, value in unescaped]


READERS: dict[str, Callable[[str], Any]] = {
    "bool": {"t": True, "f": False}.__getitem__,
    "int2": int,
    "int4": int,
    "int8": int,
    "oid": int,
    "xid": int,
    "float4": lambda text: float4_bits(float(text)),
    "float8": lambda text: float8_bits(float(text)),
    "bytea": lambda text: bytes.fromhex(text.removeprefix("\\x")),
    "uuid": lambda text: UUID(text).bytes,
    "date": days,
    "time": clock,
    "timestamp": moment,
    "timestamptz": moment,
    "numeric": Decimal,
    "cid": int,
    "xid8": int,
    "pg_lsn": lsn,
    "tid": tid,
    "interval": interval,
    "timetz": time_tz,
    **dict.fromkeys(("point", "line", "lseg", "box", "circle"), numbers),
    "polygon": points,
    "path": lambda text: {"is_closed": text.startswith("("), "points": points(text)},
    "int2vector": lambda text: [int(word) for word in text.split()],
    "oidvector": lambda text: [int(word) for word in text.split()],
    **dict.fromkeys(
        ("vector", "halfvec"), lambda text: [float4_bits(float(n)) for n in NUMBER.findall(text)]
    ),
    "hstore": hstore,
}


def expected(sql_type: str, texts: Sequence[str | None]) -> list[Any]:
    """The column's raw values, from the server's texts."""
    read = READERS.get(base_type(sql_type), str)
    return [None if text is None else read(text) for text in texts]


def raw(column: pa.ChunkedArray) -> list[Any]:
    """The values in Arrow's buffers: times as counts, floats as bits."""
    return [value for chunk in column.chunks for value in raw_array(chunk)]


def raw_array(array: pa.Array) -> list[Any]:
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return raw_array(array.storage)
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return as_list(array.cast(pa.int32()))
    if pa.types.is_time64(kind) or pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return as_list(array.cast(pa.int64()))
    if pa.types.is_float32(kind):
        return [None if number is None else float4_bits(number) for number in as_list(array)]
    if pa.types.is_float64(kind):
        return [None if number is None else float8_bits(number) for number in as_list(array)]
    if pa.types.is_interval(kind):
        return [value and tuple(value) for value in as_list(array)]
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        items = iter(raw_array(array.flatten()))
        lengths = as_list(array.value_lengths())
        return [None if n is None else [next(items) for _ in range(n)] for n in lengths]
    if pa.types.is_struct(kind):
        fields = [raw_array(array.field(index)) for index in range(kind.num_fields)]
        names = [kind.field(index).name for index in range(kind.num_fields)]
        valid = as_list(array.is_valid())
        rows = zip(*fields, strict=True)
        return [
            dict(zip(names, row, strict=True)) if here else None
            for row, here in zip(rows, valid, strict=True)
        ]
    return as_list(array)


def as_list(array: pa.Array) -> list[Any]:
    values: list[Any] = array.to_pylist()
    return values


def arrow_table(columns: object) -> pa.Table:
    """A table from the PyCapsule interface only, with every buffer validated."""
    table = pa.table(columns)
    table.validate(full=True)
    return table


def same(left: object, right: object) -> bool:
    """Whether values are equal and of one class; NaNs are equal, and zeros differ by sign."""
    if type(left) is not type(right):
        return False
    if isinstance(left, float) and isinstance(right, float):
        return float8_bits(left) == float8_bits(right)
    if isinstance(left, Decimal) and isinstance(right, Decimal):
        return (left.is_nan() and right.is_nan()) or left == right
    return left == right
