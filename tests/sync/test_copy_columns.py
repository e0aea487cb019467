# Generated from tests/async/test_copy_columns.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""COPY of columns into a table: its arguments, its results, and the state after a failure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import colonnade
from colonnade.errors import (
    DuplicateTableError,
    EncodeError,
    InterfaceError,
    InvalidColumnReferenceError,
    NotNullViolationError,
    UndefinedTableError,
    UniqueViolationError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

TABLE = "a table"


@pytest.fixture
def table(connection: colonnade.sync.Connection) -> str:
    connection.execute(
        """CREATE TEMPORARY TABLE "a table" (
               id int8 PRIMARY KEY, "a name" text, price float8, stock int4 DEFAULT 7,
               twice int8 GENERATED ALWAYS AS (id * 2) STORED)"""
    )
    return TABLE


def rows(connection: colonnade.sync.Connection) -> list[tuple[Any, ...]]:
    found = connection.fetch('SELECT id, "a name", price, stock FROM "a table" ORDER BY id')
    return [tuple(row) for row in found]


def numbers(count: int) -> dict[str, Any]:
    return {"id": np.arange(count), "price": np.arange(count) / 4}


def test_names_and_defaults(connection: colonnade.sync.Connection, table: str) -> None:
    source = {"a name": ["x", None], "id": np.array([2, 1], "i2")}
    assert connection.copy_columns_to_table(table, source) == "COPY 2"
    assert rows(connection) == [(1, None, None, 7), (2, "x", None, 7)]
    assert connection.fetchval('SELECT max(twice) FROM "a table"') == 4


def test_columns_by_order_and_by_mapping(connection: colonnade.sync.Connection, table: str) -> None:
    source = pa.table({"k": [1], "n": ["x"], "other": [5]})
    copy = connection.copy_columns_to_table
    with pytest.raises(InterfaceError, match=r'has no column "k".* it has "id", "a name"'):
        copy(table, source)
    with pytest.raises(InterfaceError, match="columns has 2 names, but the source has 3 columns"):
        copy(table, source, columns=["id", "a name"])
    with pytest.raises(InterfaceError, match=r'did you mean "price"\?'):
        copy(table, source, columns=["id", "a name", "prices"])
    with pytest.raises(InterfaceError, match=r'filled twice: "id", "a name", "id"'):
        copy(table, source, columns=["id", "a name", "id"])
    with pytest.raises(InterfaceError, match="columns names 'key', but the source has \"k\""):
        copy(table, source, columns={"key": "id"})
    with pytest.raises(TypeError, match="a list or a mapping of names"):
        copy(table, source, columns="id")
    assert copy(table, source, columns=["id", "a name", "stock"]) == "COPY 1"
    again = pa.table({"k": [2], "n": ["y"], "other": [5]})
    assert copy(table, again, columns={"n": "a name", "k": "id"}) == "COPY 1"
    assert rows(connection) == [(1, "x", None, 5), (2, "y", None, 7)]


def test_what_cannot_be_copied(connection: colonnade.sync.Connection, table: str) -> None:
    copy = connection.copy_columns_to_table
    with pytest.raises(UndefinedTableError):
        copy("no table", numbers(1))
    with pytest.raises(InvalidColumnReferenceError, match="generated column"):
        copy(table, {"id": [1], "twice": [1]})
    with pytest.raises(TypeError, match=r"source must be Columns, .* not int"):
        copy(table, 5)
    with pytest.raises(TypeError, match="not str"):
        copy(table, "a path")
    with pytest.raises(TypeError, match=r'column "id" must be an array .* not int'):
        copy(table, {"id": 5})
    with pytest.raises(ValueError, match='"price" has 2 rows, and column "id" has 1'):
        copy(table, {"id": [1], "price": [1.0, 2.0]})
    with pytest.raises(InterfaceError, match="no column for the table"):
        copy(table, {})
    with pytest.raises(NotNullViolationError):
        copy(table, {"id": [1, None]})
    assert rows(connection) == []


def test_errors_of_values_leave_nothing(connection: colonnade.sync.Connection, table: str) -> None:
    copy = connection.copy_columns_to_table
    many = 200_000
    late = np.full(many, 1.0)
    late[many - 1] = 1.5
    with pytest.raises(EncodeError, match=rf'column "stock", row {many - 1}, .*1\.5'):
        copy(table, {"id": np.arange(many), "stock": late})
    names: list[object] = ["x"] * 1000
    names[999] = 5
    with pytest.raises(EncodeError, match='column "a name", row 999, from int to text: 5'):
        copy(table, {"id": np.arange(1000), "a name": names})
    with pytest.raises(EncodeError, match='column "stock", row 3'):
        copy(table, [pa.table({"id": [i], "stock": [i // 3 * 2**40]}) for i in range(9)])
    with pytest.raises(EncodeError, match='column "stock": Arrow\'s Utf8 is not written to int4'):
        copy(table, pa.table({"id": [1], "stock": ["1"]}))
    with pytest.raises(UniqueViolationError):
        copy(table, {"id": np.zeros(many, "i8")})
    assert rows(connection) == []
    assert copy(table, numbers(3)) == "COPY 3"


def test_errors_of_the_source_leave_nothing(
    connection: colonnade.sync.Connection, table: str
) -> None:
    def batches() -> Iterator[Any]:
        yield numbers(100_000)
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        connection.copy_columns_to_table(table, batches())
    with pytest.raises(InterfaceError, match="a batch has the columns"):
        connection.copy_columns_to_table(table, [{"id": [1]}, {"stock": [1]}])
    reader = pa.RecordBatchReader.from_batches(
        pa.schema({"id": pa.int64()}), (pa.record_batch({"id": [1 // i]}) for i in (1, 0))
    )
    with pytest.raises(ZeroDivisionError, match="by zero"):
        connection.copy_columns_to_table(table, reader)
    assert rows(connection) == []


def test_batches_and_progress(connection: colonnade.sync.Connection, table: str) -> None:
    seen: list[int] = []
    batches = [{"id": np.arange(start, start + 1000)} for start in range(0, 100_000, 1000)]
    status = connection.copy_columns_to_table(table, iter(batches), progress=seen.append)
    assert status == "COPY 100000"
    assert seen == sorted(seen)
    assert seen[-1] == 100_000
    assert connection.copy_columns_to_table(table, iter([])) == "COPY 0"
    assert connection.copy_columns_to_table(table, {"id": []}) == "COPY 0"


def test_batches_of_another_connection(
    connection: colonnade.sync.Connection, table: str, dsn: str
) -> None:
    with colonnade.sync.connect(dsn) as other:
        stream = other.iter_columns(
            "SELECT i::int8 AS id, 'n' || i AS \"a name\" FROM generate_series(1, 300000) i",
            batch_rows=10_000,
        )
        assert connection.copy_columns_to_table(table, stream) == "COPY 300000"
    assert connection.fetchval('SELECT count(DISTINCT "a name") FROM "a table"') == 300_000


def test_nan(connection: colonnade.sync.Connection, table: str) -> None:
    source = {"id": np.arange(2), "price": np.array([np.nan, 1.0])}
    arrow = pa.table({"id": [0, 1], "price": [np.nan, 1.0]})
    cases: list[tuple[Any, dict[str, Any], str]] = [
        (source, {}, "None"),
        (source, {"nan_as_null": None}, "None"),
        (source, {"nan_as_null": True}, "None"),
        (source, {"nan_as_null": False}, "nan"),
        (arrow, {}, "nan"),
        (arrow, {"nan_as_null": True}, "None"),
    ]
    for given, options, want in cases:
        connection.execute('TRUNCATE "a table"')
        connection.copy_columns_to_table(table, given, **options)
        assert str((rows(connection))[0][2]) == want


def test_create(connection: colonnade.sync.Connection) -> None:
    source = pa.table({"a b": pa.array([1, 2], pa.uint16()), "t": [["x"], None]})
    copy = connection.copy_columns_to_table
    try:
        assert copy("made here", source, create=True) == "COPY 2"
        with pytest.raises(DuplicateTableError):
            copy("made here", source, create=True)
        assert not connection.is_in_transaction()
        found = connection.fetch(
            "SELECT attname, format_type(atttypid, atttypmod) AS type FROM pg_attribute "
            "WHERE attrelid = '\"made here\"'::regclass AND attnum > 0"
        )
        assert [tuple(row) for row in found] == [("a b", "integer"), ("t", "text[]")]
    finally:
        connection.execute('DROP TABLE "made here"')


def test_a_failing_copy_makes_no_table(connection: colonnade.sync.Connection) -> None:
    values = np.array(["2020-01-01", "NaT"], "M8[us]")
    with pytest.raises(EncodeError, match="nan_as_null=True"):
        connection.copy_columns_to_table("made_here", {"t": values}, create=True, nan_as_null=False)
    assert not connection.is_in_transaction()
    assert connection.fetchval("SELECT to_regclass('made_here')") is None
    connection.execute("BEGIN")
    with pytest.raises(EncodeError):
        connection.copy_columns_to_table("made_here", {"t": values}, create=True, nan_as_null=False)
    assert connection.is_in_transaction()
    connection.execute("ROLLBACK")
    assert connection.fetchval("SELECT to_regclass('made_here')") is None


def test_on_conflict(connection: colonnade.sync.Connection, table: str) -> None:
    copy = connection.copy_columns_to_table
    copy(table, {"id": [1], "a name": ["old"], "stock": [3]})
    source = {"id": [1, 2], "a name": ["new", "two"]}
    assert copy(table, source, on_conflict="nothing") == "INSERT 0 1"
    assert (rows(connection))[0] == (1, "old", None, 3)
    update: dict[str, Any] = {"on_conflict": "update", "conflict_columns": "id"}
    assert copy(table, source, **update) == "INSERT 0 2"
    assert rows(connection) == [(1, "new", None, 3), (2, "two", None, 7)]
    assert copy(table, {"id": [1]}, **update) == "INSERT 0 0"
    connection.execute("BEGIN")
    for _ in range(2):
        assert copy(table, source, **update) == "INSERT 0 2"
    assert connection.is_in_transaction()
    connection.execute("ROLLBACK")


def test_conflicts_that_cannot_be(connection: colonnade.sync.Connection, table: str) -> None:
    copy = connection.copy_columns_to_table
    with pytest.raises(ValueError, match="on_conflict must be"):
        copy(table, numbers(1), on_conflict="replace")  # type: ignore[arg-type]
    with pytest.raises(InterfaceError, match="needs conflict_columns"):
        copy(table, numbers(1), on_conflict="update")
    with pytest.raises(InterfaceError, match="needs on_conflict"):
        copy(table, numbers(1), conflict_columns=["id"])
    with pytest.raises(InterfaceError, match="a new table has no key"):
        copy(table, numbers(1), create=True, on_conflict="nothing")
    with pytest.raises(InterfaceError, match='names "stock", but the source has "id", "price"'):
        copy(table, numbers(1), on_conflict="update", conflict_columns=["stock"])
    with pytest.raises(InvalidColumnReferenceError, match="no unique or exclusion constraint"):
        copy(table, numbers(1), on_conflict="update", conflict_columns=["price"])
    assert not connection.is_in_transaction()
    assert rows(connection) == []


def test_timeout(connection: colonnade.sync.Connection, table: str) -> None:
    def slow() -> Iterator[Any]:
        start = 0
        while True:
            yield {"id": np.arange(start, start + 10_000)}
            start += 10_000

    for given in ({}, {"on_conflict": "nothing"}):
        options: dict[str, Any] = dict(given)
        with pytest.raises(TimeoutError):
            connection.copy_columns_to_table(table, slow(), timeout=0.2, **options)
        assert not connection.is_in_transaction()
        assert rows(connection) == []


def test_statements_are_not_kept(connection: colonnade.sync.Connection, table: str) -> None:
    kept = connection.conversation.session.cached_statements
    connection.copy_columns_to_table(table, numbers(1))
    assert connection.conversation.session.cached_statements == kept
