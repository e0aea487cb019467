"""Generated values of every type, alone and within others; `test_every_type.py` has the edges."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from colonnade import _core
from tests.types import literals, oracle
from tests.types.corpus import SAMPLES, Sample
from tests.types.rare_samples import RARE_SAMPLES
from tests.types.strategies import DATE, FLOAT4, FLOAT8, TEXT, TEXTS, TIMESTAMP, integers
from tests.types.test_every_type import (
    OUTPUT_ONLY,
    PSEUDO_TYPES,
    TEXT_ONLY,
    TEXT_PARAMETERS,
    UNORDERED,
    VECTORS,
    array_reader,
    check,
    of_parts,
    reader,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hypothesis.strategies import SearchStrategy

    from colonnade.sync import Connection

few = settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
NAMES = itertools.count(1)
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
        from ipaddress import IPv4Network, IPv6Network

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
#: Texts that have a row, a column and a parameter.
MADE: dict[str, SearchStrategy[str]] = {
    **{name: texts for name, texts in TEXTS.items() if not name.startswith(("date", "timestamp"))},
    "date": DATE.map(str),
    "timestamp": TIMESTAMP.map(str),
    "timestamptz": TIMESTAMP.map("{}+00".format),
    "xid": st.integers(0, 2**32 - 1).map(str),
    "cid": st.integers(0, 2**32 - 1).map(str),
    "xid8": UINT64.map(str),
    "pg_lsn": UINT64.map(lambda place: f"{place >> 32:X}/{place & 0xFFFFFFFF:X}"),
    "tid": st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 2**16 - 1)).map(
        lambda pair: f"({pair[0]},{pair[1]})"
    ),
    "interval": INTERVAL,
    "timetz": st.builds(lambda time, offset: f"{time}{clock(offset)}", st.times(), OFFSET),
    "bit": of_bits(1, 1),
    "bit(11)": of_bits(11, 11),
    "varbit": of_bits(0, 70),
    "inet": st.ip_addresses().map(str),
    "cidr": network(32) | network(128),
    "macaddr": pairs_of_hex(6),
    "macaddr8": pairs_of_hex(8),
    "point": PAIR,
    "lseg": figure("[({},{}),({},{})]", 4),
    "box": st.lists(FINITE.map(repr), min_size=4, max_size=4).map(
        lambda numbers: "({},{}),({},{})".format(*numbers)
    ),
    "line": st.tuples(FINITE, st.integers(1, 1000).map(float), FINITE).map(
        lambda line: f"{{{line[0]!r},{line[1]!r},{line[2]!r}}}"
    ),
    "circle": st.tuples(FINITE, FINITE, FINITE.map(abs)).map(
        lambda circle: f"<({circle[0]!r},{circle[1]!r}),{circle[2]!r}>"
    ),
    "path": PAIRS.map("[{}]".format) | PAIRS.map("({})".format),
    "polygon": PAIRS.map("({})".format),
    "money": integers(63).map(lambda cents: f"{cents / 100:.2f}"),
    "pg_snapshot": SNAPSHOT,
    "txid_snapshot": SNAPSHOT,
    "tsvector": st.lists(st.tuples(WORD, st.integers(1, 16_383)), max_size=4).map(
        lambda words: " ".join(f"{word}:{place}" for word, place in words)
    ),
    "tsquery": st.lists(WORD, min_size=1, max_size=4).map(" & ".join),
    "refcursor": TEXT,
    "cstring": TEXT,
    "int2vector": st.lists(integers(16).map(str), max_size=6).map(" ".join),
    "oidvector": st.lists(st.integers(0, 2**32 - 1).map(str), max_size=6).map(" ".join),
    "float4": FLOAT4.map(repr),
}
# Names of what is in the catalogs, and other words of a language: the edges are all there is.
NOT_GENERATED = {name for name in TEXT_ONLY if name.startswith("reg")} | {
    *("aclitem", "jsonpath", "xml"),
}


@pytest.fixture
def made(link: Connection) -> Iterator[str]:
    link.execute("BEGIN")
    yield f"generated_{next(NAMES)}"
    link.execute("ROLLBACK")


def test_every_type_is_generated() -> None:
    known = {line.name for line in _core.TYPES} | VECTORS
    generated = {oracle.base_type(name).strip('"') for name in MADE}
    assert known - OUTPUT_ONLY - NOT_GENERATED - generated - {"bpchar"} == set()
    assert {oracle.base_type(s.sql_type) for s in (*SAMPLES, *RARE_SAMPLES)} >= {
        oracle.base_type(name) for name in MADE
    }


def checks(link: Connection, sql_type: str, made: str) -> Iterator[Callable[[Sample], None]]:
    """What is asked of generated values: each a check of a sample."""
    base = oracle.base_type(sql_type)
    back = "" if base in TEXT_PARAMETERS - TEXT_ONLY else made
    yield lambda sample: check(link, sample, "v", reader(sample), sql_type)
    if base not in VECTORS:
        lists = f"ARRAY[v, NULL, v]::{base}[]"
        yield lambda sample: check(link, sample, lists, array_reader(sample), f"{base}[]")
    if base in PSEUDO_TYPES:
        return
    link.execute(f"CREATE TYPE {made} AS (a {sql_type}, b int4)")

    def pair(sample: Sample) -> None:
        read = of_parts(sample, literals.composite([("a", reader(sample)), ("b", int)]))
        check(link, sample, f"ROW(v, 7)::{made}", read, back)

    yield pair
    if base in UNORDERED:
        return
    link.execute(f"CREATE TYPE {made}_range AS RANGE (subtype = {base})")

    def bounds(sample: Sample) -> None:
        read = of_parts(sample, literals.range_of(reader(sample)))
        check(link, sample, f"{made}_range(v, v, '[]')", read, back and f"{back}_range")

    yield bounds


@pytest.mark.parametrize("sql_type", MADE)
def test_generated_values(link: Connection, sql_type: str, made: str) -> None:
    asked = list(checks(link, sql_type, made))

    @few
    @given(st.lists(MADE[sql_type], min_size=1, max_size=6))
    def run(texts: list[str]) -> None:
        sample = Sample(sql_type, "", tuple(texts))
        for ask in asked:
            ask(sample)

    run()
