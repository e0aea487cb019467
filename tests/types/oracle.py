"""What a column must hold, read off the server's own text with none of the driver's code."""

from __future__ import annotations

import json
import re
import struct
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

MOMENT = re.compile(
    r"(?P<year>\d{4,7})-(?P<month>\d\d)-(?P<day>\d\d)"
    r"(?: (?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?:\.(?P<fraction>\d{1,6}))?(?:\+00)?)?"
    r"(?P<bc> BC)?"
)
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
    # Every NaN is the one NaN; a zero has its sign.
    return b"nan" if number != number else struct.pack("<f", number)  # noqa: PLR0124


def float8_bits(number: float) -> bytes:
    return b"nan" if number != number else struct.pack("<d", number)  # noqa: PLR0124


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
}


def base_type(sql_type: str) -> str:
    return sql_type.partition("(")[0]


def expected(sql_type: str, texts: Sequence[str | None]) -> list[Any]:
    """The raw values of the column, by the server's texts."""
    read = READERS.get(base_type(sql_type), str)
    return [None if text is None else read(text) for text in texts]


def raw(column: pa.ChunkedArray) -> list[Any]:
    """The values as Arrow's buffers hold them: times as counts, floats as bits."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        column, kind = storage(column), kind.storage_type
    if pa.types.is_date32(kind):
        return as_list(column.cast(pa.int32()))
    if pa.types.is_time32(kind):
        return as_list(column.cast(pa.int32()))
    if pa.types.is_time64(kind) or pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return as_list(column.cast(pa.int64()))
    if pa.types.is_float32(kind):
        return [None if number is None else float4_bits(number) for number in as_list(column)]
    if pa.types.is_float64(kind):
        return [None if number is None else float8_bits(number) for number in as_list(column)]
    return as_list(column)


def storage(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)


def as_list(column: pa.ChunkedArray) -> list[Any]:
    values: list[Any] = column.to_pylist()
    return values


def arrow_table(columns: object) -> pa.Table:
    """A table by the PyCapsule interface alone, every buffer of it checked."""
    table = pa.table(columns)
    table.validate(full=True)
    return table


def same(left: object, right: object) -> bool:
    """Equal and of one class; NaN is itself, and a zero has its sign."""
    if type(left) is not type(right):
        return False
    if isinstance(left, float) and isinstance(right, float):
        return float8_bits(left) == float8_bits(right)
    if isinstance(left, Decimal) and isinstance(right, Decimal):
        return (left.is_nan() and right.is_nan()) or left == right
    return left == right
