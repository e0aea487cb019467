"""numeric in pandas: floats that pandas computes with, a warning, and decimals for who asks."""

from __future__ import annotations

import math
import warnings
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import hypothesis
import pandas as pd
import psycopg
import pyarrow as pa
import pytest
from hypothesis import strategies as st

import colonnade
from colonnade import dbapi, read_sql, write_table

if TYPE_CHECKING:
    from tests.columns.conftest import Fetch

QUERY = """SELECT k, a, b::numeric(5, 2) AS b
           FROM (VALUES ('a', 1, 0.10), ('a', 2::numeric, 0.15), ('b', 4, NULL)) AS x (k, a, b)
           ORDER BY k, a"""
BIG = "SELECT 1 AS k, 12345678901234567.89 AS big, 0.1 AS small"


@pytest.fixture
def frame(dsn: str) -> pd.DataFrame:
    return read_sql(QUERY, dsn)


def test_what_pandas_itself_reads(dsn: str, frame: pd.DataFrame) -> None:
    with psycopg.connect(dsn) as connection:
        cursor = connection.execute(QUERY)
        names = [column.name for column in cursor.description or ()]
        want = pd.DataFrame.from_records(cursor.fetchall(), columns=names, coerce_float=True)
    pd.testing.assert_frame_equal(frame, want)


def test_arithmetic(frame: pd.DataFrame) -> None:
    assert frame["a"].mean() == 7 / 3
    assert frame["b"].mean() == 0.125
    assert frame.groupby("k")["a"].mean().to_dict() == {"a": 1.5, "b": 4.0}
    assert frame["a"].agg(["mean", "median"]).tolist() == [7 / 3, 2.0]
    assert list(frame.describe().columns) == ["a", "b"]
    assert frame.describe().loc["mean", "b"] == 0.125
    assert list(frame.select_dtypes("number").columns) == ["a", "b"]
    assert frame["a"].cumsum().tolist() == [1, 3, 7]
    assert frame["a"].nlargest(2).tolist() == [4, 2]
    assert frame.eval("a * 2").tolist() == [2, 4, 8]
    assert math.isnan(frame["b"][2])


@pytest.mark.parametrize(
    ("dtypes", "floats"),
    [("numpy", "float64"), ("nullable", "Float64"), ("arrow", "double[pyarrow]")],
)
def test_families(dsn: str, dtypes: Any, floats: str) -> None:
    frame = read_sql(QUERY, dsn, dtypes=dtypes)
    assert [str(frame[name].dtype) for name in "ab"] == [floats, floats]
    assert frame["b"].isna().tolist() == [False, False, True]
    assert frame["b"].mean() == 0.125
    exact = read_sql(QUERY, dsn, dtypes=dtypes, decimals="decimal")
    decimals = ["decimal128(38, 0)[pyarrow]", "decimal128(5, 2)[pyarrow]"]
    assert [str(exact[name].dtype) for name in "ab"] == decimals
    objects = read_sql(QUERY, dsn, dtypes=dtypes, decimals="object")
    assert objects["b"].tolist() == [Decimal("0.10"), Decimal("0.15"), None]


def test_the_warning_comes_once(dsn: str) -> None:
    with pytest.warns(colonnade.InexactDecimalWarning) as caught:
        frame = read_sql(f"SELECT big, small, big AS again FROM ({BIG}) x", dsn)
    (one,) = caught
    assert one.filename == __file__
    text = str(one.message)
    assert '"big" (row 0: 12345678901234567.89), "again" (row 0' in text
    assert 'decimals="float64", or schema={"big": "float64"}' in text
    assert "small" not in text
    assert frame["big"][0] == 12345678901234567.89
    with pytest.warns(colonnade.InexactDecimalWarning) as caught:
        frames = list(read_sql(f"{BIG}, generate_series(1, 5)", dsn, batch_rows=2))
    assert (len(frames), len(caught)) == (3, 1)
    with dbapi.connect(dsn) as connection, connection.cursor() as cursor:
        cursor.execute(BIG)
        with pytest.warns(colonnade.InexactDecimalWarning) as caught:
            cursor.fetch_df()
        cursor.execute(BIG)
        assert cursor.fetch_df(decimals="object")["small"].tolist() == [Decimal("0.1")]
    assert len(caught) == 1


@pytest.mark.parametrize("decimals", ["decimal", "object"])
def test_no_warning_where_decimals_stay(dsn: str, decimals: Any) -> None:
    frame = read_sql(BIG, dsn, decimals=decimals)
    assert frame["big"].tolist() == [Decimal("12345678901234567.89")]


def test_no_warning_where_floats_are_asked_for_or_hold(dsn: str) -> None:
    assert read_sql(BIG, dsn, schema={"big": "float64"})["small"].tolist() == [0.1]
    frame = read_sql(BIG, dsn, decimals="float64")
    assert frame["big"].tolist() == [12345678901234567.89]
    with dbapi.connect(dsn) as connection, connection.cursor() as cursor:
        cursor.execute(BIG)
        assert cursor.fetch_df(decimals="float64")["big"].dtype == "float64"
    exact = "SELECT v FROM (VALUES (0.1), (9007199254740992), (1e20), (-99999999.99999)) x (v)"
    assert read_sql(exact, dsn)["v"].tolist() == [0.1, 2.0**53, 1e20, -99999999.99999]
    assert read_sql("SELECT 1.5::numeric AS v WHERE false", dsn)["v"].dtype == "float64"


LATER = "SELECT CASE WHEN k > 2 THEN 1e-30 ELSE 1.5 END AS v FROM generate_series(1, 4) AS k"


@pytest.mark.parametrize("decimals", [None, "float64"])
@pytest.mark.parametrize(
    ("query", "rows", "want"),
    [
        ("SELECT 'NaN'::numeric AS v", None, [math.nan]),
        ("SELECT 'Infinity'::numeric AS v", None, [math.inf]),
        ("SELECT 1e100::numeric AS v", None, [1e100]),
        (LATER, 2, [1.5, 1.5, 1e-30, 1e-30]),
    ],
)
def test_what_no_decimal_holds_needs_a_schema(
    dsn: str, query: str, rows: int | None, want: list[float], decimals: Any
) -> None:
    options: dict[str, Any] = {} if rows is None else {"batch_rows": rows}

    def read(**more: Any) -> list[float]:
        made: Any = read_sql(query, dsn, **options, **more)
        frames = [made] if rows is None else list(made)
        return [value for frame in frames for value in frame["v"].tolist()]

    with pytest.raises(colonnade.DecodeError, match='"float64"'):
        read(decimals=decimals)
    assert read(schema={"v": "float64"}) == pytest.approx(want, rel=0, abs=0, nan_ok=True)


@pytest.mark.parametrize("decimals", ["float64", "decimal", "object"])
def test_a_schema_wins(fetch: Fetch, decimals: Any) -> None:
    schema = {"big": "decimal128(30, 4)"}
    cols = fetch(BIG, schema=schema)
    for part in (cols, cols[0:1], colonnade.Columns.concat([cols, cols])):
        frame = part.to_pandas(decimals=decimals)
        assert str(frame["big"].dtype) == "decimal128(30, 4)[pyarrow]"
        assert (str(frame["small"].dtype) == "float64") == (decimals == "float64")


def test_other_libraries_have_decimals(fetch: Fetch) -> None:
    cols = fetch("SELECT 0.15 AS v, ARRAY[0.15] AS list")
    assert cols["v"][0] == cols.to_polars()["v"][0] == Decimal("0.15")
    assert cols.to_arrow().schema.field("v").type == pa.decimal128(38, 2)
    assert cols.to_pandas()["list"][0] == [Decimal("0.15")]


@pytest.mark.parametrize(
    ("decimals", "types", "want"),
    [
        (None, None, "double precision"),
        ("decimal", None, "numeric"),
        (None, {"v": "numeric(5, 2)"}, "numeric"),
    ],
)
def test_a_table_that_is_read_and_replaced(dsn: str, decimals: Any, types: Any, want: str) -> None:
    with colonnade.sync.connect(dsn) as connection:
        connection.execute("DROP TABLE IF EXISTS replaced")
        connection.execute("CREATE TABLE replaced AS SELECT 0.1::numeric(5, 2) AS v")
        frame = read_sql("SELECT v FROM replaced", connection, decimals=decimals)
        write_table(frame, "replaced", connection, if_exists="replace", types=types)
        types_and_texts = "SELECT pg_typeof(v)::text || ' ' || (v = 0.1)::text FROM replaced"
        assert connection.fetchval(types_and_texts) == f"{want} true"
        connection.execute("DROP TABLE replaced")


def test_words_that_are_none(dsn: str, fetch: Fetch) -> None:
    with pytest.raises(ValueError, match='decimals must be "float64", "decimal" or "object"'):
        fetch(BIG).to_pandas(decimals="float")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="decimals is for pandas"):
        read_sql(BIG, dsn, into="polars", decimals="object")  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="decimals is for pandas"):
        read_sql(BIG, dsn, into="arrow", decimals="float64")  # type: ignore[call-overload]
    with pytest.raises(ValueError, match=r"dtypes must be .*, not a dict"):
        read_sql(BIG, dsn, dtypes={"a": "int64"})  # type: ignore[call-overload]


# Exact, whatever the context's precision is; up to 76 digits beside each other.
DECIMALS = st.builds(
    lambda digits, places: Decimal(f"{digits}e-{places}"),
    st.integers(-(10**45), 10**45) | st.integers(-(10**17), 10**17),
    st.integers(0, 30),
)


@hypothesis.settings(max_examples=60, deadline=None)
@hypothesis.given(values=st.lists(st.none() | DECIMALS, min_size=1, max_size=8))
def test_the_nearest_float_as_python_has_it(fetch: Fetch, values: list[Decimal | None]) -> None:
    rows = ", ".join("(NULL)" if value is None else f"({value:f})" for value in values)
    cols = fetch(f"SELECT v::numeric FROM (VALUES {rows}) x (v)")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        floats = cols.to_pandas()["v"].tolist()
    held = True
    for value, given in zip(values, floats, strict=True):
        if value is None:
            assert math.isnan(given)
            continue
        assert given == float(value)
        held = held and value in {Decimal(repr(given)), Decimal(given)}
    assert bool(caught) is not held
