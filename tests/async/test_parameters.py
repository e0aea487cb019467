# async-only: file
"""Every built-in type as a parameter, read back in rows and in columns.

The core converts values, alike in both colours.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
import uuid
from typing import Any

import numpy as np
import pytest

import colonnade

D = decimal.Decimal
ID = uuid.UUID("12345678-9abc-def0-1234-56789abcdef0")
MOMENT = dt.datetime(2024, 2, 29, 23, 59, 59, 999_999)
ZONE = dt.timezone(dt.timedelta(hours=5, minutes=30))

VALUES: list[tuple[str, Any]] = [
    *[("bool", value) for value in (True, False)],
    *[("int2", value) for value in (0, -1, 32_767, -32_768)],
    *[("int4", value) for value in (0, 2**31 - 1, -(2**31))],
    *[("int8", value) for value in (0, 2**63 - 1, -(2**63))],
    *[(name, value) for name in ("oid", "xid", "cid") for value in (0, 2**32 - 1)],
    *[("float4", value) for value in (0.0, 1.5, -0.0, math.inf)],
    *[("float8", value) for value in (0.1, 1e308, 5e-324, -math.inf)],
    *[(name, "größe 大 '\"\\") for name in ("text", "varchar", "name", "unknown")],
    ("text", ""),
    ("text", "x" * 100_000),
    ("bpchar", "padded  "),
    ("varchar(3)", "abc"),
    ("bpchar(5)", "abc  "),
    ("json", '{"a" : [1, null]}'),
    ("jsonb", '{"a": [1, null]}'),
    *[("bytea", value) for value in (b"", b"\0\xff" * 1000)],
    ("uuid", ID),
    *[("date", value) for value in (dt.date(1, 1, 2), dt.date(2000, 1, 1), dt.date(9999, 12, 30))],
    *[("time", value) for value in (dt.time(), dt.time(23, 59, 59, 999_999))],
    *[("timestamp", value) for value in (MOMENT, dt.datetime(1969, 12, 31, 23, 59, 59, 1))],
    ("timestamptz", MOMENT.replace(tzinfo=dt.UTC)),
    *[("numeric", D(text)) for text in ("0", "-1.50", "1e-20", "12345678901234567890.123456789")],
    ("numeric", D("1" + "0" * 60)),
    ("numeric(10, 2)", D("-12345678.90")),
]


@pytest.mark.parametrize(("type_name", "value"), VALUES, ids=lambda value: str(value)[:30])
async def test_round_trip(connection: colonnade.Connection, type_name: str, value: Any) -> None:
    query = f"SELECT $1::{type_name} AS v"
    if type_name == "unknown":
        query = "SELECT $1 AS v"
    got = await connection.fetchval(query, value)
    assert got == value
    assert type(got) is type(value)
    if isinstance(value, decimal.Decimal):
        assert got.as_tuple() == D(format(value, "f")).as_tuple()
    columns = await connection.fetch_columns(query, value)
    assert columns.to_pylist() == [{"v": value}]


@pytest.mark.parametrize(
    "type_name", sorted({type_name for type_name, _ in VALUES} - {"unknown"} | {'"char"'})
)
async def test_null(connection: colonnade.Connection, type_name: str) -> None:
    query = f"SELECT $1::{type_name} AS v, $1::{type_name} IS NULL AS is_null"
    assert await connection.fetchrow(query, None) == (None, True)
    columns = await connection.fetch_columns(query, None)
    assert columns.to_pylist() == [{"v": None, "is_null": True}]


async def test_single_bytes(connection: colonnade.Connection) -> None:
    """The type "char" is bytes in rows, as in asyncpg, and text in columns."""
    for value in (b"x", b"\0", b"\xe4"):
        assert await connection.fetchval("""SELECT $1::"char" AS v""", value) == value
    columns = await connection.fetch_columns("""SELECT $1::"char" AS v""", b"x")
    assert columns.to_pylist() == [{"v": "x"}]


async def test_not_a_number(connection: colonnade.Connection) -> None:
    for name in ("float4", "float8"):
        assert math.isnan(await connection.fetchval(f"SELECT $1::{name}", math.nan))
    assert (await connection.fetchval("SELECT $1::numeric", D("NaN"))).is_nan()
    assert await connection.fetchval("SELECT $1::numeric", D("Infinity")) == D("Infinity")


async def test_the_ends_of_time(connection: colonnade.Connection) -> None:
    for name, last in (("date", dt.date.max), ("timestamp", dt.datetime.max)):
        query = f"SELECT $1::{name}::text, $1::{name}"
        assert await connection.fetchrow(query, last) == ("infinity", last)
        first = type(last).min
        assert await connection.fetchrow(query, first) == ("-infinity", first)


@pytest.mark.parametrize(
    ("type_name", "value", "text"),
    [
        ("timestamptz", MOMENT.replace(tzinfo=ZONE), "2024-02-29 18:29:59.999999+00"),
        ("timestamp", dt.date(2024, 2, 29), "2024-02-29 00:00:00"),
        ("timestamptz", dt.date(2024, 2, 29), "2024-02-29 00:00:00+00"),
        ("numeric", 5, "5"),
        ("numeric", "1.50", "1.50"),
        ("numeric", True, "1"),
        ("float8", 5, "5"),
        ("float8", D("0.5"), "0.5"),
        ("uuid", str(ID), str(ID)),
        ("bytea", bytearray(b"\1"), "\\x01"),
        ("bytea", memoryview(b"\1\2")[::1], "\\x0102"),
        ("inet", "127.0.0.1", "127.0.0.1/32"),
        ("int4[]", [1, None], "{1,NULL}"),
        ("macaddr", "08:00:2b:01:02:03", "08:00:2b:01:02:03"),
    ],
)
async def test_what_else_a_type_takes(
    connection: colonnade.Connection, type_name: str, value: Any, text: str
) -> None:
    assert await connection.fetchval(f"SELECT $1::{type_name}::text", value) == text


async def test_many_parameters(connection: colonnade.Connection) -> None:
    count = 32_767
    query = f"SELECT {' + '.join(f'${n}::int8' for n in range(1, 1001))}"
    assert await connection.fetchval(query, *range(1000)) == 499_500
    listed = ", ".join(f"(${n}::int4)" for n in range(1, count + 1))
    query = f"SELECT sum(column1) FROM (VALUES {listed}) v"
    assert await connection.fetchval(query, *([1] * count)) == count


async def test_a_column_of_times_goes_back(connection: colonnade.Connection) -> None:
    times = (await connection.fetch_columns("SELECT '01:02:03.000004'::time AS t"))["t"]
    assert await connection.fetchval("SELECT $1::time::text", times[0]) == "01:02:03.000004"
    assert await connection.fetchval("SELECT $1::time[]::text", times) == "{01:02:03.000004}"
    with pytest.raises(colonnade.EncodeError, match="from 00:00:00 to 24:00:00"):
        await connection.fetchval("SELECT $1::time", np.timedelta64(25, "h"))
    with pytest.raises(colonnade.EncodeError, match="not a whole number of microseconds"):
        await connection.fetchval("SELECT $1::time", np.timedelta64(1, "ns"))
