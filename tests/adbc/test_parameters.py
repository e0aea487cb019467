"""Parameters reach the server whole, or are refused by name; counts are those of the peer."""

from __future__ import annotations

import datetime as dt
import zoneinfo
from typing import TYPE_CHECKING, Any

import adbc_driver_manager as manager
import adbc_driver_postgresql.dbapi as peer
import pandas as pd
import pyarrow as pa
import pytest

import colonnade.sync
from colonnade import adbc

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adbc_driver_manager.dbapi import Cursor

EAST = dt.timezone(dt.timedelta(hours=5, minutes=30))
NOON = dt.datetime(2024, 2, 3, 12)


@pytest.fixture
def cursor(dsn: str) -> Iterator[Cursor]:
    with adbc.connect(dsn, autocommit=True) as connection, connection.cursor() as made:
        yield made


def text_of(cursor: Cursor, kind: str, value: Any) -> Any:
    """The server's text of a value, by either form of parameters."""
    cursor.execute(f"SELECT CAST($1 AS {kind})::text", (value,))
    ((found,),) = cursor.fetchall()
    cursor.execute(f"SELECT CAST(:v AS {kind})::text", {"v": value})
    assert cursor.fetchall() == [(found,)]
    return found


def test_the_offset_of_a_time_is_kept(cursor: Cursor) -> None:
    at = dt.time(10, 30, tzinfo=EAST)
    assert text_of(cursor, "timetz", at) == "10:30:00+05:30"
    assert text_of(cursor, "timetz[]", [at, None, at]) == "{10:30:00+05:30,NULL,10:30:00+05:30}"
    cursor.execute("SET timezone = 'UTC'")
    assert text_of(cursor, "timetz[]", [dt.time(1), at]) == "{01:00:00+00,10:30:00+05:30}"
    assert text_of(cursor, "time", dt.time(10, 30)) == "10:30:00"
    cursor.execute("CREATE TEMP TABLE times (v timetz)")
    cursor.executemany("INSERT INTO times VALUES ($1)", [(at,), (None,)])
    cursor.executemany("INSERT INTO times VALUES (:v)", [{"v": at}])
    cursor.execute("SELECT v::text FROM times")
    assert cursor.fetchall() == [("10:30:00+05:30",), (None,), ("10:30:00+05:30",)]


#: Values of Python that pyarrow changes without a word.
CHANGED = [
    ([pd.Timestamp("2024-02-03 12:00:00.000000001")], "row 0.*has nanoseconds"),
    ([pd.Timedelta(1, "us"), pd.Timedelta(1, "ns")], "row 1.*has nanoseconds"),
    ([NOON, NOON.replace(tzinfo=EAST)], "row 1.*datetimes with an offset among datetimes without"),
    ([NOON.date(), None, NOON], "row 2.*is of datetimes without an offset among dates"),
    ([[NOON.replace(tzinfo=EAST), NOON]], "row 0.*datetimes without an offset among datetimes"),
]


@pytest.mark.parametrize(("values", "words"), CHANGED)
def test_values_that_pyarrow_changes(cursor: Cursor, values: list[Any], words: str) -> None:
    with pytest.raises(manager.DataError, match=rf"parameter '0', {words}"):
        cursor.executemany("SELECT $1", [(value,) for value in values])


def test_values_that_it_does_not_change(cursor: Cursor) -> None:
    there = zoneinfo.ZoneInfo("America/New_York")
    for value, kind, text in (
        (pd.Timestamp("2024-02-03 12:00:00.000001"), "timestamp", "2024-02-03 12:00:00.000001"),
        (pd.NaT, "timestamp", None),
        ([NOON, pd.NaT], "timestamp[]", '{"2024-02-03 12:00:00",NULL}'),
        (dt.timedelta(days=-1, microseconds=1), "interval", "-1 days +00:00:00.000001"),
        (NOON.replace(tzinfo=there), "timestamptz", "2024-02-03 17:00:00+00"),
    ):
        cursor.execute("SET timezone = 'UTC'")
        assert text_of(cursor, kind, value) == text


FINE = pa.time64("ns")
#: Columns of Arrow, whose Python objects have microseconds, or days.
COLUMNS = [
    ([0, 1], FINE, "time", "time64[us]"),
    ([0, 1], pa.timestamp("ns"), "timestamp", "timestamp[us]"),
    ([0, 1], pa.timestamp("ns", "UTC"), "timestamptz", "timestamp[us, tz=UTC]"),
    ([0, -1], pa.duration("ns"), "interval", "duration[us]"),
    ([0, 1], pa.int64(), "date", "date32[day]"),
    ([[0], [0, 1]], pa.list_(FINE), "time[]", "list<item: time64[us]>"),
    ([(1, -2, 3000), (0, 0, 1)], pa.month_day_nano_interval(), "interval", "microseconds"),
]


@pytest.mark.parametrize(("values", "kind", "sql_type", "unit"), COLUMNS)
def test_digits_beyond_those_of_the_server(
    cursor: Cursor, values: list[Any], kind: pa.DataType, sql_type: str, unit: str
) -> None:
    column = pa.array(values, kind)
    if sql_type == "date":
        column = column.cast(pa.date64())
    query = f"SELECT CAST($1 AS {sql_type})"
    cursor.execute(query, pa.table({"v": column[:1]}))
    cursor.fetchall()
    given = {"v": column}
    if pa.types.is_time(kind) or pa.types.is_timestamp(kind):
        given["a b"] = column.dictionary_encode()
    for name, each in given.items():
        with pytest.raises(manager.DataError) as caught:
            cursor.execute(query, pa.table({name: each}))
        assert f"parameter '{name}', row 1: a value of " in str(caught.value)
        assert f"round it to {unit} first" in str(caught.value)


@pytest.mark.parametrize("style", ["postgres", "sql_standard", "iso_8601"])
def test_intervals_with_months(cursor: Cursor, style: str) -> None:
    cursor.execute(f"SET intervalstyle = '{style}'")
    parts = [(1, -2, 3000), (-14, 400, -(10**13)), (0, 0, 0), None]
    table = pa.table({"v": pa.array(parts, pa.month_day_nano_interval())})
    cursor.execute("CREATE TEMP TABLE spans (v interval)")
    cursor.executemany("INSERT INTO spans VALUES ($1)", table)
    cursor.execute("SELECT v FROM spans")
    assert cursor.fetch_arrow_table()["v"].to_pylist() == table["v"].to_pylist()


COUNTED = [
    ("INSERT INTO counted VALUES ($1, 'x')", [(1,), (2,), (3,)]),
    ("INSERT INTO counted VALUES ($1, 'y') RETURNING a", [(1,), (2,)]),
    ("UPDATE counted SET b = 'z' WHERE a = $1", [(1,), (2,), (9,)]),
    ("DELETE FROM counted WHERE a = $1", [(8,), (9,)]),
    ("SELECT $1::int8 FROM counted", [(8,), (9,)]),
    ("DELETE FROM counted WHERE a = $1", [(1,)]),
    ("DELETE FROM counted WHERE a = $1", []),
    ("CREATE TEMP TABLE more (a int)", None),
]


def test_counts_of_many_rows(dsn: str) -> None:
    """The sum over all sets, as by the genuine driver."""
    counts: dict[Any, list[int]] = {}
    for driver in (adbc, peer):
        with driver.connect(dsn, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TEMP TABLE counted (a int8, b text)")
            counts[driver] = []
            for query, rows in COUNTED:
                cursor.executemany(query, rows)
                counts[driver].append(cursor.rowcount)
    assert counts[adbc] == counts[peer] == [3, 2, 4, 0, 10, 2, 2, -1]


def test_errors_have_their_notes(dsn: str, cursor: Cursor) -> None:
    cursor.execute("DROP TABLE IF EXISTS noted")
    cursor.execute("CREATE TABLE noted (v int)")
    with adbc.connect(dsn) as connection, connection.cursor() as other:
        other.execute("SELECT v FROM noted")
        other.fetchall()
        connection.commit()
        with colonnade.sync.connect(dsn) as link:
            link.execute("ALTER TABLE noted ALTER v TYPE text")
        with pytest.raises(manager.NotSupportedError, match="described anew the next time"):
            other.execute("SELECT v FROM noted")
        connection.rollback()
        other.execute("SELECT v FROM noted")
        assert other.fetchall() == []
    cursor.execute("DROP TABLE noted")
    with pytest.raises(manager.ProgrammingError, match="LINE 1: SELECT nothing FROM pg_am"):
        cursor.execute("SELECT nothing FROM pg_am")
