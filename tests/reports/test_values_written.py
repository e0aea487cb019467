"""Values that other clients store otherwise than they were given."""

from __future__ import annotations

import enum
from datetime import UTC, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from tests.reports.situations import REFUSED, SCHEMA, Writing, writing_differences

if TYPE_CHECKING:
    from tests.reports.situations import Doors


class Mood(enum.StrEnum):
    SAD = "sad"


NAIVE = datetime(2024, 2, 3, 10)
MIXED = '{{"2024-02-03 05:00:00+00","{:%Y-%m-%d %H:%M:%S}+00"}}'.format
AWKWARD = ["fubar", "a b", "", "NULL", "it's", "\r\n", '"', "\\", "a,b", "{}", None]
WRITINGS = (
    Writing(
        "apache/arrow-adbc#3485, pola-rs/polars#24396",
        "a decimal of three digits after the point",
        "numeric",
        Decimal("1.198"),
        "1.198",
    ),
    Writing(
        "apache/arrow-adbc#2177, #4499",
        "a float into numeric(18,2)",
        "numeric(18,2)",
        1.25,
        "1.25",
    ),
    Writing(
        "tlocke/pg8000#15",
        "a float into numeric(20,7)",
        "numeric(20,7)",
        1560704964.331047,
        "1560704964.3310470",
        but={
            # Sent as double precision, which the server casts with 15 digits.
            **dict.fromkeys(("DB-API", "text()", "ADBC"), "1560704964.3310500"),
            **dict.fromkeys(("psycopg", "genuine ADBC"), "1560704964.3310500"),
            # Wrong: the float's last digits, which are no digits of it.
            "asyncpg": "1560704964.3310471",
        },
    ),
    Writing(
        "pgjdbc/pgjdbc#1934",
        "a float into numeric, whose 17 digits PostgreSQL's cast does not keep",
        "numeric",
        0.1 + 0.2,
        "0.30000000000000004",
        but={
            **dict.fromkeys(("DB-API", "text()", "ADBC", "psycopg", "genuine ADBC"), "0.3"),
            # The exact value; its first 17 digits tell it from others.
            "asyncpg": "0.3000000000000000444089209850062616169452667236328125",
        },
    ),
    Writing(
        "psycopg, asyncpg and ADBC: the server rounds a decimal to the column's digits",
        "a decimal of three digits after the point into numeric(5,2)",
        "numeric(5,2)",
        Decimal("-1.015"),
        "-1.02",
        # A column of decimals has a type, and loses nothing on the way into another.
        but=dict.fromkeys(("Polars", "Arrow"), REFUSED),
    ),
    Writing(
        "psycopg, asyncpg and ADBC: the server rounds a decimal to hundreds",
        "a decimal into numeric(5,-2)",
        "numeric(5,-2)",
        Decimal(1250),
        "1300",
        but=dict.fromkeys(("Polars", "Arrow"), REFUSED),
    ),
    Writing(
        "psycopg, asyncpg and ADBC: the server rounds a moment to the column's digits",
        "half a second into timestamp(0)",
        "timestamp(0)",
        datetime(2024, 2, 3, 1, 2, 3, 500_000),
        "2024-02-03 01:02:04",
    ),
    Writing(
        "psycopg, asyncpg and ADBC: the server casts a moment to its day",
        "a datetime with a time of day into a date",
        "date",
        NAIVE,
        "2024-02-03",
        but=dict.fromkeys(("pandas", "Polars", "Arrow"), REFUSED),
    ),
    Writing(
        "psycopg: of a list of datetimes, the first with a time zone and the others without",
        "datetimes with and without a time zone in one list",
        "timestamptz[]",
        [NAIVE.replace(tzinfo=timezone(timedelta(hours=5))), NAIVE],
        REFUSED,
        but={
            # They take a datetime without a time zone for local time, in a list, too.
            **dict.fromkeys(
                ("core", "executemany", "records", "pandas", "asyncpg"),
                MIXED(NAIVE.astimezone(UTC)),
            ),
            # pyarrow takes it for one of UTC.
            **dict.fromkeys(("Arrow", "genuine ADBC"), MIXED(NAIVE)),
            # Wrong: it writes all of them as timestamp, and drops the offset of the first.
            "psycopg": '{"2024-02-03 10:00:00+00","2024-02-03 10:00:00+00"}',
        },
    ),
    Writing(
        "MagicStack/asyncpg#1145, #1160",
        "a float into real: the nearest float4",
        "real",
        45.542154,
        "45.542152",
        but=dict.fromkeys(("Polars", "Arrow"), REFUSED),
    ),
    Writing(
        "MagicStack/asyncpg#157",
        "an integer into numeric",
        "numeric",
        123,
        "123",
    ),
    Writing(
        "psycopg/psycopg2#1471",
        "a float that is too small for real",
        "real",
        1e-46,
        REFUSED,
        but={
            # Wrong: it stores 0.
            "asyncpg": "0",
        },
    ),
    Writing(
        "dlt-hub/dlt#2224",
        "a decimal of 29 digits",
        "numeric",
        Decimal("12345678901234567890.123456789"),
        "12345678901234567890.123456789",
    ),
    Writing(
        "mfenniak/pg8000#34",
        "an integer beyond 31 bits",
        "bigint",
        2**62 + 1,
        "4611686018427387905",
    ),
    Writing(
        "brianc/node-postgres#730",
        "all digits of a double precision",
        "double precision",
        0.1 + 0.2,
        "0.30000000000000004",
    ),
    Writing(
        "tlocke/pg8000#115, mfenniak/pg8000#62, CurtTilmes/raku-dbpg#15,"
        " mauricio/postgresql-async#110",
        "quotes, blanks, backslashes, braces, NULL and None in a list of texts",
        "text[]",
        AWKWARD,
        '{fubar,"a b","","NULL",it\'s,"\r\n","\\"","\\\\","a,b","{}",NULL}',
    ),
    Writing(
        "darold/ora2pg#184",
        "a backslash at the end of a text",
        "text",
        "C:\\folders\\",
        "C:\\folders\\",
    ),
    Writing("psycopg/psycopg#191", "an integer of NumPy", "integer", np.int32(5), "5"),
    Writing(
        "psycopg/psycopg#1192",
        "an integer into text",
        "text",
        1,
        "1",
        but={
            **dict.fromkeys(("core", "executemany", "records", "pandas", "Polars"), REFUSED),
            **dict.fromkeys(("Arrow", "asyncpg"), REFUSED),
        },
    ),
    Writing(
        "MagicStack/asyncpg#623, #627, #440",
        "JSON's null and SQL's in an array of JSON",
        "jsonb[]",
        ["null", None, "[1]"],
        '{"null",NULL,[1]}',
        but={"genuine ADBC": REFUSED},
    ),
    Writing(
        "psycopg/psycopg#1349",
        "empty lists in a list",
        "integer[]",
        [[], []],
        "{}",
        but={"genuine ADBC": REFUSED},
    ),
    Writing(
        "psycopg/psycopg2#72",
        "an empty list",
        "timestamp[]",
        [],
        "{}",
        but={"genuine ADBC": REFUSED},
    ),
    Writing(
        "psycopg/psycopg2#1507",
        "a list of nothing",
        "integer[]",
        [None, None],
        "{NULL,NULL}",
        but={"genuine ADBC": REFUSED},
    ),
    Writing(
        "psycopg/psycopg2#272",
        "a time with its zone",
        "timetz",
        time(10, 30, tzinfo=timezone(timedelta(hours=5, minutes=30))),
        "10:30:00+05:30",
        but={
            **dict.fromkeys(("Polars", "Arrow"), REFUSED),
            # Wrong: Arrow's times have no offset, and pyarrow drops it without a word.
            "genuine ADBC": "10:30:00+00",
        },
    ),
    Writing(
        "MagicStack/asyncpg#112, sqlalchemy/sqlalchemy#5537",
        "a list of labels of an enum",
        f"{SCHEMA}.mood[]",
        ["sad", "ok"],
        "{sad,ok}",
        but={"genuine ADBC": REFUSED},
    ),
    Writing(
        "sqlalchemy/sqlalchemy#6515",
        "a member of an enumeration of Python",
        f"{SCHEMA}.mood",
        Mood.SAD,
        "sad",
        but={"genuine ADBC": REFUSED},
    ),
    Writing(
        "psycopg/psycopg2#231, MagicStack/asyncpg#33",
        "a list of tuples into an array of composites",
        f"{SCHEMA}.pair[]",
        [(1, "a,b"), (None, "")],
        '{"(1,\\"a,b\\")","(,\\"\\")"}',
        but=dict.fromkeys(("Polars", "Arrow", "ADBC", "genuine ADBC"), REFUSED),
    ),
    Writing(
        "pola-rs/polars#20980, pandas-dev/pandas#32698",
        "a moment of a zone that has summer time",
        "timestamptz",
        datetime(2024, 8, 8, 18, 3, 5, 12_000, ZoneInfo("America/New_York")),
        "2024-08-08 22:03:05.012+00",
    ),
    Writing(
        "lpsmith/postgresql-simple#123",
        "a moment of 1900",
        "timestamptz",
        datetime(1900, 1, 1, tzinfo=UTC),
        "1900-01-01 00:00:00+00",
    ),
    Writing(
        "dlt-hub/dlt#2579",
        "a moment with nanoseconds, which the server does not have",
        "timestamp",
        pd.Timestamp("2024-01-01 00:00:00.123456789"),
        REFUSED,
        but={
            # Cut by the library, which makes its own column of the value.
            **dict.fromkeys(("Polars", "Arrow"), "2024-01-01 00:00:00.123456"),
            # Wrong: they cut it.
            **dict.fromkeys(("psycopg", "asyncpg", "genuine ADBC"), "2024-01-01 00:00:00.123456"),
        },
    ),
    Writing(
        "getsentry/sentry#10752",
        "a NUL in a text",
        "text",
        "a\0b",
        REFUSED,
    ),
    Writing(
        "psycopg/psycopg2#586, MagicStack/asyncpg#614, getsentry/sentry#10752",
        "a surrogate without its half",
        "text",
        "a\udc80",
        REFUSED,
    ),
    Writing(
        "MagicStack/asyncpg#260, #302",
        "a text into an integer",
        "integer",
        "5x",
        REFUSED,
    ),
    Writing(
        "MagicStack/asyncpg#316, #391, #817, #934",
        "an integer that does not fit",
        "smallint",
        40_000,
        REFUSED,
    ),
)


@pytest.mark.parametrize("situation", WRITINGS, ids=lambda each: each.words)
def test_written(doors: Doors, situation: Writing) -> None:
    assert list(writing_differences(doors, situation)) == []
