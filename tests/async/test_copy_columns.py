"""COPY of columns into a table: its arguments, its results, and the state after a failure."""

from __future__ import annotations

import asyncio
import time
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
    from collections.abc import AsyncIterator, Iterator

TABLE = "a table"


@pytest.fixture
async def table(connection: colonnade.Connection) -> str:
    await connection.execute(
        """CREATE TEMPORARY TABLE "a table" (
               id int8 PRIMARY KEY, "a name" text, price float8, stock int4 DEFAULT 7,
               twice int8 GENERATED ALWAYS AS (id * 2) STORED)"""
    )
    return TABLE


async def rows(connection: colonnade.Connection) -> list[tuple[Any, ...]]:
    found = await connection.fetch('SELECT id, "a name", price, stock FROM "a table" ORDER BY id')
    return [tuple(row) for row in found]


def numbers(count: int) -> dict[str, Any]:
    return {"id": np.arange(count), "price": np.arange(count) / 4}


async def test_names_and_defaults(connection: colonnade.Connection, table: str) -> None:
    source = {"a name": ["x", None], "id": np.array([2, 1], "i2")}
    assert await connection.copy_columns_to_table(table, source) == "COPY 2"
    assert await rows(connection) == [(1, None, None, 7), (2, "x", None, 7)]
    assert await connection.fetchval('SELECT max(twice) FROM "a table"') == 4


async def test_columns_by_order_and_by_mapping(
    connection: colonnade.Connection, table: str
) -> None:
    source = pa.table({"k": [1], "n": ["x"], "other": [5]})
    copy = connection.copy_columns_to_table
    with pytest.raises(InterfaceError, match=r'has no column "k".* it has "id", "a name"'):
        await copy(table, source)
    with pytest.raises(InterfaceError, match="columns has 2 names, but the source has 3 columns"):
        await copy(table, source, columns=["id", "a name"])
    with pytest.raises(InterfaceError, match=r'did you mean "price"\?'):
        await copy(table, source, columns=["id", "a name", "prices"])
    with pytest.raises(InterfaceError, match=r'filled twice: "id", "a name", "id"'):
        await copy(table, source, columns=["id", "a name", "id"])
    with pytest.raises(InterfaceError, match="columns names 'key', but the source has \"k\""):
        await copy(table, source, columns={"key": "id"})
    with pytest.raises(TypeError, match="a list or a mapping of names"):
        await copy(table, source, columns="id")
    assert await copy(table, source, columns=["id", "a name", "stock"]) == "COPY 1"
    again = pa.table({"k": [2], "n": ["y"], "other": [5]})
    assert await copy(table, again, columns={"n": "a name", "k": "id"}) == "COPY 1"
    assert await rows(connection) == [(1, "x", None, 5), (2, "y", None, 7)]


async def test_what_cannot_be_copied(connection: colonnade.Connection, table: str) -> None:
    copy = connection.copy_columns_to_table
    with pytest.raises(UndefinedTableError):
        await copy("no table", numbers(1))
    with pytest.raises(InvalidColumnReferenceError, match="generated column"):
        await copy(table, {"id": [1], "twice": [1]})
    with pytest.raises(TypeError, match=r"source must be Columns, .* not int"):
        await copy(table, 5)
    with pytest.raises(TypeError, match="not str"):
        await copy(table, "a path")
    with pytest.raises(TypeError, match=r'column "id" must be an array .* not int'):
        await copy(table, {"id": 5})
    with pytest.raises(ValueError, match='"price" has 2 rows, and column "id" has 1'):
        await copy(table, {"id": [1], "price": [1.0, 2.0]})
    with pytest.raises(InterfaceError, match="no column for the table"):
        await copy(table, {})
    with pytest.raises(NotNullViolationError):
        await copy(table, {"id": [1, None]})
    assert await rows(connection) == []


async def test_errors_of_values_leave_nothing(connection: colonnade.Connection, table: str) -> None:
    copy = connection.copy_columns_to_table
    many = 200_000
    late = np.full(many, 1.0)
    late[many - 1] = 1.5
    with pytest.raises(EncodeError, match=rf'column "stock", row {many - 1}, .*1\.5'):
        await copy(table, {"id": np.arange(many), "stock": late})
    names: list[object] = ["x"] * 1000
    names[999] = 5
    with pytest.raises(EncodeError, match='column "a name", row 999, from int to text: 5'):
        await copy(table, {"id": np.arange(1000), "a name": names})
    with pytest.raises(EncodeError, match='column "stock", row 3'):
        await copy(table, [pa.table({"id": [i], "stock": [i // 3 * 2**40]}) for i in range(9)])
    with pytest.raises(EncodeError, match='column "stock": Arrow\'s Utf8 is not written to int4'):
        await copy(table, pa.table({"id": [1], "stock": ["1"]}))
    with pytest.raises(UniqueViolationError):
        await copy(table, {"id": np.zeros(many, "i8")})
    assert await rows(connection) == []
    assert await copy(table, numbers(3)) == "COPY 3"


async def test_errors_of_the_source_leave_nothing(
    connection: colonnade.Connection, table: str
) -> None:
    def batches() -> Iterator[Any]:
        yield numbers(100_000)
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        await connection.copy_columns_to_table(table, batches())
    with pytest.raises(InterfaceError, match="a batch has the columns"):
        await connection.copy_columns_to_table(table, [{"id": [1]}, {"stock": [1]}])
    reader = pa.RecordBatchReader.from_batches(
        pa.schema({"id": pa.int64()}), (pa.record_batch({"id": [1 // i]}) for i in (1, 0))
    )
    with pytest.raises(ZeroDivisionError, match="by zero"):
        await connection.copy_columns_to_table(table, reader)
    assert await rows(connection) == []


async def test_batches_and_progress(connection: colonnade.Connection, table: str) -> None:
    seen: list[int] = []
    batches = [{"id": np.arange(start, start + 1000)} for start in range(0, 100_000, 1000)]
    status = await connection.copy_columns_to_table(table, iter(batches), progress=seen.append)
    assert status == "COPY 100000"
    assert seen == sorted(seen)
    assert seen[-1] == 100_000
    assert await connection.copy_columns_to_table(table, iter([])) == "COPY 0"
    assert await connection.copy_columns_to_table(table, {"id": []}) == "COPY 0"


async def test_batches_of_another_connection(
    connection: colonnade.Connection, table: str, dsn: str
) -> None:
    async with await colonnade.connect(dsn) as other:
        stream = other.iter_columns(
            "SELECT i::int8 AS id, 'n' || i AS \"a name\" FROM generate_series(1, 300000) i",
            batch_rows=10_000,
        )
        assert await connection.copy_columns_to_table(table, stream) == "COPY 300000"
    assert await connection.fetchval('SELECT count(DISTINCT "a name") FROM "a table"') == 300_000


async def test_nan(connection: colonnade.Connection, table: str) -> None:
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
        await connection.execute('TRUNCATE "a table"')
        await connection.copy_columns_to_table(table, given, **options)
        assert str((await rows(connection))[0][2]) == want


async def test_create(connection: colonnade.Connection) -> None:
    source = pa.table({"a b": pa.array([1, 2], pa.uint16()), "t": [["x"], None]})
    copy = connection.copy_columns_to_table
    try:
        assert await copy("made here", source, create=True) == "COPY 2"
        with pytest.raises(DuplicateTableError):
            await copy("made here", source, create=True)
        assert not connection.is_in_transaction()
        found = await connection.fetch(
            "SELECT attname, format_type(atttypid, atttypmod) AS type FROM pg_attribute "
            "WHERE attrelid = '\"made here\"'::regclass AND attnum > 0"
        )
        assert [tuple(row) for row in found] == [("a b", "integer"), ("t", "text[]")]
    finally:
        await connection.execute('DROP TABLE "made here"')


async def test_a_failing_copy_makes_no_table(connection: colonnade.Connection) -> None:
    values = np.array(["2020-01-01", "NaT"], "M8[us]")
    with pytest.raises(EncodeError, match="nan_as_null=True"):
        await connection.copy_columns_to_table(
            "made_here", {"t": values}, create=True, nan_as_null=False
        )
    assert not connection.is_in_transaction()
    assert await connection.fetchval("SELECT to_regclass('made_here')") is None
    await connection.execute("BEGIN")
    with pytest.raises(EncodeError):
        await connection.copy_columns_to_table(
            "made_here", {"t": values}, create=True, nan_as_null=False
        )
    assert connection.is_in_transaction()
    await connection.execute("ROLLBACK")
    assert await connection.fetchval("SELECT to_regclass('made_here')") is None


async def test_on_conflict(connection: colonnade.Connection, table: str) -> None:
    copy = connection.copy_columns_to_table
    await copy(table, {"id": [1], "a name": ["old"], "stock": [3]})
    source = {"id": [1, 2], "a name": ["new", "two"]}
    assert await copy(table, source, on_conflict="nothing") == "INSERT 0 1"
    assert (await rows(connection))[0] == (1, "old", None, 3)
    update: dict[str, Any] = {"on_conflict": "update", "conflict_columns": "id"}
    assert await copy(table, source, **update) == "INSERT 0 2"
    assert await rows(connection) == [(1, "new", None, 3), (2, "two", None, 7)]
    assert await copy(table, {"id": [1]}, **update) == "INSERT 0 0"
    await connection.execute("BEGIN")
    for _ in range(2):
        assert await copy(table, source, **update) == "INSERT 0 2"
    assert connection.is_in_transaction()
    await connection.execute("ROLLBACK")


async def test_conflicts_that_cannot_be(connection: colonnade.Connection, table: str) -> None:
    copy = connection.copy_columns_to_table
    with pytest.raises(ValueError, match="on_conflict must be"):
        await copy(table, numbers(1), on_conflict="replace")  # type: ignore[arg-type]
    with pytest.raises(InterfaceError, match="needs conflict_columns"):
        await copy(table, numbers(1), on_conflict="update")
    with pytest.raises(InterfaceError, match="needs on_conflict"):
        await copy(table, numbers(1), conflict_columns=["id"])
    with pytest.raises(InterfaceError, match="a new table has no key"):
        await copy(table, numbers(1), create=True, on_conflict="nothing")
    with pytest.raises(InterfaceError, match='names "stock", but the source has "id", "price"'):
        await copy(table, numbers(1), on_conflict="update", conflict_columns=["stock"])
    with pytest.raises(InvalidColumnReferenceError, match="no unique or exclusion constraint"):
        await copy(table, numbers(1), on_conflict="update", conflict_columns=["price"])
    assert not connection.is_in_transaction()
    assert await rows(connection) == []


async def test_timeout(connection: colonnade.Connection, table: str) -> None:
    def slow() -> Iterator[Any]:
        start = 0
        while True:
            yield {"id": np.arange(start, start + 10_000)}
            start += 10_000

    for given in ({}, {"on_conflict": "nothing"}):
        options: dict[str, Any] = dict(given)
        with pytest.raises(TimeoutError):
            await connection.copy_columns_to_table(table, slow(), timeout=0.2, **options)
        assert not connection.is_in_transaction()
        assert await rows(connection) == []


async def test_statements_are_not_kept(connection: colonnade.Connection, table: str) -> None:
    kept = connection.conversation.session.cached_statements
    await connection.copy_columns_to_table(table, numbers(1))
    assert connection.conversation.session.cached_statements == kept


# async-only: begin
async def test_an_async_generator_and_a_cancelled_task(
    connection: colonnade.Connection, table: str
) -> None:
    begun = asyncio.Event()

    async def endless() -> AsyncIterator[Any]:
        start = 0
        while True:
            yield {"id": np.arange(start, start + 10_000)}
            start += 10_000
            if start > 100_000:
                begun.set()
                await asyncio.sleep(3600)

    for given in ({}, {"on_conflict": "nothing"}):
        options: dict[str, Any] = dict(given)
        begun.clear()
        task = asyncio.create_task(connection.copy_columns_to_table(table, endless(), **options))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await rows(connection) == []
        assert not connection.is_in_transaction()


async def test_the_loop_stays_free(connection: colonnade.Connection, table: str) -> None:
    longest, turns = 0.0, 0

    async def tick() -> None:
        nonlocal longest, turns
        while True:
            # Measure processor time, because other processes affect wall time.
            before = time.thread_time()
            await asyncio.sleep(0)
            longest = max(longest, time.thread_time() - before)
            turns += 1

    ticker = asyncio.create_task(tick())
    source = numbers(2_000_000)
    await connection.copy_columns_to_table(table, source)
    ticker.cancel()
    # One turn takes about a millisecond; the whole copy takes a second.
    assert longest < 0.02
    # The copy must not wait on the loop either: then there would be only a turn for each of 200
    # pieces.
    assert turns > 2_000


# async-only: end
