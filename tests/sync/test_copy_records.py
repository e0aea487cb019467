# Generated from tests/async/test_copy_records.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""COPY of records: every type, errors for every bad value, and back-pressure of a slow server."""

from __future__ import annotations

import datetime as dt
import tracemalloc
import uuid
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import colonnade
from colonnade.errors import (
    DataError,
    EncodeError,
    InterfaceError,
    NotNullViolationError,
    UndefinedColumnError,
    UndefinedTableError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

EVERY_TYPE: list[tuple[str, Any]] = [
    ("bool", True),
    ("int2", -32768),
    ("int4", 2**31 - 1),
    ("int8", -(2**63)),
    ("oid", 2**32 - 1),
    ("float4", 0.5),
    ("float8", 1.7976931348623157e308),
    ("numeric", Decimal("-12345678901234567890.000100")),
    ("text", "naïve ✓ 𝄞"),
    ("varchar(3)", "äöü"),
    ("bytea", b"\0\xff"),
    ("uuid", uuid.UUID("12345678-1234-5678-1234-567812345678")),
    ("date", dt.date(2024, 2, 29)),
    ("time", dt.time(23, 59, 59, 999999)),
    ("timetz", dt.time(1, 2, 3, tzinfo=dt.UTC)),
    ("timestamp", dt.datetime(1999, 12, 31, 23, 59, 59, 999999)),
    ("timestamptz", dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)),
    ("interval", dt.timedelta(days=-3, microseconds=1)),
    ("json", '{"a": [1]}'),
    ("jsonb", '{"a": [1]}'),
    ("int4[]", [[1, None], [3, 4]]),
    ("text[]", ["a", "", None]),
    ("int4range", colonnade.types.Range(1, 5)),
    ("inet", None),
    ("point", colonnade.types.Point(1.5, -2)),
    ("bit(3)", colonnade.types.BitString("101")),
]


@pytest.fixture
def table(connection: colonnade.sync.Connection) -> str:
    connection.execute('CREATE TEMPORARY TABLE "a table" (i int, t text)')
    return "a table"


def rows_of(connection: colonnade.sync.Connection) -> list[Any]:
    rows = connection.fetch('SELECT * FROM "a table" ORDER BY i')
    return [tuple(row) for row in rows]


def test_every_type_arrives(connection: colonnade.sync.Connection) -> None:
    kinds = ", ".join(f"c{number} {kind}" for number, (kind, _) in enumerate(EVERY_TYPE))
    connection.execute(f"CREATE TEMPORARY TABLE wide ({kinds})")
    values = tuple(value for _, value in EVERY_TYPE)
    nulls = (None,) * len(values)
    assert connection.copy_records_to_table("wide", records=[values, nulls]) == "COPY 2"
    first, second = connection.fetch("TABLE wide")
    assert tuple(first) == values
    assert tuple(second) == nulls


def test_types_that_users_make(connection: colonnade.sync.Connection) -> None:
    connection.execute(
        "CREATE TYPE pg_temp.mood AS ENUM ('sad', 'glad');"
        "CREATE TYPE pg_temp.pair AS (a int, b text);"
        "CREATE DOMAIN pg_temp.positive AS int CHECK (VALUE > 0);"
        "CREATE TEMPORARY TABLE made (m pg_temp.mood, p pg_temp.pair, q pg_temp.positive)"
    )
    records = [("glad", (1, "x"), 5), ("sad", {"a": None, "b": "y"}, 6)]
    assert connection.copy_records_to_table("made", records=records) == "COPY 2"
    rows = connection.fetch("SELECT m::text, (p).a, (p).b, q FROM made")
    assert [tuple(row) for row in rows] == [("glad", 1, "x", 5), ("sad", None, "y", 6)]


def test_codecs_encode(connection: colonnade.sync.Connection) -> None:
    connection.execute("CREATE TEMPORARY TABLE coded (a int4, b date)")
    connection.set_type_codec(
        "int4",
        schema="pg_catalog",
        encoder=lambda value: int(value).to_bytes(4, "big", signed=True),
        decoder=lambda data: str(int.from_bytes(data, "big", signed=True)),
        format="binary",
    )
    connection.set_type_codec(
        "date", schema="pg_catalog", encoder=lambda days: (days,), decoder=tuple, format="tuple"
    )
    assert connection.copy_records_to_table("coded", records=[("7", 60)]) == "COPY 1"
    assert connection.fetchval("SELECT a::text || b FROM coded") == "72000-03-01"
    connection.set_type_codec("int4", schema="pg_catalog", encoder=str, decoder=int, format="text")
    assert connection.copy_records_to_table("coded", records=[(7, 60)]) == "COPY 1"
    assert connection.fetchval("SELECT count(*) FROM coded WHERE a = 7") == 2


def test_every_kind_of_record(connection: colonnade.sync.Connection, table: str) -> None:
    row = connection.fetchrow("SELECT 3, 'c'")
    structured = np.array([(6, "f")], dtype=[("i", "i4"), ("t", "U1")])
    records: list[Any] = [
        (1, "a"),
        [2, "b"],
        row,
        {"t": "d", "i": 4},
        (np.int64(5), np.str_("e")),
        structured[0],
    ]
    assert connection.copy_records_to_table(table, records=records) == "COPY 6"
    assert connection.copy_records_to_table(table, records=iter([(7, "g")])) == "COPY 1"
    assert connection.copy_records_to_table(table, records=()) == "COPY 0"
    assert rows_of(connection) == [(number, letter) for number, letter in enumerate("abcdefg", 1)]


def test_columns_schema_and_where(connection: colonnade.sync.Connection, table: str) -> None:
    status = connection.copy_records_to_table(
        table,
        records=[("a", 1), ("b", 2)],
        columns=["t", "i"],
        schema_name="pg_temp",
        where="i > 1",
    )
    assert status == "COPY 1"
    assert rows_of(connection) == [(2, "b")]
    connection.copy_records_to_table(table, records=[(3,)], columns=["i"])
    assert rows_of(connection) == [(2, "b"), (3, None)]


def test_generated_and_dropped_columns(connection: colonnade.sync.Connection) -> None:
    connection.execute(
        'CREATE TEMPORARY TABLE odd (a int, gone int, g int GENERATED ALWAYS AS (a * 2) STORED, "B"'
        " text, n int GENERATED ALWAYS AS IDENTITY); ALTER TABLE odd DROP gone"
    )
    assert connection.copy_records_to_table("odd", records=[(1, "x", 9)]) == "COPY 1"
    assert connection.fetchrow('SELECT a, g, "B", n FROM odd') == (1, 2, "x", 9)


def test_a_table_that_was_altered_meanwhile(
    connection: colonnade.sync.Connection, table: str, dsn: str
) -> None:
    """A stale description of the table would send an int's bytes for a float."""
    del table, dsn
    connection.execute("CREATE TEMPORARY TABLE altered (a int4)")
    connection.copy_records_to_table("altered", records=[(1,)])
    connection.execute("ALTER TABLE altered ALTER a TYPE float4")
    with connection.transaction():
        connection.copy_records_to_table("altered", records=[(2.5,)])
    assert [row[0] for row in connection.fetch("TABLE altered")] == [1.0, 2.5]


def test_a_generated_column_that_becomes_a_plain_one(
    connection: colonnade.sync.Connection,
) -> None:
    create = "CREATE TEMPORARY TABLE odd (a int, g int GENERATED ALWAYS AS (a * 2) STORED)"
    connection.execute(create)
    connection.copy_records_to_table("odd", records=[(1,)])
    connection.execute("ALTER TABLE odd ADD b int")
    connection.copy_records_to_table("odd", records=[(2, 3)])
    connection.execute("DROP TABLE odd; CREATE TEMPORARY TABLE odd (a int, g int)")
    connection.copy_records_to_table("odd", records=[(1, 2)])
    connection.execute("DROP TABLE odd; CREATE TEMPORARY TABLE odd (g int)")
    assert connection.copy_records_to_table("odd", records=[(5,)]) == "COPY 1"


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ((1,), 'row 1 has 1 value, and 2 columns are copied: "i", "t"'),
        ((1, "a", 2), "row 1 has 3 values, and 2 columns are copied"),
        ("ab", "row 1 must be a sequence of values or a mapping of columns to values, not str"),
        (5, "row 1 must be a sequence of values .* not int"),
        ({1, 2}, "row 1 must be a sequence of values .* not set"),
        ({"i": 1, "x": 2}, 'row 1 has no value for column "t"'),
        ({"i": 1}, "row 1 has 1 value, and 2 columns are copied"),
        (("1", "a"), "column \"i\", row 1, from str to int4: '1' .expected an int"),
        ((2**31, "a"), 'column "i", row 1, from int to int4'),
        ((1, 5), 'column "t", row 1, from int to text: 5 .expected a str'),
        ((1, "a\0"), 'column "t", row 1'),
        ((1, "\ud800"), 'column "t", row 1'),
    ],
)
def test_faults_name_row_and_column(
    connection: colonnade.sync.Connection, table: str, record: Any, message: str
) -> None:
    with pytest.raises(EncodeError, match=message) as caught:
        connection.copy_records_to_table(table, records=[(0, "x"), record])
    assert isinstance(caught.value, DataError)
    assert rows_of(connection) == []


def test_an_error_of_the_source(connection: colonnade.sync.Connection, table: str) -> None:
    def source() -> Iterator[tuple[int, str]]:
        yield from ((number, "x" * 100) for number in range(10_000))
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        connection.copy_records_to_table(table, records=source())
    with pytest.raises(TypeError, match="records must be a sequence, not int"):
        connection.copy_records_to_table(table, records=5)  # type: ignore[arg-type]
    assert rows_of(connection) == []


def test_an_error_of_the_server(connection: colonnade.sync.Connection, table: str) -> None:
    with pytest.raises(UndefinedTableError):
        connection.copy_records_to_table("nowhere", records=[(1,)])
    with pytest.raises(UndefinedColumnError):
        connection.copy_records_to_table(table, records=[(1,)], columns=["x"])
    connection.execute('ALTER TABLE "a table" ALTER t SET NOT NULL')
    records = [(1, None)] + [(number, "x" * 100) for number in range(100_000)]
    with pytest.raises(NotNullViolationError):
        connection.copy_records_to_table(table, records=records)
    assert rows_of(connection) == []


def test_a_source_that_uses_its_connection(
    connection: colonnade.sync.Connection, table: str
) -> None:
    """The source may call methods that send nothing to the server, but not run a query."""
    asked: list[Any] = []

    def source() -> Iterator[tuple[int, str]]:
        asked.append((connection.is_closed(), repr(connection)))
        yield 1, "a"
        connection.terminate()
        yield 2, "b"

    with pytest.raises((InterfaceError, ConnectionError, colonnade.PostgresError)):
        connection.copy_records_to_table(table, records=source())
    assert asked
    assert connection.is_closed()


def test_an_endless_source_ends_by_its_timeout(
    connection: colonnade.sync.Connection, table: str
) -> None:
    def endless() -> Iterator[tuple[int, str]]:
        while True:
            yield 1, "x"

    tracemalloc.start()
    with pytest.raises(TimeoutError):
        connection.copy_records_to_table(table, records=endless(), timeout=0.3)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 8_000_000
    assert rows_of(connection) == []
