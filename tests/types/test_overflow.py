"""NumPy's datetimes and durations at the ends of their ranges: each is exact, or an error.

Python's unlimited integers compute the expected value; the server's own arithmetic reports the
stored one.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from colonnade.errors import DataError, EncodeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from colonnade.sync import Connection

pytestmark = pytest.mark.thorough

UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as")
CASES = [(unit, step) for unit in UNITS for step in (1, 3)]
DAY_US = 86_400 * 10**6
# Attoseconds of the units with a fixed length.
LENGTH_AS = {
    "W": 7 * 86_400 * 10**18,
    "D": 86_400 * 10**18,
    "h": 3_600 * 10**18,
    "m": 60 * 10**18,
    "s": 10**18,
    "ms": 10**15,
    "us": 10**12,
    "ns": 10**9,
    "ps": 10**6,
    "fs": 10**3,
    "as": 1,
}
# PostgreSQL's first timestamp, in microseconds since 1970; its last one exceeds 64 bits.
FIRST_US = -210_866_803_200_000_000
LAST_US = 2**63 - 1
DATES = range(FIRST_US // DAY_US, 2_145_042_905 + 1)
# `extract` switches to floats for the last timestamps.
CLOCK = (
    "(({0})::date - '1970-01-01')::numeric * 86400000000 + extract(epoch from ({0})::time) * 1e6"
)
MOMENTS = {
    "timestamp": f"({CLOCK})::numeric(30)::text",
    "timestamptz": f"({CLOCK.format('{0} AT TIME ZONE $$UTC$$')})::numeric(30)::text",
}
SPAN = "(extract(epoch from {}) * 1000000)::numeric(30)::text"
EXTREMES = sorted(
    {
        sign * count + offset
        for sign in (1, -1)
        for count in (0, 2**31, 2**53, 2**60, 2**62, 2**63 - 2)
        for offset in (-1, 0, 1)
        if abs(sign * count + offset) < 2**63
    }
)


def first_day(month: int) -> int:
    """The first day of a month, both counted from 1970."""
    year, month = divmod(month, 12)
    cycles, year = divmod(1970 + year, 400)
    day = dt.date(year + 400, month + 1, 1).toordinal() - dt.date(1970, 1, 1).toordinal()
    return day + (cycles - 1) * 146_097


def exact_us(unit: str, count: int) -> int | None:
    """Microseconds since 1970; None if they are not whole."""
    if unit in "YM":
        return first_day(count * 12 if unit == "Y" else count) * DAY_US
    micros, rest = divmod(count * LENGTH_AS[unit], 10**12)
    return None if rest else micros


def near_bounds(unit: str, step: int) -> Iterator[int]:
    """Counts around the ends of PostgreSQL's range, and of 64 bits of microseconds."""
    months = {"Y": 12, "M": 1}.get(unit)
    for end_us in (FIRST_US, LAST_US, DATES[-1] * DAY_US, 2**31 * DAY_US, DAY_US, -(2**63)):
        if months is not None:
            length_us = 30_436_875 * 86_400 * months // 1000
            count = end_us // (length_us * 10**3 * step)
        else:
            count = end_us * 10**12 // (LENGTH_AS[unit] * step)
        yield from (count + offset for offset in (-1, 0, 1) if abs(count + offset) < 2**63)


def stored(send: Callable[[], Any]) -> Any:
    try:
        return send()
    except EncodeError as error:
        return error


def roads(link: Connection, kind: str, array: np.ndarray, told: str) -> Iterator[Any]:
    """The value stored by each way to send it, or the error of a way that refuses it."""
    told_parameter = told.format("$1::" + kind)
    told_element = told.format(f"($1::{kind}[])[1]")
    yield stored(lambda: link.fetchval(f"SELECT {told_parameter}", array[0]))
    yield stored(lambda: link.fetchval(f"SELECT {told_element}", array))
    yield stored(lambda: link.fetchval(f"SELECT {told_element}", list(array)))

    def copied() -> Any:
        link.execute(f"TRUNCATE ends_{kind}")
        link.copy_columns_to_table(f"ends_{kind}", {"v": array})
        return link.fetchval(f"SELECT {told.format('v')} FROM ends_{kind}")

    yield stored(copied)


@pytest.fixture(scope="module", autouse=True)
def tables(link: Connection) -> None:
    for kind in ("timestamp", "timestamptz", "date", "interval", "time"):
        link.execute(f"CREATE TEMPORARY TABLE ends_{kind} (v {kind})")


def check(link: Connection, kind: str, array: np.ndarray, told: str, expected: Any) -> None:
    for road, seen in enumerate(roads(link, kind, array, told)):
        where = f"{array!r} as {kind} by road {road}"
        if expected is None:
            assert isinstance(seen, EncodeError), f"{where}: {seen!r}"
        else:
            assert not isinstance(seen, EncodeError), f"{where}: {seen}"
            assert int(seen) == expected, where


@pytest.mark.parametrize(("unit", "step"), CASES)
def test_moments(link: Connection, unit: str, step: int) -> None:
    for count in {*EXTREMES, *near_bounds(unit, step)}:
        array = np.array([count], "i8").view(f"M8[{step}{unit}]")
        micros = exact_us(unit, count * step)
        fits = micros is not None and FIRST_US <= micros <= LAST_US
        for kind, told in MOMENTS.items():
            check(link, kind, array, told, micros if fits else None)
        days, rest = (None, 0) if micros is None else divmod(micros, DAY_US)
        fits = days is not None and not rest and days in DATES
        check(link, "date", array, "({} - date '1970-01-01')::text", days if fits else None)


@pytest.mark.parametrize(("unit", "step"), CASES)
def test_durations(link: Connection, unit: str, step: int) -> None:
    for count in {*EXTREMES, *near_bounds(unit, step)}:
        array = np.array([count], "i8").view(f"m8[{step}{unit}]")
        total = count * step
        if unit in "YM":
            months = total * 12 if unit == "Y" else total
            fits = -(2**31) <= months < 2**31
            told = "(extract(year from {0}) * 12 + extract(month from {0}))::numeric(30)::text"
            check(link, "interval", array, told, months if fits else None)
            continue
        micros = exact_us(unit, total)
        if unit in "WD":
            days = total * 7 if unit == "W" else total
            fits = -(2**31) <= days < 2**31
            told = "extract(day from {})::text"
            check(link, "interval", array, told, days if fits else None)
        else:
            fits = micros is not None and -(2**63) <= micros < 2**63
            check(link, "interval", array, SPAN, micros if fits else None)
        fits = micros is not None and 0 <= micros <= DAY_US
        check(link, "time", array, SPAN, micros if fits else None)


def test_the_error_names_the_element_and_the_row(link: Connection) -> None:
    moments = np.array([0, 2**60], "i8").view("M8[h]")
    with pytest.raises(
        EncodeError, match=r"\$1 of type timestamp\[\](?s:.*)element \[1\]: .*outside"
    ):
        link.fetchval("SELECT $1::timestamp[]", moments)
    with pytest.raises(EncodeError, match=r'column "v", row 1.* to timestamp: .*outside'):
        link.copy_columns_to_table("ends_timestamp", {"v": moments})
    with pytest.raises(EncodeError, match=r"element \[1\]\[0\]"):
        link.fetchval("SELECT $1::timestamp[]", moments.reshape(2, 1))
    durations = np.array([0, 2**62], "i8").view("m8[h]")
    with pytest.raises(EncodeError, match=r"element \[1\]: .*outside"):
        link.fetchval("SELECT $1::interval[]", durations)


@pytest.mark.parametrize("kind", ["timestamp", "timestamptz", "date"])
@pytest.mark.parametrize("unit", UNITS)
def test_not_a_time(link: Connection, kind: str, unit: str) -> None:
    array = np.array(["NaT"], f"M8[{unit}]")
    assert link.fetchval(f"SELECT ($1::{kind}[])[1]", array) is None
    with pytest.raises(EncodeError, match=r"row 0.*PostgreSQL has no NaT"):
        link.copy_columns_to_table(f"ends_{kind}", {"v": array}, nan_as_null=False)
    # -2^62 units of two equal NaT's count of ones, but are not NaT.
    doubled = np.array([-(2**62)], "i8").view(f"M8[2{unit}]")
    assert all(isinstance(seen, EncodeError) for seen in roads(link, kind, doubled, "{}::text"))


def test_fields_of_structured_arrays(link: Connection) -> None:
    link.execute("CREATE TYPE pg_temp.ends_both AS (at timestamp, n int)")
    link.execute("CREATE TEMPORARY TABLE ends_pair (v pg_temp.ends_both)")
    made = np.zeros(1, [("at", "M8[h]"), ("n", "i4")])
    made["at"] = np.array([2**60], "i8").view("M8[h]")
    with pytest.raises(EncodeError, match=r'column "v", from .*field "at"'):
        link.copy_columns_to_table("ends_pair", {"v": made})
    link.execute("DROP TABLE ends_pair; DROP TYPE pg_temp.ends_both")


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int2", np.int32(2**15)),
        ("int4", np.uint32(2**31)),
        ("int4", np.int64(-(2**31) - 1)),
        ("int8", np.uint64(2**63)),
        ("oid", np.int64(-1)),
        ("oid", np.int64(2**32)),
        ("int8", np.float64(2.0**63)),
        ("int8", np.float64(1e300)),
        ("float4", np.float64(1e39)),
        ("float4", np.int64(2**24 + 1)),
        ("float8", np.int64(2**53 + 1)),
        ("float8", np.uint64(2**64 - 1)),
        ("float8", np.int64(2**62 + 1)),
        ("numeric(2, 0)", np.int64(100)),
    ],
)
def test_numbers_past_their_type(link: Connection, kind: str, value: Any) -> None:
    array = np.array([value])
    for argument in (value, array, array.tolist()):
        suffix = "" if argument is value else "[]"
        with pytest.raises(DataError):
            link.fetchval(f"SELECT $1::{kind}{suffix}", argument)
    link.execute(f"CREATE TEMPORARY TABLE ends_number (v {kind})")
    with pytest.raises(DataError):
        link.copy_columns_to_table("ends_number", {"v": array})
    assert link.fetchval("SELECT count(*) FROM ends_number") == 0
    link.execute("DROP TABLE ends_number")


@pytest.mark.parametrize("value", [2**64 + 1, 10**25, -(3**60), np.uint64(2**64 - 1)])
def test_whole_numbers_that_no_float_is(link: Connection, value: Any) -> None:
    for kind, argument in (("float8", value), ("float8[]", [value]), ("point", (value, 0))):
        with pytest.raises(EncodeError, match="exactly"):
            link.fetchval(f"SELECT $1::{kind}", argument)
    assert link.fetchval("SELECT $1::float8", 2**64) == 2.0**64


def test_masked_values_are_not_looked_at(link: Connection) -> None:
    moments = np.ma.MaskedArray(np.array([0, 2**60], "i8").view("M8[h]"), mask=[False, True])
    link.execute("TRUNCATE ends_timestamp")
    link.copy_columns_to_table("ends_timestamp", {"v": moments})
    seen = link.fetch("SELECT v::text FROM ends_timestamp ORDER BY v")
    assert [row[0] for row in seen] == ["1970-01-01 00:00:00", None]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_arrow_at_its_ends(link: Connection, unit: str) -> None:
    for count in {*EXTREMES, *near_bounds(unit, 1), -(2**63)}:
        micros = exact_us(unit, count)
        is_moment = micros is not None and FIRST_US <= micros <= LAST_US
        is_span = micros is not None and -(2**63) <= micros < 2**63
        for kind, made, fits in (
            ("timestamp", pa.timestamp(unit), is_moment),
            ("timestamptz", pa.timestamp(unit, "UTC"), is_moment),
            ("interval", pa.duration(unit), is_span),
        ):
            array = pa.array([count], pa.int64()).cast(made)
            told = MOMENTS.get(kind, SPAN)
            link.execute(f"TRUNCATE ends_{kind}")

            def copied(kind: str = kind, array: pa.Array = array, told: str = told) -> Any:
                link.copy_columns_to_table(f"ends_{kind}", {"v": array})
                return link.fetchval(f"SELECT {told.format('v')} FROM ends_{kind}")

            def sent(kind: str = kind, array: pa.Array = array, told: str = told) -> Any:
                return link.fetchval(f"SELECT {told.format(f'($1::{kind}[])[1]')}", array)

            for seen in (stored(copied), stored(sent)):
                if fits:
                    assert not isinstance(seen, EncodeError), f"{count} {unit} as {kind}: {seen}"
                    assert int(seen) == micros
                else:
                    assert isinstance(seen, EncodeError), f"{count} {unit} as {kind}"
