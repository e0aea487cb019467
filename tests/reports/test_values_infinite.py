"""The ends of what Python has, and infinity, which is asyncpg's name for them."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

import pytest

from tests.reports.situations import (
    REFUSED,
    Reading,
    Writing,
    reading_differences,
    writing_differences,
)

if TYPE_CHECKING:
    from tests.reports.situations import Doors

WRITINGS = (
    Writing(
        "psycopg/psycopg2#1469, psycopg/psycopg#1251, #315",
        "the last date of Python: asyncpg has it for infinity, and so has its face here",
        "date",
        date.max,
        "9999-12-31",
        but=dict.fromkeys(("core", "executemany", "records", "asyncpg"), "infinity"),
    ),
    Writing(
        "psycopg/psycopg2#1469",
        "the last moment of Python",
        "timestamp",
        datetime.max,
        "9999-12-31 23:59:59.999999",
        but=dict.fromkeys(("core", "executemany", "records", "asyncpg"), "infinity"),
    ),
    Writing(
        "psycopg/psycopg#1251",
        "the last moment of Python into a time",
        "time",
        datetime.max,
        REFUSED,
        but=dict.fromkeys(
            ("DB-API", "text()", "ADBC", "psycopg", "asyncpg", "genuine ADBC"),
            "23:59:59.999999",
        ),
    ),
    Writing(
        "psycopg/psycopg#1251",
        "the first and the last date in a list",
        "date[]",
        [date.min, date.max],
        "{0001-01-01,9999-12-31}",
        but=dict.fromkeys(("core", "executemany", "records", "asyncpg"), "{-infinity,infinity}"),
    ),
    Writing(
        "psycopg",
        "a list of moments with and without a zone",
        "timestamptz[]",
        [datetime(2024, 1, 1), datetime(2024, 1, 1, tzinfo=UTC)],
        '{"2024-01-01 00:00:00+00","2024-01-01 00:00:00+00"}',
        but=dict.fromkeys(("Polars", "Arrow", "DB-API", "text()", "ADBC"), REFUSED),
    ),
)
READINGS = (
    Reading(
        "duckdb/duckdb-postgres#102, sfu-db/connector-x#573",
        "an infinite moment",
        "SELECT 'infinity'::timestamp",
        REFUSED,
        but=dict.fromkeys(("core", "asyncpg"), datetime.max),
    ),
)


@pytest.mark.parametrize("situation", WRITINGS, ids=lambda each: each.words)
def test_written(doors: Doors, situation: Writing) -> None:
    assert list(writing_differences(doors, situation)) == []


@pytest.mark.parametrize("situation", READINGS, ids=lambda each: each.words)
def test_read(doors: Doors, situation: Reading) -> None:
    assert list(reading_differences(doors, situation)) == []
