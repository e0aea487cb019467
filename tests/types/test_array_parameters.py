"""Arrays of NumPy, Arrow and other libraries as parameters, and their scalars."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from colonnade.errors import EncodeError
from tests.support.case_ids import named
from tests.types import oracle

if TYPE_CHECKING:
    from colonnade.sync import Connection

MOMENT = datetime(2024, 2, 29, 12, 34, 56, 789_012)
MOMENT_UTC = MOMENT.replace(tzinfo=UTC)
DAY = timedelta(days=1)


def objects(*elements: object) -> np.ndarray[Any, Any]:
    """A one-dimensional array of objects that may be arrays, like a column of arrays."""
    made = np.empty(len(elements), dtype=object)
    made[:] = elements
    return made


#: A type, an array as a parameter, and the list that a row gives.
TAKEN: tuple[tuple[str, Any, list[Any]], ...] = (
    ("bool[]", np.array([True, False]), [True, False]),
    ("int2[]", np.array([-1, 2], dtype="i1"), [-1, 2]),
    ("int4[]", np.arange(3), [0, 1, 2]),
    ("int4[]", np.arange(6)[::-2], [5, 3, 1]),
    ("int4[]", np.arange(3, dtype=">i4"), [0, 1, 2]),
    ("int4[]", np.arange(4).reshape(2, 2), [[0, 1], [2, 3]]),
    ("int4[]", np.arange(4).reshape(2, 2).T, [[0, 2], [1, 3]]),
    ("int4[]", np.array([], dtype="i4"), []),
    ("int4[]", np.zeros((2, 0), dtype="i4"), []),
    ("int4[]", np.array([1, None], dtype=object), [1, None]),
    ("int8[]", np.array([2**63 - 1], dtype="u8"), [2**63 - 1]),
    ("oid[]", np.array([2**32 - 1], dtype="u4"), [2**32 - 1]),
    ("float4[]", np.array([0.5, np.nan], dtype="f2"), [0.5, float("nan")]),
    ("float8[]", np.array([0.1, -0.0, np.nan, np.inf]), [0.1, -0.0, float("nan"), float("inf")]),
    ("float8[]", np.arange(2), [0.0, 1.0]),
    ("numeric[]", np.array([1, 2]), [Decimal(1), Decimal(2)]),
    ("numeric[]", np.array([0.5]), [Decimal("0.5")]),
    ("text[]", np.array(["", "ä\U0001f600", "b"]), ["", "ä\U0001f600", "b"]),
    ("text[]", np.array(["a", "b"], dtype=">U3"), ["a", "b"]),
    ("text[]", np.array(["a", None], dtype=np.dtypes.StringDType(na_object=None)), ["a", None]),
    ("bytea[]", np.array([b"a", b"\0b", b""]), [b"a", b"\0b", b""]),
    ("date[]", np.array(["2024-02-29", "NaT"], dtype="M8[D]"), [date(2024, 2, 29), None]),
    ("date[]", np.array(["2024-02"], dtype="M8[M]"), [date(2024, 2, 1)]),
    ("timestamp[]", np.array([MOMENT, "NaT"], dtype="M8[us]"), [MOMENT, None]),
    ("timestamp[]", np.array([MOMENT], dtype="M8[ns]"), [MOMENT]),
    ("timestamp[]", np.array(["2024-02-29"], dtype="M8[D]"), [datetime(2024, 2, 29)]),
    (
        "timestamptz[]",
        np.array([MOMENT, "NaT"], dtype="M8[us]"),
        [MOMENT_UTC, None],
    ),
    ("interval[]", np.array([1, "NaT"], dtype="m8[ms]"), [timedelta(milliseconds=1), None]),
    ("interval[]", np.array([1], dtype="m8[D]"), [DAY]),
    ("numeric[]", np.ma.masked_array([1.0, 2.0], [True, False]), [None, Decimal(2)]),
    ("float8[]", np.ma.masked_array([[1.0, 2.0]], [[True, False]]), [[None, 2.0]]),
    ("float8[]", [np.ma.masked, 1.0], [None, 1.0]),
    ("timestamp[]", np.ma.masked_array(np.array([MOMENT], "M8[us]"), [True]), [None]),
    ("int2vector", np.array([1, 2]), [1, 2]),
    ("oidvector", pa.array([1, 2]), [1, 2]),
    ("bytea[]", objects(objects(b"a", b"b"), objects(b"c", None)), [[b"a", b"b"], [b"c", None]]),
    ("tid[]", objects(objects((1, 2)), objects((3, 4))), [[(1, 2)], [(3, 4)]]),
    ("int4[]", pd.Series([1, 2]), [1, 2]),
    ("int4[]", pd.Series([1, None], dtype="Int64"), [1, None]),
    ("text[]", pd.Series(["a", None], dtype="str"), ["a", None]),
    ("text[]", pd.Index(["a", "b"]), ["a", "b"]),
    ("float8[]", pd.Series([0.5, np.nan]), [0.5, float("nan")]),
    ("timestamp[]", pd.Series([pd.Timestamp(MOMENT), pd.NaT]), [MOMENT, None]),
    (
        "timestamptz[]",
        pd.Series([pd.Timestamp(MOMENT, tz="UTC"), pd.NaT]),
        [MOMENT_UTC, None],
    ),
    ("text[]", pd.Series(["a", "b"], dtype="category"), ["a", "b"]),
    ("int4[]", pl.Series([1, None, 3]), [1, None, 3]),
    ("text[]", pl.Series(["a", None]), ["a", None]),
    ("date[]", pl.Series([date(2024, 2, 29)]), [date(2024, 2, 29)]),
    (
        "timestamptz[]",
        pl.Series([MOMENT]).dt.replace_time_zone("UTC"),
        [MOMENT_UTC],
    ),
    ("int8[]", pl.concat([pl.Series([1]), pl.Series([2])], rechunk=False), [1, 2]),
    ("int4[]", pa.array([1, None]), [1, None]),
    ("int4[]", pa.array([], pa.int32()), []),
    ("int4[]", pa.array([0, 1, 2, 3])[1:3], [1, 2]),
    ("int4[]", pa.chunked_array([[1], [2, None]]), [1, 2, None]),
    ("int4[]", pa.chunked_array([], pa.int64()), []),
    ("text[]", pa.array(["a", "b", "a"]).dictionary_encode(), ["a", "b", "a"]),
    ("text[]", pa.array(["a"], pa.string_view()), ["a"]),
    ("numeric[]", pa.array([Decimal("1.50")]), [Decimal("1.50")]),
    ("values_level[]", np.array(["low", "high"]), ["low", "high"]),
    ("values_level[]", pl.Series(["low", None]), ["low", None]),
    ("values_level[]", pa.array(["low", None]), ["low", None]),
)


@pytest.fixture(scope="module", autouse=True)
def types(link: Connection) -> Any:
    link.execute("CREATE TYPE values_level AS ENUM ('low', 'high')")
    yield
    link.execute("DROP TYPE values_level")


@pytest.mark.parametrize(("sql_type", "value", "wanted"), TAKEN, ids=named)
def test_taken(link: Connection, sql_type: str, value: object, wanted: list[Any]) -> None:
    came_back = link.fetchval(f"SELECT $1::{sql_type}", value)
    assert len(came_back) == len(wanted)
    for left, right in zip(came_back, wanted, strict=True):
        assert oracle.same(left, right), came_back


def test_any_and_unnest(link: Connection) -> None:
    numbers = np.arange(0, 1_000_000, 3)
    sql = "SELECT count(*) FROM generate_series(0, 999999) x(n) WHERE n = ANY($1::int4[])"
    assert link.fetchval(sql, numbers[:1000]) == 1000
    cols = link.fetch_columns(
        "SELECT * FROM unnest($1::int8[], $2::text[]) x(number, name)",
        numbers,
        pl.Series([f"n{number}" for number in numbers.tolist()]),
    )
    assert (cols["number"] == numbers).all()
    assert cols["name"][-1] == "n999999"


REFUSED: tuple[tuple[str, Any, str], ...] = (
    ("int2[]", np.array([[1, 2], [3, 70_000]]), "(element [1][1]: 70000 is out of range for int2"),
    ("int4[]", np.array(1), "an array without dimensions is not a list"),
    ("int4[]", np.array([0.5]), "element [0]"),
    ("int4[]", np.zeros(2, dtype=[("a", "i4")]), "an array of dtype [('a', '<i4')] does not"),
    ("int4[]", np.zeros(1, dtype="c8"), "an array of dtype complex64 does not hold"),
    ("int4[]", np.zeros((1,) * 7, dtype="i4"), "6 dimensions"),
    ("text[]", np.array([1, 2]), "(element [0]: expected a str, got numpy.int64)"),
    ("text[]", pa.array([1, 2]), "Arrow's Int64 is not written to text"),
    ("timestamp[]", np.array([1], dtype="M8[ns]"), "element [0]"),
    ("int4[]", pl.Series(["a"]), "is not written to int4"),
)


@pytest.mark.parametrize(("sql_type", "value", "reason"), REFUSED, ids=named)
def test_refused(link: Connection, sql_type: str, value: object, reason: str) -> None:
    with pytest.raises(EncodeError) as refused:
        link.fetchval(f"SELECT $1::{sql_type}", value)
    assert reason in str(refused.value)
    assert link.fetchval("SELECT 1") == 1


#: A type, a scalar of NumPy or pandas, and the value that a row gives.
SCALARS: tuple[tuple[str, Any, Any], ...] = (
    ("int4", np.int64(7), 7),
    ("float8", np.float32(0.5), 0.5),
    ("bool", np.bool_(True), True),
    ("text", np.str_("a"), "a"),
    ("bytea", np.bytes_(b"a"), b"a"),
    ("numeric", np.int64(7), Decimal(7)),
    ("numeric", np.float32(0.5), Decimal("0.5")),
    ("date", np.datetime64("2024-02-29"), date(2024, 2, 29)),
    ("date", np.datetime64("2024"), date(2024, 1, 1)),
    ("date", np.datetime64("2024-02-29T00", "ns"), date(2024, 2, 29)),
    ("timestamp", np.datetime64(MOMENT), MOMENT),
    ("timestamp", np.datetime64(MOMENT, "ns"), MOMENT),
    ("timestamp", np.datetime64("1969-12"), datetime(1969, 12, 1)),
    ("timestamptz", np.datetime64(MOMENT), MOMENT.replace(tzinfo=UTC)),
    ("interval", np.timedelta64(3, "D"), timedelta(days=3)),
    ("interval", np.timedelta64(3, "M"), timedelta(days=90)),
    ("interval", np.timedelta64(-1, "us"), timedelta(microseconds=-1)),
    ("timestamp", pd.Timestamp(MOMENT), MOMENT),
    ("timestamptz", pd.Timestamp(MOMENT, tz="UTC"), MOMENT.replace(tzinfo=UTC)),
    ("interval", pd.Timedelta(days=1), DAY),
    ("timestamp", pd.NaT, None),
    ("int4", pd.NA, None),
    ("timestamp", np.datetime64("NaT", "us"), None),
    ("interval", np.timedelta64("NaT", "us"), None),
    ("float8", np.float64("nan"), float("nan")),
    ("int4[]", [np.int8(1), pd.NA, None], [1, None, None]),
)


@pytest.mark.parametrize(("sql_type", "value", "wanted"), SCALARS, ids=named)
def test_scalars(link: Connection, sql_type: str, value: object, wanted: object) -> None:
    came_back = link.fetchval(f"SELECT $1::{sql_type}", value)
    assert oracle.same(came_back, wanted), came_back


def test_a_moment_of_pandas_without_a_time_zone_is_local_time(link: Connection) -> None:
    value = link.fetchval("SELECT $1::timestamptz", pd.Timestamp(MOMENT))
    assert value == MOMENT.astimezone()


@pytest.mark.parametrize(
    ("sql_type", "value", "reason"),
    [
        ("timestamp", np.datetime64(1, "ns"), "a count of 1 nanoseconds is not a whole number of"),
        ("timestamp", np.datetime64(2**62, "s"), "value is outside of 64 bits of microseconds"),
        ("timestamp", np.datetime64(2**62, "Y"), "value is outside of 64 bits of microseconds"),
        ("date", np.datetime64("2024-02-29T12"), "it is not the first moment of a day"),
        ("interval", np.array([5]).view("m8")[0], "it has no unit of time"),
        ("interval", np.timedelta64(2**40, "D"), "value is outside of an interval's 32 bits"),
        (
            "timestamp",
            pd.Timestamp("2024-01-01 00:00:00.000000001"),
            "nanoseconds is not a whole number",
        ),
        ("interval", pd.Timedelta(1, "ns"), "nanoseconds is not a whole number"),
    ],
    ids=named,
)
def test_scalars_refused(link: Connection, sql_type: str, value: object, reason: str) -> None:
    with pytest.raises(EncodeError) as refused:
        link.fetchval(f"SELECT $1::{sql_type}", value)
    assert reason in str(refused.value)
