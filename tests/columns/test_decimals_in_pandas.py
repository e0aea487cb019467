"""numeric in pandas: floats by default, a warning for lost digits, and decimals on request."""

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
import colonnade.sync
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
EXTREMES = """SELECT v::numeric FROM (VALUES ('NaN'), ('Infinity'), ('-Infinity'), ('1e100'),
              ('-1e100'), ('1e-320'), ('1e-400'), (NULL)) AS x (v)"""
FLOATS = [math.nan, math.inf, -math.inf, 1e100, -1e100, 1e-320, 0.0, math.nan]


@pytest.mark.parametrize("decimals", [None, "float64"])
@pytest.mark.parametrize(("query", "want"), [(EXTREMES, FLOATS), (LATER, [1.5, 1.5, 1e-30, 1e-30])])
@pytest.mark.parametrize("rows", [None, 2])
@pytest.mark.filterwarnings("ignore::colonnade.InexactDecimalWarning")
def test_what_no_decimal_holds(
    dsn: str, query: str, want: list[float], decimals: Any, rows: int | None
) -> None:
    options: dict[str, Any] = {} if rows is None else {"batch_rows": rows}
    made: Any = read_sql(query, dsn, decimals=decimals, **options)
    frames = [made] if rows is None else list(made)
    got = [value for frame in frames for value in frame["v"].tolist()]
    assert got == pytest.approx(want, rel=0, abs=0, nan_ok=True)
    with pytest.raises(colonnade.DecodeError, match='"float64"'):
        list(read_sql(query, dsn, decimals="decimal", batch_rows=2))


@pytest.mark.filterwarnings("ignore::colonnade.InexactDecimalWarning")
def test_the_extremes_on_every_road_to_pandas(dsn: str) -> None:
    import sqlalchemy

    frames = [read_sql(sqlalchemy.text(EXTREMES), engine) for engine in [engine_of(dsn)]]
    with dbapi.connect(dsn) as connection, connection.cursor() as cursor:
        cursor.execute(EXTREMES)
        frames.append(cursor.fetch_df())
    for frame in frames:
        assert frame["v"].tolist() == pytest.approx(FLOATS, rel=0, abs=0, nan_ok=True)


def engine_of(dsn: str) -> Any:
    import sqlalchemy

    url = dsn.replace("postgresql://", "postgresql+colonnade://")
    return sqlalchemy.create_engine(url, poolclass=sqlalchemy.NullPool)


def test_what_the_warning_says_of_extremes(dsn: str) -> None:
    with pytest.warns(colonnade.InexactDecimalWarning) as caught:
        frame = read_sql("SELECT 1 AS a, 10::numeric ^ 400 AS v UNION ALL SELECT 2, 1", dsn)
    assert frame["v"].tolist() == [math.inf, 1.0]
    (one,) = caught
    assert one.filename == __file__
    assert f'"v" (row 0: 1{"0" * 59}...)' in str(one.message)
    # No `infinity=` applies to this column, so the hint does not mention it.
    assert "schema=" not in str(one.message)
    with pytest.raises(colonnade.DecodeError, match="out of range for a float64"):
        read_sql("SELECT 1e400 AS v", dsn, schema={"v": "float64"})
    with pytest.warns(colonnade.InexactDecimalWarning, match=r'schema=\{"w": "float64"\}'):
        read_sql("SELECT 1e400 AS v, 12345678901234567.89 AS w", dsn)
    # In a stream, the row number counts from the start of the result.
    with pytest.warns(colonnade.InexactDecimalWarning, match=r"row 3: 12345678901234567.89"):
        list(
            read_sql(
                "SELECT CASE k WHEN 4 THEN 12345678901234567.89 ELSE 0.5 END AS v "
                "FROM generate_series(1, 4) k",
                dsn,
                batch_rows=2,
            )
        )
    special = "SELECT 'NaN'::numeric AS v UNION ALL SELECT '-Infinity'"
    assert math.isnan(read_sql(special, dsn)["v"][0])  # No digits are lost, so there is no warning.


def test_infinities_that_are_to_be_null(dsn: str) -> None:
    frame = read_sql(EXTREMES, dsn, infinity="null", dtypes="nullable", decimals="float64")
    assert frame["v"].isna().tolist() == [True] * 3 + [False] * 4 + [True]


def test_only_columns_of_numeric_become_floats(dsn: str) -> None:
    query = (
        "SELECT 1.5::numeric AS plain, ARRAY[1.5] AS list, numrange(1.5, 2) AS range, 7 AS whole,"
        " 2.5::numeric AS asked"
    )
    frame = read_sql(query, dsn, schema={"asked": "decimal128(10, 2)"})
    kinds = [str(frame[name].dtype) for name in ("plain", "whole", "asked")]
    assert kinds == ["float64", "int32", "decimal128(10, 2)[pyarrow]"]
    assert list(frame["list"][0]) == [Decimal("1.5")]


def test_a_domain_of_numeric(dsn: str) -> None:
    with colonnade.sync.connect(dsn) as connection:
        connection.execute("CREATE DOMAIN pg_temp.price AS numeric(40, 2)")
        frame = read_sql("SELECT v FROM (VALUES ('NaN'::pg_temp.price), (2.25)) x (v)", connection)
    assert frame["v"].tolist() == pytest.approx([math.nan, 2.25], nan_ok=True)


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
    with pytest.raises(TypeError, match=r"dtypes must be .*, not a dict"):
        read_sql(BIG, dsn, dtypes={"a": "int64"})  # type: ignore[call-overload]


# Values are exact, whatever the decimal context's precision; one column has up to 76 digits.
DECIMALS = st.builds(
    lambda digits, places: Decimal(f"{digits}e-{places}"),
    st.integers(-(10**45), 10**45) | st.integers(-(10**17), 10**17),
    st.integers(0, 30),
)


@hypothesis.settings(max_examples=60, deadline=None)
@hypothesis.given(values=st.lists(st.none() | DECIMALS, min_size=1, max_size=8))
# Two decimals are equally near to the float; Python prints the even one.
@hypothesis.example(values=[Decimal("2229419161362057.2")])
@hypothesis.example(values=[Decimal("2229419161362057.3")])
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


# With exponents that no Arrow decimal can have.
WIDE = st.builds(
    lambda digits, exponent: Decimal(f"{digits}e{exponent}"),
    st.integers(-(10**40), 10**40) | st.integers(-(10**17), 10**17),
    st.integers(-400, 330),
)


@hypothesis.settings(max_examples=60, deadline=None)
@hypothesis.given(values=st.lists(st.none() | WIDE, min_size=1, max_size=8))
def test_the_nearest_float_of_what_comes(dsn: str, values: list[Decimal | None]) -> None:
    rows = ", ".join("(NULL)" if value is None else f"({value:f})" for value in values)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        frame = read_sql(f"SELECT v::numeric FROM (VALUES {rows}) x (v)", dsn)
    held = True
    for value, given in zip(values, frame["v"].tolist(), strict=True):
        if value is None:
            assert math.isnan(given)
            continue
        assert given == float(value)
        held = held and not math.isinf(given) and value in {Decimal(repr(given)), Decimal(given)}
    assert bool(caught) is not held
