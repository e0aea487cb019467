"""The SQL functions of structs over bytes that were cut, and over times that SQL does not have."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pytest

from colonnade import sync
from colonnade.structs import Struct, struct

if TYPE_CHECKING:
    from collections.abc import Iterator


@struct
class Inner(Struct):
    number: int
    text: str


@struct
class Damaged(Struct):
    id: int
    name: str
    raw: bytes
    small: Annotated[int, "int16"]
    inner: Inner
    code: Annotated[bytes, "S3"]
    ratio: float | None
    seen: Annotated[np.datetime64, "s"]
    note: str | None = None


WHOLE = Damaged(7, "ada", b"\1\2", 3, Inner(1, "x"), b"abc", 0.5, np.datetime64("2024-01-01"), "n")
FIELDS = ("id", "name", "raw", "small", "inner", "code", "ratio", "seen", "note")


@pytest.fixture
def connection(dsn: str) -> Iterator[sync.Connection]:
    with sync.connect(dsn) as connection:
        connection.execute(Damaged.create_sql(schema="pg_temp"))
        connection.execute("CREATE TEMP TABLE t (data bytea)")
        yield connection


def read(connection: sync.Connection) -> list[list[Any]]:
    calls = ", ".join(f"pg_temp.damaged_{name}(data)" for name in FIELDS)
    return [list(row) for row in connection.fetch(f"SELECT {calls} FROM t")]


def test_cut_bytes_are_null_in_every_field(connection: sync.Connection) -> None:
    data = bytes(WHOLE)
    cuts = [(data[:end],) for end in range(len(data))]
    cuts += [(data + b"\0",), (data + data,), (b"",)]
    connection.copy_records_to_table("t", records=cuts)
    assert read(connection) == [[None] * len(FIELDS)] * len(cuts)
    connection.execute("CREATE INDEX ON t (pg_temp.damaged_id(data))")
    connection.execute("TRUNCATE t")
    connection.copy_records_to_table("t", records=[(data,)])
    (row,) = read(connection)
    assert row[:4] == [7, "ada", b"\1\2", 3]
    assert row[5:] == [b"abc", 0.5, dt.datetime(2024, 1, 1), "n"]


def test_no_changed_length_or_end_is_an_error(connection: sync.Connection) -> None:
    """Each byte of the header and of the ends changed: a value or NULL."""
    data = bytes(WHOLE)
    changed = [
        (data[:place] + bytes([byte]) + data[place + 1 :],)
        for place in range(len(data) - len("ada") - len("n") - 20)
        for byte in (0x00, 0x7F, 0x80, 0xFF)
        if place not in range(24, 24)
    ]
    connection.copy_records_to_table("t", records=changed)
    names = ("id", "raw", "small", "inner", "code", "ratio", "seen")
    calls = ", ".join(f"pg_temp.damaged_{name}(data)" for name in names)
    rows = connection.fetch(f"SELECT {calls} IS NULL FROM t")
    assert len(rows) == len(changed)


def test_a_cut_older_version_has_no_default(connection: sync.Connection) -> None:
    old: Any = struct(type("Made", (Struct,), {"__annotations__": {"number": int}}))
    fields = {"number": int, "b": int}
    new: Any = struct(type("Made", (Struct,), {"__annotations__": fields, "b": 5}))
    connection.execute(new.create_sql(schema="pg_temp"))
    data = bytes(old(1))
    query = "SELECT pg_temp.made_b($1)"
    assert connection.fetchval(query, data) == 5
    assert connection.fetchval(query, data[:-1]) is None


UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us")


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("kind", ["datetime64", "timedelta64"])
def test_times_beyond_the_servers_are_null(dsn: str, kind: str, unit: str) -> None:
    made: Any = struct(type("Timed", (Struct,), {"__annotations__": {"at": f"{kind}[{unit}]"}}))
    scalar: Any = getattr(np, kind)
    counts = [sign * 2**power + more for power in range(63) for sign in (1, -1) for more in (-1, 0)]
    with sync.connect(dsn) as connection:
        connection.execute(made.create_sql(schema="pg_temp"))
        connection.execute("CREATE TEMP TABLE t (n int8, data bytea)")
        records = [(count, made(scalar(count, unit))) for count in dict.fromkeys(counts)]
        connection.copy_records_to_table("t", records=records)
        rows = connection.fetch("SELECT n, pg_temp.timed_at(data)::text FROM t")
    known = {count: text for count, text in rows if text is not None}
    assert {0, 1, -1, 2**15} <= known.keys()
    assert len(known) < len(rows) or (unit, kind) == ("us", "timedelta64")


@pytest.mark.parametrize(
    ("unit", "last"),
    [("D", 2_145_031_948), ("W", 306_433_135), ("s", 9_224_318_015), ("h", 2_562_310)],
)
def test_the_last_times_of_the_server_are_read(dsn: str, unit: str, last: int) -> None:
    made: Any = struct(type("Timed", (Struct,), {"__annotations__": {"at": f"datetime64[{unit}]"}}))
    first = {"D": -2_440_588, "W": -348_655, "s": -210_866_803_200, "h": -58_574_112}[unit]
    scalar: Any = np.datetime64
    with sync.connect(dsn) as connection:
        connection.execute(made.create_sql(schema="pg_temp"))
        for inside, outside in ((last, last + 1), (first, first - 1)):
            query = "SELECT pg_temp.timed_at($1) IS NOT NULL, pg_temp.timed_at($2) IS NULL"
            row = connection.fetchrow(
                query, made(scalar(inside, unit)), made(scalar(outside, unit))
            )
            assert row == (True, True)
