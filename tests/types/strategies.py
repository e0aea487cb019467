"""Generated values: as the texts the server reads, and as the Python objects a parameter takes."""

from __future__ import annotations

import struct
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hypothesis.strategies import SearchStrategy

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)
# One of a kind: two NaN of different bits print the same.
FLOAT8 = st.floats()
FLOAT4 = st.floats(width=32)
# The outermost values stand for the infinities.
DATE = st.dates(date.min + timedelta(1), date.max - timedelta(1))
TIMESTAMP = st.datetimes(datetime.min + timedelta(1), datetime.max - timedelta(1))
ZONE = st.integers(-15 * 60, 15 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
TIMESTAMPTZ = st.datetimes(
    datetime.min + timedelta(2), datetime.max - timedelta(2), timezones=st.just(UTC) | ZONE
)
DECIMAL = st.builds(
    lambda digits, exponent: Decimal(digits).scaleb(exponent),
    st.integers(-(10**28) + 1, 10**28 - 1),
    st.integers(-30, 6),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


def integers(bits: int) -> SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def json_text(value: object) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)


def float4_text(number: float) -> str:
    (narrow,) = struct.unpack("<f", struct.pack("<f", number))
    return repr(narrow)


def days_text(days: int) -> str:
    """PostgreSQL counts Julian days, from its first date on: every one of them has a text."""
    return f"J{days}"


def bounded_decimal(precision: int, scale: int) -> SearchStrategy[str]:
    most = 10**precision - 1
    return st.integers(-most, most).map(lambda digits: f"{digits}e{-scale}")


def moment_text(micros: int) -> str:
    """A moment by its distance from 1970, read by the server, not by Python's years."""
    day, rest = divmod(micros, 86_400_000_000)
    seconds, fraction = divmod(rest, 1_000_000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:06}"
    return f"J{day + 2_440_588} {clock}"


MOMENT_TEXT = st.integers(-(210_866_803_200 * 10**6), 2**63 - 2).map(moment_text)

#: Texts of a type, as the server reads them.
TEXTS: Mapping[str, SearchStrategy[str]] = {
    "bool": st.sampled_from(["t", "f"]),
    "int2": integers(16).map(str),
    "int4": integers(32).map(str),
    "int8": integers(64).map(str),
    "oid": st.integers(0, 2**32 - 1).map(str),
    "float4": FLOAT4.map(float4_text),
    "float8": FLOAT8.map(repr),
    "text": TEXT,
    "varchar": TEXT,
    "bpchar": TEXT,
    "char(7)": TEXT,
    "name": TEXT,
    '"char"': st.characters(min_codepoint=1, max_codepoint=127),
    "bytea": st.binary(max_size=60).map(lambda data: "\\x" + data.hex()),
    "uuid": st.uuids().map(str),
    "json": JSON.map(json_text),
    "jsonb": JSON.map(json_text),
    "date": st.integers(0, 2_147_483_493).map(days_text),
    "time": st.times().map(str),
    "timestamp": MOMENT_TEXT,
    "timestamptz": MOMENT_TEXT,
    "numeric": DECIMAL.map(str),
    "numeric(15,2)": bounded_decimal(15, 2),
    "numeric(38,10)": bounded_decimal(38, 10),
    "numeric(76,30)": bounded_decimal(76, 30),
    "numeric(5,-2)": bounded_decimal(5, -2),
    "numeric(3,5)": bounded_decimal(3, 5),
}

#: Objects that a parameter of the type takes and its rows give back.
OBJECTS: Mapping[str, SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "int2": integers(16),
    "int4": integers(32),
    "int8": integers(64),
    "oid": st.integers(0, 2**32 - 1),
    "float4": FLOAT4,
    "float8": FLOAT8,
    "text": TEXT,
    "varchar": TEXT,
    '"char"': st.binary(min_size=1, max_size=1),
    "bytea": st.binary(max_size=60),
    "uuid": st.uuids(),
    "json": JSON.map(json_text),
    "date": DATE,
    "time": st.times(),
    "timestamp": TIMESTAMP,
    "timestamptz": TIMESTAMPTZ,
    "numeric": DECIMAL | st.decimals(allow_nan=False, allow_infinity=False, places=7),
}
