"""Frames that other ways to PostgreSQL write or read otherwise than they are."""

from __future__ import annotations

import datetime as dt
import itertools
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import colonnade
from colonnade.errors import DataError, EncodeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.reports.situations import Doors

NUMBERS = itertools.count(1)


@pytest.fixture
def name(doors: Doors) -> Iterator[str]:
    """The name of a table of this test."""
    made = f"frame_{next(NUMBERS)}"
    yield made
    doors.core.execute(f"DROP TABLE IF EXISTS public.{made}")


def texts(doors: Doors, name: str) -> list[Any]:
    """The server's texts of the first column."""
    rows = doors.core.fetch(f"SELECT (t.*)::text FROM public.{name} t")
    return [row[0].strip("()") for row in rows]


#: Frames, the type of the new column, and the server's texts.
FRAMES: tuple[tuple[str, str, Any, str, list[str]], ...] = (
    (
        "pandas-dev/pandas#32698",
        "moments of a zone with summer time",
        pd.DataFrame(
            {"v": pd.date_range("2018-03-25", periods=2, freq="12h", tz="Europe/Brussels")}
        ),
        "timestamp with time zone",
        ['"2018-03-24 23:00:00+00"', '"2018-03-25 11:00:00+00"'],
    ),
    (
        "pola-rs/polars#20980",
        "moments of New York",
        pl.DataFrame({"v": [dt.datetime(2024, 8, 8, 22, 3, 5, 12_000)]}).with_columns(
            pl.col("v").dt.replace_time_zone("UTC").dt.convert_time_zone("America/New_York")
        ),
        "timestamp with time zone",
        ['"2024-08-08 22:03:05.012+00"'],
    ),
    (
        "pola-rs/polars#24396, apache/arrow-adbc#3485",
        "decimals of three digits after the point",
        pl.DataFrame({"v": [Decimal("1.198"), Decimal("-2.952")]}, {"v": pl.Decimal(4, 3)}),
        "numeric(4,3)",
        ["1.198", "-2.952"],
    ),
    (
        "pola-rs/polars#7328",
        "a float without a fraction first",
        pl.DataFrame({"v": [100.0, -99.5]}),
        "double precision",
        ["100", "-99.5"],
    ),
    (
        "pola-rs/polars#17312",
        "unsigned integers of every size",
        pl.DataFrame({"v": [0, 2**32 - 1]}, {"v": pl.UInt32}),
        "bigint",
        ["0", "4294967295"],
    ),
    (
        "pola-rs/polars#17312, #12803",
        "times of a day",
        pl.DataFrame({"v": [dt.time(1), dt.time(23, 59, 59, 999_999)]}),
        "time without time zone",
        ["01:00:00", "23:59:59.999999"],
    ),
    (
        "pandas-dev/pandas#43878, #48704, #17560",
        "nullable integers beyond 2**53",
        pd.DataFrame({"v": pd.array([2**53 + 1, None], dtype="Int64")}),
        "bigint",
        ["9007199254740993", ""],
    ),
    (
        "pandas-dev/pandas#8208",
        "NaT among moments",
        pd.DataFrame({"v": pd.to_datetime(["2024-01-01", None])}),
        "timestamp without time zone",
        ['"2024-01-01 00:00:00"', ""],
    ),
    (
        "pandas-dev/pandas#10742",
        "None among texts",
        pd.DataFrame({"v": ["a", None, ""]}),
        "text",
        ["a", "", '""'],
    ),
    (
        "apache/arrow-adbc#1275",
        "texts in a dictionary",
        pa.table({"v": pa.array(["x", None, "x"]).dictionary_encode()}),
        "text",
        ["x", "", "x"],
    ),
    (
        "apache/arrow-adbc#1868, #1050",
        "large lists of large texts",
        pa.table({"v": pa.array([["a,b"], None, []], pa.large_list(pa.large_string()))}),
        "text[]",
        ['"{""a,b""}"', "", "{}"],
    ),
    (
        "apache/arrow-adbc#1310",
        "several batches",
        pa.table({"v": pa.chunked_array([[1], [2, 3]], pa.int16())}),
        "smallint",
        ["1", "2", "3"],
    ),
    (
        "apache/arrow-adbc#2071",
        "no rows",
        pa.table({"v": pa.array([], pa.date32())}),
        "date",
        [],
    ),
    (
        "apache/arrow-adbc#3841",
        "moments in seconds, before 1970",
        pa.table({"v": pa.array([-1, 2**33], pa.timestamp("s"))}),
        "timestamp without time zone",
        ['"1969-12-31 23:59:59"', '"2242-03-16 12:56:32"'],
    ),
    (
        "dlt-hub/dlt#2224",
        "decimals of 38 digits",
        pa.table({"v": pa.array([Decimal("9" * 29 + ".123456789")], pa.decimal128(38, 9))}),
        "numeric(38,9)",
        ["9" * 29 + ".123456789"],
    ),
    (
        "psycopg/psycopg2#1469, pandas-dev/pandas#9678",
        "the last day of Python, in Arrow's days",
        pl.DataFrame({"v": [dt.date(9999, 12, 31), dt.date(1, 1, 1)]}),
        "date",
        ["9999-12-31", "0001-01-01"],
    ),
)


@pytest.mark.parametrize(
    ("frame", "kind", "right"), [each[2:] for each in FRAMES], ids=[each[1] for each in FRAMES]
)
def test_written(doors: Doors, name: str, frame: Any, kind: str, right: list[str]) -> None:
    colonnade.write_table(frame, name, doors.core)
    (made,) = doors.core.fetch(
        "SELECT format_type(atttypid, atttypmod) FROM pg_attribute"
        f" WHERE attrelid = 'public.{name}'::regclass AND attnum = 1"
    )[0]
    assert made == kind
    assert texts(doors, name) == right


@pytest.mark.parametrize("frame", [each[2] for each in FRAMES], ids=[each[1] for each in FRAMES])
def test_ingested(doors: Doors, name: str, frame: Any) -> None:
    """By ADBC the same as by write_table."""
    colonnade.write_table(frame, name, doors.core)
    right = texts(doors, name)
    doors.core.execute(f"TRUNCATE public.{name}")
    if isinstance(frame, pd.DataFrame):
        frame = pa.Table.from_pandas(frame)
    with doors.adbc.cursor() as cursor:
        cursor.adbc_ingest(
            name, frame.to_arrow() if isinstance(frame, pl.DataFrame) else frame, mode="append"
        )
    assert texts(doors, name) == right


def test_what_the_genuine_driver_ingests(doors: Doors, name: str) -> None:
    """apache/arrow-adbc#3485: measured, for the page that compares them."""
    table = pa.table({"v": pa.array([Decimal("1.198")], pa.decimal128(4, 3))})
    doors.core.execute(f"CREATE TABLE public.{name} (v numeric(10,3))")
    with doors.genuine_adbc.cursor() as cursor:
        cursor.adbc_ingest(name, table, mode="append")
    assert texts(doors, name) == ["1.198"]


def test_an_index_of_moments(doors: Doors, name: str) -> None:
    """pandas-dev/pandas#23510: an index without a zone is a timestamp without one."""
    index = pd.date_range("2018-01-01", periods=2, freq="6h", name="at")
    frame = pd.DataFrame({"n": [0, 1]}, index=index)
    colonnade.write_table(frame, name, doors.core, index=True)
    again = colonnade.read_sql(f"SELECT * FROM {name}", doors.core, index_col="at")
    assert str(again.index.dtype) == "datetime64[us]"
    assert list(again.index) == list(index)


def test_moments_read_across_summer_time(doors: Doors) -> None:
    """pandas-dev/pandas#7139, #30207, #15119: one type, whatever the offsets were."""
    sql = (
        "SELECT * FROM (VALUES ('2019-10-27 00:30+02'::timestamptz), ('2019-10-27 03:30+01'),"
        " (NULL)) AS x(at)"
    )
    frame = colonnade.read_sql(sql, doors.core)
    assert str(frame["at"].dtype) == "datetime64[us, UTC]"
    assert [str(each) for each in frame["at"]] == [
        "2019-10-26 22:30:00+00:00",
        "2019-10-27 02:30:00+00:00",
        "NaT",
    ]


def test_a_large_integer_beside_null(doors: Doors) -> None:
    """pandas-dev/pandas#17560, #43878, #12200: not rounded to a float."""
    sql = "SELECT * FROM (VALUES (9007199254740993), (NULL)) AS x(n)"
    frame = colonnade.read_sql(sql, doors.core)
    assert frame["n"][0] == 2**53 + 1
    assert frame["n"].isna().tolist() == [False, True]
    assert colonnade.read_sql(sql, doors.core, into="polars")["n"].to_list() == [2**53 + 1, None]


def test_a_column_of_nulls_in_a_chunk(doors: Doors) -> None:
    """pandas-dev/pandas#10285: each chunk has the type of the whole."""
    sql = "SELECT CASE WHEN n = 3 THEN 1.5::float8 END AS v FROM generate_series(1, 4) n"
    parts = list(colonnade.read_sql(sql, doors.core, batch_rows=2))
    assert [str(part["v"].dtype) for part in parts] == ["float64", "float64"]


def test_duplicate_names(doors: Doors) -> None:
    """superset, airflow: columns of one name are kept, or a library refuses them by name."""
    found = doors.core.fetch_columns("SELECT 1 AS a, 2 AS a")
    assert [column.to_pylist() for column in found.to_arrow().columns] == [[1], [2]]
    assert found.to_pandas().to_numpy().tolist() == [[1, 2]]
    with pytest.raises(ValueError, match='several columns are named "a"'):
        found.to_polars()


def test_nanoseconds(doors: Doors, name: str) -> None:
    """dlt-hub/dlt#2579: moments that the server would cut are refused by row."""
    moments = pd.Series([0, 1_000, 1_001], dtype="datetime64[ns]")
    doors.core.execute(f"CREATE TABLE public.{name} (v timestamp)")
    with pytest.raises(EncodeError, match="row 2"):
        colonnade.write_table(pd.DataFrame({"v": moments}), name, doors.core, if_exists="append")
    assert texts(doors, name) == []


def test_objects_of_mixed_classes(doors: Doors, name: str) -> None:
    """pandas-dev/pandas#63147: an object of another class is an error by row."""
    with pytest.raises((DataError, colonnade.InterfaceError), match="v"):
        colonnade.write_table(pd.DataFrame({"v": [1, "a", None]}), name, doors.core)


def test_numbers_of_numpy(doors: Doors, name: str) -> None:
    """psycopg/psycopg#191, #452: every integer of NumPy by COPY of records."""
    doors.core.execute(f"CREATE TABLE public.{name} (v int)")
    kinds = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32)
    doors.core.copy_records_to_table(name, records=[(kind(7),) for kind in kinds])
    assert texts(doors, name) == ["7"] * len(kinds)
