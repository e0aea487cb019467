"""Times of pandas that are none of Python's: their C structure has other fields, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import colonnade
import colonnade.dbapi
from colonnade import structs

if TYPE_CHECKING:
    from collections.abc import Iterator

LATE = pd.Timestamp(np.datetime64("12000-06-15T01:02:03", "s"))
EARLY = pd.Timestamp(np.datetime64("-0044-03-15", "s"))
LONG = pd.Timedelta(np.timedelta64(86_400 * 1_000_000_000, "s"))
# Longer than an interval.
TOO_LONG = pd.Timedelta(np.timedelta64(86_400 * 3_000_000_000, "s"))


@pytest.fixture(scope="module")
def connection(dsn: str) -> Iterator[colonnade.sync.Connection]:
    settings = {"TimeZone": "UTC", "IntervalStyle": "postgres"}
    with colonnade.sync.connect(dsn, server_settings=settings) as connection:
        connection.execute("CREATE TEMP TABLE t (v timestamp, z timestamptz, d date)")
        yield connection


@pytest.mark.parametrize(
    ("moment", "text"), [(LATE, "12000-06-15 01:02:03"), (EARLY, "0045-03-15 00:00:00 BC")]
)
def test_moments(connection: colonnade.sync.Connection, moment: pd.Timestamp, text: str) -> None:
    def told(sql_type: str, value: Any) -> Any:
        return connection.fetchval(f"SELECT ($1::{sql_type})::text", value)

    assert told("timestamp", moment) == text
    assert told("timestamptz", moment.tz_localize("UTC")) == with_zone(text)
    assert told("timestamp[]", [moment, None]) == f'{{"{text}",NULL}}'
    days = moment.floor("D")
    date = text.replace("01:02:03", "").replace("00:00:00", "").replace("  ", " ").strip()
    assert told("date", days) == date
    connection.copy_records_to_table("t", records=[(moment, moment.tz_localize("UTC"), days)])
    row = connection.fetchrow("DELETE FROM t RETURNING v::text, z::text, d::text")
    assert row is not None
    assert tuple(row) == (text, with_zone(text), date)
    column = pd.Series([moment], dtype=object)
    connection.copy_columns_to_table("t", source={"v": column}, columns=["v"])
    assert connection.fetchval("DELETE FROM t RETURNING v::text") == text


def with_zone(text: str) -> str:
    return text[:-3] + "+00 BC" if text.endswith(" BC") else f"{text}+00"


def test_a_moment_of_another_zone(connection: colonnade.sync.Connection) -> None:
    moment = LATE.tz_localize("UTC").tz_convert("Asia/Kolkata")
    got = connection.fetchval("SELECT ($1::timestamptz)::text", moment)
    assert got == "12000-06-15 01:02:03+00"


@pytest.mark.parametrize("unit", ["s", "us"])
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Asia/Kolkata"])
def test_a_series_with_time_zone(
    connection: colonnade.sync.Connection, zone: str, unit: str
) -> None:
    moments = [LATE, EARLY, pd.Timestamp("2024-07-01 12:00"), pd.NaT]
    naive = pd.Series(moments, dtype=f"datetime64[{unit}]")
    series = naive.dt.tz_localize("UTC").dt.tz_convert(zone)
    expected = [f"{LATE}+00", "0045-03-15 00:00:00+00 BC", "2024-07-01 12:00:00+00", None]
    for value in (series, series.array, pd.Index(series)):
        assert connection.fetchval("SELECT $1::timestamptz[]::text[]", value) == expected
        assert connection.fetchval("SELECT ($1::timestamptz[])::text[]", value) == expected


def test_an_array_of_pandas_in_arrow(connection: colonnade.sync.Connection) -> None:
    moments = pd.Series([pd.Timestamp("2024-07-01 12:00"), None])
    stored = moments.astype("timestamp[us][pyarrow]")
    for value in (stored, stored.array, pd.Index(stored)):
        got = connection.fetchval("SELECT $1::timestamp[]::text[]", value)
        assert got == ["2024-07-01 12:00:00", None]


def test_local_time_is_not_known(connection: colonnade.sync.Connection) -> None:
    with pytest.raises(colonnade.EncodeError, match="give it a time zone"):
        connection.fetchval("SELECT $1::timestamptz", LATE)


def test_durations(connection: colonnade.sync.Connection) -> None:
    assert connection.fetchval("SELECT $1::interval::text", LONG) == "1000000000 days"
    assert connection.fetchval("SELECT $1::interval::text", -LONG) == "-1000000000 days"
    for wrong in (TOO_LONG, -TOO_LONG):
        with pytest.raises(colonnade.EncodeError, match="outside of an interval's 32 bits"):
            connection.fetchval("SELECT $1::interval", wrong)


def test_other_doors(dsn: str) -> None:
    with colonnade.dbapi.connect(dsn) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT %s::text", (LATE,))
        assert cursor.fetchone() == ("12000-06-15 01:02:03",)

    @structs.struct
    class Moment(structs.Struct):
        at: "datetime64[s]"  # type: ignore[name-defined]  # noqa: F821, UP037

    made = Moment(at=LATE)
    assert made.at == np.datetime64("12000-06-15T01:02:03", "s")
