"""Hypothesis strategies: text for the server, and Python objects for parameters."""

from __future__ import annotations

import json
import struct
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from ipaddress import IPv4Network, IPv6Network
from typing import TYPE_CHECKING

from hypothesis import strategies as st

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)
FLOAT8 = st.floats()
FLOAT4 = st.floats(width=32)
# Exclude the outermost values, which stand for the infinities.
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
    return json.dumps(value, ensure_ascii=False)


def float4_text(number: float) -> str:
    (narrow,) = struct.unpack("<f", struct.pack("<f", number))
    return repr(narrow)


def days_text(days: int) -> str:
    """A date as text, from its Julian day: PostgreSQL accepts every day from its first date on."""
    return f"J{days}"


def bounded_decimal(precision: int, scale: int) -> SearchStrategy[str]:
    most = 10**precision - 1
    return st.integers(-most, most).map(lambda digits: f"{digits}e{-scale}")


def moment_text(micros: int) -> str:
    """The text of a timestamp, which may be outside Python's years."""
    day, rest = divmod(micros, 86_400_000_000)
    seconds, fraction = divmod(rest, 1_000_000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:06}"
    return f"J{day + 2_440_588} {clock}"


DAY_TEXT = st.integers(0, 2_147_483_493).map(days_text)
MOMENT_TEXT = st.integers(-(210_866_803_200 * 10**6), 2**63 - 2).map(moment_text)

NUMBER = FLOAT8.map(repr)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
PAIR = st.tuples(NUMBER, NUMBER).map(lambda pair: f"({pair[0]},{pair[1]})")
PAIRS = st.lists(PAIR, min_size=1, max_size=5).map(",".join)
WORD = st.sampled_from(["a", "b b", "it''s", "x\\\\y", "\u00e9", "c:d", ","]).map("'{}'".format)
OFFSET = st.integers(-57_599, 57_599)
UINT64 = st.integers(0, 2**64 - 1)


def of_bits(least: int, most: int) -> SearchStrategy[str]:
    return st.text("01", min_size=least, max_size=most)


def clock(seconds: int) -> str:
    sign = "-" if seconds < 0 else "+"
    seconds = abs(seconds)
    return f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def pairs_of_hex(count: int) -> SearchStrategy[str]:
    return st.binary(min_size=count, max_size=count).map(lambda raw: raw.hex(":"))


def network(bits: int) -> SearchStrategy[str]:
    def made(address: int, prefix: int) -> str:
        kind = IPv4Network if bits == 32 else IPv6Network
        return str(kind((address, prefix), strict=False))

    return st.builds(made, st.integers(0, 2**bits - 1), st.integers(0, bits))


def figure(form: str, numbers: int) -> SearchStrategy[str]:
    return st.lists(NUMBER, min_size=numbers, max_size=numbers).map(lambda n: form.format(*n))


SNAPSHOT = st.lists(st.integers(5, 999), unique=True, max_size=6).map(
    lambda running: "4:1000:" + ",".join(map(str, sorted(running)))
)
INTERVAL = st.builds(
    lambda months, days, micros: f"{months} mons {days} days {micros} microseconds",
    *(integers(12), integers(20), integers(53)),
)
ADDRESS = (
    st.ip_addresses().map(str)
    | st.builds("{}/{}".format, st.ip_addresses(v=4), st.integers(0, 32))
    | st.builds("{}/{}".format, st.ip_addresses(v=6), st.integers(0, 128))
)
PLACES = st.lists(
    st.builds("{}{}".format, st.integers(1, 16_383), st.sampled_from(["", "A", "B", "C", "D"])),
    min_size=1,
    max_size=4,
).map(",".join)
TSVECTOR = st.lists(WORD | st.builds("{}:{}".format, WORD, PLACES), max_size=5).map(" ".join)
WEIGHTS = st.sets(st.sampled_from("ABCD*"), min_size=1).map("".join)
TSQUERY = st.recursive(
    WORD | st.builds("{}:{}".format, WORD, WEIGHTS),
    lambda inner: (
        inner.map("!({})".format)
        | st.builds(
            "({}) {} ({})".format, inner, st.sampled_from(["&", "|", "<->", "<3>", "<0>"]), inner
        )
    ),
    max_leaves=6,
)
