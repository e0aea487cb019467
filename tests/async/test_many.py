"""Many executions of one statement: their rows, their errors, and the state afterwards."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections import UserList
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade.errors import (
    ConnectionDoesNotExistError,
    DivisionByZeroError,
    EncodeError,
    InterfaceError,
    UniqueViolationError,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from tests.support.proxy import Proxy

INSERT = "INSERT INTO many VALUES ($1, $2)"


@pytest.fixture
async def table(connection: colonnade.Connection) -> colonnade.Connection:
    """A connection with an empty table `many` of its own."""
    await connection.execute("CREATE TEMP TABLE many (a int, b text)")
    return connection


async def count(connection: colonnade.Connection) -> Any:
    return await connection.fetchval("SELECT count(*) FROM many")


async def test_rows_arrive_in_order(table: colonnade.Connection) -> None:
    rows = [(number, f"row {number}" if number % 3 else None) for number in range(20_000)]
    await table.executemany(INSERT, rows)
    assert [tuple(row) for row in await table.fetch("SELECT * FROM many ORDER BY a")] == rows


@pytest.mark.parametrize("rows", [[], (), iter([])])
async def test_no_rows_at_all(table: colonnade.Connection, rows: Any) -> None:
    await table.executemany(INSERT, rows)
    assert await count(table) == 0
    assert await table.fetchmany("SELECT $1::int", []) == []


async def test_sets_of_arguments_of_many_kinds(table: colonnade.Connection) -> None:
    record: Any = await table.fetchrow("SELECT 5, 'e'")
    await table.executemany(INSERT, [(1, "a"), [2, "b"], UserList([3, "c"]), record])
    await table.executemany(INSERT, ((number, "c") for number in range(3)))
    await table.executemany(INSERT, args=[record])
    await table.executemany("INSERT INTO many VALUES (9, 'fixed')", [(), []])
    assert await count(table) == 10


# async-only: begin
async def test_an_asynchronous_source(table: colonnade.Connection) -> None:
    async def rows() -> AsyncIterator[tuple[int, str]]:
        for number in range(1000):
            await asyncio.sleep(0)
            yield number, "x"

    await table.executemany(INSERT, rows())
    assert await count(table) == 1000

    async def failing() -> AsyncIterator[tuple[int, str]]:
        for number in range(1000):
            yield number, "x"
        raise KeyError("source")

    with pytest.raises(KeyError, match="source"):
        await table.executemany(INSERT, failing())
    assert await count(table) == 1000


# async-only: end
async def test_fetchmany_gives_the_rows_of_all(table: colonnade.Connection) -> None:
    query = "INSERT INTO many VALUES ($1, $2) RETURNING b, a"
    rows = await table.fetchmany(query, [(number, str(number)) for number in range(5000)])
    assert [tuple(row) for row in rows] == [(str(number), number) for number in range(5000)]
    assert rows[7]["a"] == 7
    several = await table.fetchmany("SELECT generate_series(1, $1::int) AS n", [(2,), (0,), (3,)])
    assert [row["n"] for row in several] == [1, 2, 1, 2, 3]
    assert await table.fetchmany("CREATE TEMP TABLE nothing ()", [()]) == []


async def test_rows_of_executemany_are_thrown_away(table: colonnade.Connection) -> None:
    # The answers exceed the socket buffers, so they must be read while the rows are sent.
    arguments = [(number, "x" * 1000) for number in range(20_000)]
    await table.executemany("INSERT INTO many VALUES ($1, $2) RETURNING repeat(b, 5)", arguments)
    assert await count(table) == 20_000


BAD_SETS = [
    (
        [(1, "a"), ("x", "b")],
        EncodeError,
        r"query argument \$1 in element #1 of executemany\(\) sequence: 'x' \(of type int4: ",
    ),
    (["ab"], EncodeError, r"query argument \$1 in element #0 of executemany\(\) sequence: 'a'"),
    ([(1, "a"), 5], EncodeError, "executemany.. argument sequence element #1: expected a sequence"),
    ([{"a": 1}], EncodeError, "element #0: expected a sequence, got dict"),
    ([(1, "a"), (2,)], InterfaceError, "expects 2 arguments for this query, 1 was passed"),
    ([(1, "a"), (2, "b", "c")], InterfaceError, "expects 2 arguments for this query, 3 were"),
]


@pytest.mark.parametrize(("rows", "error", "text"), BAD_SETS)
async def test_bad_arguments_leave_nothing(
    table: colonnade.Connection, rows: Any, error: type[Exception], text: str
) -> None:
    messages: list[object] = []
    table.add_log_listener(lambda _connection, message: messages.append(message))
    with pytest.raises(error, match=text):
        await table.executemany(INSERT, rows)
    assert await count(table) == 0
    assert not table.is_in_transaction()
    assert messages == [], "the rollback is nobody's business"


async def test_a_late_bad_argument_undoes_what_was_sent(table: colonnade.Connection) -> None:
    def rows() -> Iterator[tuple[object, str]]:
        for number in range(20_000):
            yield number, "x"
        yield "bad", "x"

    with pytest.raises(EncodeError, match="in element #20000 of"):
        await table.executemany(INSERT, rows())
    assert await count(table) == 0
    await table.executemany(INSERT, [(1, "a")])
    assert await count(table) == 1


async def test_what_is_no_iterable(table: colonnade.Connection) -> None:
    not_iterable: Any = 5
    with pytest.raises(TypeError, match="args must be a sequence, not int"):
        await table.executemany(INSERT, not_iterable)
    assert await count(table) == 0


async def test_a_generator_that_raises(table: colonnade.Connection) -> None:
    def rows() -> Iterator[tuple[int, str]]:
        for number in range(5000):
            yield number, "x"
        raise KeyError("boom")

    with pytest.raises(KeyError, match="boom"):
        await table.executemany(INSERT, rows())
    assert await count(table) == 0


async def test_a_generator_may_look_at_its_connection(table: colonnade.Connection) -> None:
    def rows() -> Iterator[tuple[int, str]]:
        for number in range(10):
            yield number, f"{table.is_in_transaction()} {table!r}"

    await table.executemany(INSERT, rows())
    assert await count(table) == 10


async def test_the_server_s_error_stops_the_sending(table: colonnade.Connection) -> None:
    taken = 0

    def rows() -> Iterator[tuple[int]]:
        nonlocal taken
        for number in range(1_000_000):
            taken += 1
            yield (number - 5,)

    with pytest.raises(DivisionByZeroError):
        await table.executemany("SELECT 1 / $1::int", rows())
    assert taken < 1_000_000
    assert await table.fetchval("SELECT 1") == 1


async def test_all_or_nothing(table: colonnade.Connection) -> None:
    await table.execute("CREATE UNIQUE INDEX ON many (a)")
    rows = [(number, "x") for number in range(3000)]
    with pytest.raises(UniqueViolationError):
        await table.executemany(INSERT, [*rows, (7, "again")])
    assert await count(table) == 0
    await table.executemany(INSERT, rows)
    assert await count(table) == 3000


async def test_within_a_transaction(table: colonnade.Connection) -> None:
    async def two() -> None:
        async with table.transaction():
            await table.executemany(INSERT, [(1, "a"), (2, "b")])
            await table.executemany(INSERT, [(3, "c"), ("x", "d")])

    with pytest.raises(EncodeError):
        await two()
    assert await count(table) == 0
    async with table.transaction():
        await table.executemany(INSERT, [(1, "a")])
        with pytest.raises(EncodeError):
            await table.executemany(INSERT, [("x", "d")])
        assert table.is_in_transaction(), "the transaction is its owner's to end"
    assert await count(table) == 1


async def test_a_statement_the_server_forgot(table: colonnade.Connection) -> None:
    await table.executemany(INSERT, [(1, "a")])
    await table.execute("DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$")
    await table.executemany(INSERT, [(2, "b")])
    assert await count(table) == 2


async def test_query_loggers_are_told(table: colonnade.Connection) -> None:
    told: list[Any] = []
    rows = [(1, "a")]
    with table.query_logger(told.append):
        await table.executemany(INSERT, rows)
        await table.fetchmany("SELECT $1::int", [(1,)])
        with pytest.raises(EncodeError):
            await table.executemany(INSERT, [("x", "a")])
        # async-only: begin
        await asyncio.sleep(0)
        # async-only: end
    assert [record.query for record in told] == [INSERT, "SELECT $1::int", INSERT]
    assert told[0].args is rows
    assert [type(record.exception) for record in told] == [type(None), type(None), EncodeError]


async def test_a_timeout_leaves_nothing(table: colonnade.Connection) -> None:
    with pytest.raises(TimeoutError):
        await table.executemany("SELECT pg_sleep($1)", [(0,), (60,)], timeout=0.1)
    assert await table.fetchval("SELECT 1") == 1

    def rows() -> Iterator[tuple[int, str]]:
        number = 0
        while True:
            number += 1
            yield number, "x"

    with pytest.raises(TimeoutError):
        await table.executemany(INSERT, rows(), timeout=0.2)
    assert await count(table) == 0


# async-only: begin
async def test_a_cancelled_task_leaves_nothing(table: colonnade.Connection) -> None:
    started = asyncio.Event()

    def rows() -> Iterator[tuple[int, str]]:
        number = 0
        while True:
            number += 1
            if number == 5000:
                started.set()
            yield number, "x"

    task = asyncio.create_task(table.executemany(INSERT, rows()))
    await started.wait()
    with pytest.raises(InterfaceError, match="another operation is in progress"):
        await table.fetchval("SELECT 1")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await count(table) == 0


async def test_the_loop_has_its_turns(table: colonnade.Connection) -> None:
    turns = 0
    at_end = False

    async def tick() -> None:
        nonlocal turns
        while not at_end:
            turns += 1
            await asyncio.sleep(0)

    ticker = asyncio.create_task(tick())
    await table.executemany(INSERT, [(number, "x" * 20) for number in range(20_000)])
    at_end = True
    await ticker
    # About 80 bytes per row, and a turn per 64 KiB.
    assert turns > 20


# async-only: end
async def test_the_end_of_the_server_ends_it(dsn: str, proxy: Proxy) -> None:
    async with await colonnade.connect(proxy.dsn) as connection:

        def rows() -> Iterator[tuple[int]]:
            for number in range(10_000_000):
                if number == 50_000:
                    proxy.connections[0].break_off()
                yield (number,)

        with pytest.raises((ConnectionDoesNotExistError, InterfaceError)):
            await connection.executemany("SELECT $1::int", rows())
        assert connection.is_closed()
    del dsn


async def test_a_copy_is_refused(dsn: str) -> None:
    async with await colonnade.connect(dsn) as connection:
        await connection.execute("CREATE TEMP TABLE many (a int, b text)")
        for sets in ([()], [(), (), ()]):
            with pytest.raises(InterfaceError, match="use the copy methods"):
                await connection.executemany("COPY many FROM STDIN", sets)
            assert await connection.fetchval("SELECT 1") == 1
        with pytest.raises(InterfaceError, match="use the copy methods"):
            await connection.executemany("COPY many TO STDOUT", [(), ()])
        assert await connection.fetchval("SELECT 1") == 1


async def test_values_of_all_sizes(table: colonnade.Connection) -> None:
    sizes = [0, 1, 1000, 70_000, 3_000_000, 10]
    await table.executemany(INSERT, [(size, "y" * size) for size in sizes])
    rows = await table.fetch("SELECT a, length(b) FROM many ORDER BY a")
    assert [tuple(row) for row in rows] == [(size, size) for size in sorted(sizes)]


async def test_codecs_and_dates(table: colonnade.Connection) -> None:
    await table.set_type_codec(
        "date", schema="pg_catalog", encoder=str, decoder=dt.date.fromisoformat
    )
    days = [dt.date(2020, 1, day) for day in range(1, 20)]
    rows = await table.fetchmany("SELECT $1::date", [(day,) for day in days])
    assert [row[0] for row in rows] == days
