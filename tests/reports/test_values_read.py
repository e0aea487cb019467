"""Values that other clients read otherwise than the server stores them."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta, timezone
from decimal import Decimal
from ipaddress import IPv4Interface
from typing import TYPE_CHECKING
from uuid import UUID

import pyarrow as pa
import pytest

from tests.reports.situations import REFUSED, Reading, reading_differences

if TYPE_CHECKING:
    from tests.reports.situations import Doors

ARROW = ("ADBC", "genuine ADBC")
NAN, INFINITY = float("nan"), float("inf")
AWKWARD = ["fubar", "a b", "", "NULL", "it's", "\r\n", '"', "\\", "a,b", "{}", " ", "\u00e9"]
OFFSET = timezone(timedelta(hours=5, minutes=21, seconds=10))
READINGS = (
    Reading(
        "psycopg/psycopg#719",
        "an interval whose seconds need more than 31 bits",
        "SELECT '1993534:40:40.447'::interval",
        timedelta(days=83063, seconds=81640, microseconds=447_000),
        but=dict.fromkeys(ARROW, pa.MonthDayNano([0, 0, 7_176_724_840_447_000_000])),
    ),
    Reading(
        "psycopg/psycopg2#558, duckdb/duckdb-postgres#22",
        "an interval of a column, not of a constant",
        "SELECT i FROM (VALUES ('1 day'::interval)) AS x(i)",
        timedelta(days=1),
        but=dict.fromkeys(ARROW, pa.MonthDayNano([0, 1, 0])),
    ),
    Reading(
        "psycopg/psycopg#6, vladmihalcea/hypersistence-utils#759",
        "an offset with seconds, as local times had",
        "SELECT '10:30:45+05:21:10'::timetz",
        time(10, 30, 45, tzinfo=OFFSET),
        but={
            "ADBC": {"time": time(10, 30, 45), "offset": 19270},
            # Wrong: it drops the seconds.
            "asyncpg": time(10, 30, 45, tzinfo=timezone(timedelta(seconds=19260))),
            "genuine ADBC": b"\0\0\0\x08\xcf\xbc\xdf@\xff\xff\xb4\xba",
        },
    ),
    Reading(
        "pgjdbc/r2dbc-postgresql#509, lpsmith/postgresql-simple#123",
        "a moment of the year 1 with such an offset",
        "SELECT '0001-01-01 08:20:53+02:30:17'::timestamptz",
        datetime(1, 1, 1, 5, 50, 36, tzinfo=UTC),
    ),
    Reading(
        "porsager/postgres#1185, electric-sql/pglite#1074",
        "a year below 100",
        "SELECT '0050-06-15 12:30:00+00'::timestamptz",
        datetime(50, 6, 15, 12, 30, tzinfo=UTC),
    ),
    Reading(
        "bendrucker/postgres-date#5, pgjdbc/pgjdbc#3428",
        "a date before Christ",
        "SELECT '0001-01-01 BC'::date",
        REFUSED,
    ),
    Reading(
        "psycopg/psycopg2#1307, MagicStack/asyncpg#412, sqlalchemy/sqlalchemy#6033",
        "a date from the year 10000 on",
        "SELECT '10000-01-01'::date",
        REFUSED,
    ),
    Reading(
        "Snowflake-Labs/pg_lake#439",
        "the last moments that PostgreSQL has",
        "SELECT '294276-12-31 23:59:59'::timestamp",
        REFUSED,
    ),
    Reading(
        "jackc/pgtype#169",
        "NaN in double precision",
        "SELECT 'NaN'::float8",
        NAN,
    ),
    Reading(
        "go-pg/pg#927",
        "NaN and infinities in an array",
        "SELECT '{NaN,Infinity,-Infinity,NULL}'::float8[]",
        [NAN, INFINITY, -INFINITY, None],
    ),
    Reading(
        "duckdb/duckdb#23971, duckdb/pg_duckdb#1069, estuary/connectors#1763",
        "NaN in numeric(10,2)",
        "SELECT 'NaN'::numeric(10,2)",
        Decimal("NaN"),
        but={"columns": REFUSED, "ADBC": REFUSED, "genuine ADBC": "nan"},
    ),
    Reading(
        "brianc/node-postgres#1943, pgjdbc/pgjdbc#3784",
        "NaN in an array of numerics",
        "SELECT '{NaN,1.50}'::numeric[]",
        [Decimal("NaN"), Decimal("1.50")],
        but={"columns": REFUSED, "ADBC": REFUSED, "genuine ADBC": ["nan", "1.50"]},
    ),
    Reading(
        "duckdb/duckdb-postgres#136",
        "a numeric whose first digits are zeros",
        "SELECT 0.000067::numeric",
        Decimal("0.000067"),
        but={"ADBC": Decimal("0.000067000000000000"), "genuine ADBC": "0.000067"},
    ),
    Reading(
        "duckdb/duckdb-postgres#137",
        "numeric(9,6)",
        "SELECT '-123.000001'::numeric(9,6)",
        Decimal("-123.000001"),
        but={"genuine ADBC": "-123.000001"},
    ),
    Reading(
        "denodrivers/postgres#93",
        "a numeric without a scale",
        "SELECT 12345678901234567890.50::numeric",
        Decimal("12345678901234567890.50"),
        but={
            "ADBC": Decimal("12345678901234567890.500000000000"),
            "genuine ADBC": "12345678901234567890.50",
        },
    ),
    Reading(
        "brianc/node-postgres#730, hasura/pg-client-hs#17, psycopg/psycopg2#145",
        "all digits of a double precision",
        "SELECT 0.1::float8 + 0.2::float8",
        0.1 + 0.2,
    ),
    Reading(
        "MagicStack/asyncpg#1145, #1160",
        "the float4 itself, not its shortest text",
        "SELECT 0.1::float4",
        0.10000000149011612,
        but={"psycopg": 0.1},
    ),
    Reading(
        "duckdb/duckdb-postgres#15",
        "an array of char(3)",
        "SELECT '{ab,c}'::char(3)[]",
        ["ab ", "c  "],
    ),
    Reading(
        "tlocke/pg8000#115, mfenniak/pg8000#62, darioteixeira/pgocaml#1, sunng87/pgwire#361",
        "quotes, blanks, backslashes, braces, NULL and nothing in an array of texts",
        "SELECT ARRAY['fubar', 'a b', '', 'NULL', 'it''s', E'\\r\\n', '\"', E'\\\\', 'a,b', '{}',"
        " ' ', '\u00e9']",
        AWKWARD,
    ),
    Reading(
        "psycopg/psycopg#1349, psycopg/psycopg2#42",
        "arrays in an array",
        "SELECT '{{1,NULL},{3,4}}'::int[]",
        [[1, None], [3, 4]],
        but={
            # Wrong: it forgets the dimensions.
            "genuine ADBC": [1, None, 3, 4],
        },
    ),
    Reading("psycopg/psycopg2#72", "an empty array of moments", "SELECT '{}'::timestamp[]", []),
    Reading(
        "psycopg/psycopg2#141",
        "an empty text in a composite, beside NULL",
        "SELECT ROW(1, '')::reports.pair",
        (1, ""),
        but={**{name: {"id": 1, "label": ""} for name in ARROW}, "psycopg": '(1,"")'},
    ),
    Reading(
        "yiisoft/db-pgsql#303",
        "quotes, parentheses and commas in a composite",
        "SELECT ROW(NULL, 'U)S\"D, \\')::reports.pair",
        (None, 'U)S"D, \\'),
        but={
            **{name: {"id": None, "label": 'U)S"D, \\'} for name in ARROW},
            "psycopg": r'(,"U)S""D, \\")',
        },
    ),
    Reading(
        "psycopg/psycopg2#231, psycopg/psycopg#547",
        "an array of composites",
        "SELECT ARRAY[ROW(1, 'a')::reports.pair, NULL]",
        [(1, "a"), None],
        but={
            **{name: [{"id": 1, "label": "a"}, None] for name in ARROW},
            "psycopg": '{"(1,a)",NULL}',
        },
    ),
    Reading(
        "MagicStack/asyncpg#360, #714",
        "an array and a record in an anonymous record",
        "SELECT ROW(1, ARRAY['a', NULL], ROW(2, 'b'::text))",
        (1, ["a", None], (2, "b")),
        but={
            "ADBC": {"f1": 1, "f2": ["a", None], "f3": {"f1": 2, "f2": "b"}},
            "psycopg": ("1", "{a,NULL}", "(2,b)"),
            "genuine ADBC": REFUSED,
        },
    ),
    Reading(
        "duckdb/duckdb-postgres#63, #82, MagicStack/asyncpg#112",
        "an array of enums, of a schema outside the search path",
        "SELECT '{sad,NULL,ok}'::reports.mood[]",
        ["sad", None, "ok"],
        but={"psycopg": "{sad,NULL,ok}"},
    ),
    Reading(
        "sqlalchemy/sqlalchemy#5584, MagicStack/asyncpg#432, #1284",
        "JSON is text until a codec parses it; a psycopg cursor parses it",
        "SELECT '{\"a\": [1, null]}'::jsonb",
        '{"a": [1, null]}',
        but={"text()": {"a": [1, None]}, "psycopg": {"a": [1, None]}},
    ),
    Reading(
        "sqlalchemy/sqlalchemy#5586, MagicStack/asyncpg#617",
        'a "char" of the catalogs',
        "SELECT typtype FROM pg_catalog.pg_type WHERE typname = 'int4'",
        b"b",
        but=dict.fromkeys(("columns", "psycopg", *ARROW), "b"),
    ),
    Reading(
        "apache/arrow-adbc#2448",
        "an array of privileges",
        "SELECT '{=UC/pg_monitor}'::aclitem[]",
        ["=UC/pg_monitor"],
        but={"genuine ADBC": REFUSED},
    ),
    Reading(
        "apache/arrow-adbc#496, pandas-dev/pandas#30207",
        "a moment with its zone",
        "SELECT '2020-01-01 00:00:00+02'::timestamptz",
        datetime(2019, 12, 31, 22, tzinfo=UTC),
    ),
    Reading(
        "pola-rs/polars#21438",
        "a uuid",
        "SELECT '00112233-4455-6677-8899-aabbccddeeff'::uuid",
        UUID("00112233-4455-6677-8899-aabbccddeeff"),
    ),
    Reading(
        "MagicStack/asyncpg#886, #457",
        "a domain over an array of a domain",
        "SELECT '{1,2}'::reports.digits",
        [1, 2],
        but={"psycopg": "{1,2}"},
    ),
    Reading(
        "sfu-db/connector-x#431",
        "an array of texts",
        "SELECT '{a,b}'::text[]",
        ["a", "b"],
    ),
    Reading(
        "sqlalchemy/sqlalchemy#4901",
        "an array of addresses",
        "SELECT '{10.0.0.1/8}'::inet[]",
        [IPv4Interface("10.0.0.1/8")],
        but={
            "ADBC": ["10.0.0.1/8"],
            "genuine ADBC": [b"\2\x08\0\4\n\0\0\1"],
        },
    ),
)


@pytest.mark.parametrize("situation", READINGS, ids=lambda each: each.words)
def test_read(doors: Doors, situation: Reading) -> None:
    assert list(reading_differences(doors, situation)) == []
