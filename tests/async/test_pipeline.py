"""Pipelines: many queries in one round trip."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade.errors import (
    ConnectionDoesNotExistError,
    DivisionByZeroError,
    EncodeError,
    InFailedSQLTransactionError,
    InterfaceError,
    UndefinedTableError,
    UniqueViolationError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.proxy import Proxy

pytestmark = pytest.mark.every_loop


def tags(sent: bytes) -> str:
    """The tags of the sent messages."""
    found = ""
    while sent:
        found += chr(sent[0])
        sent = sent[1 + int.from_bytes(sent[1:5]) :]
    return found


async def test_each_kind_of_result(connection: colonnade.Connection) -> None:
    async with connection.pipeline() as pipeline:
        rows = pipeline.fetch("SELECT generate_series(1, $1::int) AS n", 3)
        row = pipeline.fetchrow("SELECT 1 AS a, 'x' AS b")
        nothing = pipeline.fetchrow("SELECT 1 WHERE false")
        value = pipeline.fetchval("SELECT $1::text, 2", "v", column=1)
        no_value = pipeline.fetchval("SELECT 1 WHERE false")
        status = pipeline.execute("SELECT $1::int", 1)
        script = pipeline.execute("CREATE TEMP TABLE made (a int); INSERT INTO made VALUES (1)")
        columns = pipeline.fetch_columns("SELECT n FROM generate_series(1, 4) AS n")
        assert not rows.is_done()
        with pytest.raises(InterfaceError, match="not there yet"):
            rows.result()
    assert [record["n"] for record in rows.result()] == [1, 2, 3]
    first = row.result()
    assert first is not None
    assert first["b"] == "x"
    assert nothing.result() is None
    assert value.result() == 2
    assert no_value.result() is None
    assert status.result() == "SELECT 1"
    assert script.result() == "INSERT 0 1"
    assert columns.result().to_pylist() == [{"n": n} for n in (1, 2, 3, 4)]
    assert await rows.wait() == rows.result()


async def test_one_round_trip_when_the_statements_are_known(proxy: Proxy) -> None:
    async with await colonnade.connect(proxy.dsn) as connection:
        for is_warm in (False, True):
            before = len(proxy.first.sent)
            async with connection.pipeline() as pipeline:
                results = [pipeline.fetchval(f"SELECT $1::int + {n}", 1) for n in range(3)]
                results += [pipeline.fetchval("SELECT $1::int + 0", n) for n in range(3)]
            assert [result.result() for result in results] == [1, 2, 3, 0, 1, 2]
            sent = tags(bytes(proxy.first.sent[before:]))
            assert sent == ("" if is_warm else "PDS" * 3) + "BES" * 6


async def test_waiting_within_the_block(connection: colonnade.Connection) -> None:
    async with connection.pipeline() as pipeline:
        first = pipeline.fetchval("SELECT 1")
        assert await first.wait() == 1
        second = pipeline.fetchval("SELECT 2")
        third = pipeline.fetchval("SELECT $1::int", 3)
        assert await second.wait() == 2
        assert await third.wait() == 3
        assert await third.wait() == 3


# async-only: begin
async def test_results_are_awaitable(connection: colonnade.Connection) -> None:
    async with connection.pipeline() as pipeline:
        assert await pipeline.fetchval("SELECT 1") == 1
        results = [pipeline.fetchval("SELECT $1::int", number) for number in range(100)]
        assert await asyncio.gather(*results) == list(range(100))
    assert await results[5] == 5


async def test_a_wait_that_is_given_up_loses_nothing(connection: colonnade.Connection) -> None:
    async with connection.pipeline() as pipeline:
        slow = pipeline.fetch_columns("SELECT 1 AS n FROM pg_sleep(0.3)")
        quick = pipeline.fetchval("SELECT 2")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(slow.wait(), 0.05)
        assert await quick == 2
    assert len(slow.result()) == 1


async def test_a_cancelled_block_leaves_the_connection_usable(
    connection: colonnade.Connection,
) -> None:
    begun = asyncio.Event()

    async def run() -> None:
        async with connection.pipeline() as pipeline:
            pipeline.fetchval("SELECT pg_sleep(60)")
            begun.set()

    task = asyncio.create_task(run())
    await begun.wait()
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await connection.fetchval("SELECT 1") == 1


# async-only: end
async def test_one_that_fails_does_not_undo_the_others(connection: colonnade.Connection) -> None:
    await connection.execute("CREATE TEMP TABLE kept (a int)")
    results: list[Any] = []

    async def run() -> None:
        async with connection.pipeline() as pipeline:
            results.append(pipeline.execute("INSERT INTO kept VALUES ($1)", 1))
            results.append(pipeline.fetchval("SELECT 1 / $1::int", 0))
            results.append(pipeline.execute("INSERT INTO kept VALUES ($1)", "x"))
            results.append(pipeline.execute("INSERT INTO kept VALUES ($1)", 2))

    with pytest.raises(DivisionByZeroError):
        await run()
    assert results[0].result() == results[3].result() == "INSERT 0 1"
    with pytest.raises(EncodeError):
        results[2].result()
    assert await connection.fetchval("SELECT count(*) FROM kept") == 2


async def test_an_error_that_was_asked_for_is_not_raised_again(
    connection: colonnade.Connection,
) -> None:
    async with connection.pipeline() as pipeline:
        bad = pipeline.fetchval("SELECT 1 / $1::int", 0)
        missing = pipeline.fetchval("SELECT * FROM no_such_table")
        good = pipeline.fetchval("SELECT 1")
        with pytest.raises(DivisionByZeroError) as caught:
            await bad.wait()
        assert caught.value.query == "SELECT 1 / $1::int"
        with pytest.raises(UndefinedTableError):
            await missing.wait()
    assert good.result() == 1


async def test_within_a_transaction_the_usual_rule_holds(
    connection: colonnade.Connection,
) -> None:
    async with connection.transaction(), connection.pipeline() as pipeline:
        pipeline.execute("CREATE TEMP TABLE undone (a int)")
    assert await connection.fetchval("SELECT count(*) FROM undone") == 0
    results: list[Any] = []

    async def run() -> None:
        async with connection.transaction(), connection.pipeline() as pipeline:
            results.append(pipeline.execute("INSERT INTO undone VALUES ($1)", 1))
            results.append(pipeline.fetchval("SELECT 1 / $1::int", 0))
            results.append(pipeline.execute("INSERT INTO undone VALUES ($1)", 2))

    with pytest.raises(DivisionByZeroError):
        await run()
    with pytest.raises(InFailedSQLTransactionError):
        results[2].result()
    assert await connection.fetchval("SELECT count(*) FROM undone") == 0


async def test_what_a_script_makes_is_there_for_those_behind_it(
    connection: colonnade.Connection,
) -> None:
    async with connection.pipeline() as pipeline:
        pipeline.execute("CREATE TEMP TABLE fresh (a int)")
        pipeline.execute("INSERT INTO fresh VALUES ($1)", 1)
        value = pipeline.fetchval("SELECT a FROM fresh")
    assert value.result() == 1


async def test_thousands_of_queries_with_large_answers(connection: colonnade.Connection) -> None:
    text = "x" * 20_000
    async with connection.pipeline() as pipeline:
        results = [
            pipeline.fetchval("SELECT $1::text || $2::text", text, str(number))
            for number in range(3000)
        ]
    assert all(result.result() == text + str(n) for n, result in enumerate(results))


async def test_more_texts_than_are_kept(dsn: str) -> None:
    async with await colonnade.connect(dsn, statement_cache_size=5) as connection:
        for _ in range(2):
            async with connection.pipeline() as pipeline:
                results = [pipeline.fetchval(f"SELECT {n} + $1::int", n) for n in range(50)]
            assert [result.result() for result in results] == [2 * n for n in range(50)]


async def test_unknown_types_are_looked_up(connection: colonnade.Connection) -> None:
    await connection.execute(
        "CREATE TYPE pg_temp.pipe_mood AS ENUM ('sad', 'ok');"
        "CREATE TYPE pg_temp.pipe_pair AS (a int, m pg_temp.pipe_mood)"
    )
    async with connection.pipeline() as pipeline:
        first = pipeline.fetchval("SELECT $1::pg_temp.pipe_mood", "ok")
        second = pipeline.fetchval("SELECT (1, 'sad')::pg_temp.pipe_pair")
        third = pipeline.fetchval("SELECT 3")
    assert first.result() == "ok"
    assert tuple(second.result()) == (1, "sad")
    assert third.result() == 3


async def test_the_connection_belongs_to_the_block(connection: colonnade.Connection) -> None:
    async with connection.pipeline() as pipeline:
        pipeline.fetchval("SELECT 1")
        with pytest.raises(InterfaceError, match="another operation is in progress") as caught:
            await connection.fetchval("SELECT 2")
        assert "pipeline" in str(caught.value)
    assert await connection.fetchval("SELECT 2") == 2
    with pytest.raises(InterfaceError, match="within its block"):
        pipeline.fetchval("SELECT 3")


async def test_an_exception_in_the_block_gives_the_rest_up(
    connection: colonnade.Connection,
) -> None:
    results: list[Any] = []

    async def run() -> None:
        async with connection.pipeline() as pipeline:
            results.append(pipeline.fetchval("SELECT 1"))
            message = "mine"
            raise KeyError(message)

    with pytest.raises(KeyError, match="mine"):
        await run()
    with pytest.raises(InterfaceError, match="left before"):
        results[0].result()
    assert await connection.fetchval("SELECT 2") == 2


async def test_a_timeout_ends_the_block(connection: colonnade.Connection) -> None:
    async def run() -> None:
        async with connection.pipeline(timeout=0.1) as pipeline:
            pipeline.fetchval("SELECT pg_sleep(60)")

    with pytest.raises(TimeoutError):
        await run()
    assert await connection.fetchval("SELECT 1") == 1


async def test_the_end_of_the_server_fails_every_result(proxy: Proxy) -> None:
    results: list[Any] = []

    async def run() -> None:
        async with await colonnade.connect(proxy.dsn) as connection:
            await connection.fetchval("SELECT 1")
            async with connection.pipeline() as pipeline:
                results.extend(pipeline.fetchval("SELECT 1") for _ in range(3))
                proxy.first.break_off()

    with pytest.raises((ConnectionDoesNotExistError, InterfaceError)):
        await run()
    assert all(result.is_done() for result in results)


async def test_query_loggers_are_told_of_each(connection: colonnade.Connection) -> None:
    told: list[Any] = []
    with connection.query_logger(told.append):
        async with connection.pipeline() as pipeline:
            pipeline.fetchval("SELECT $1::int", 1)
            bad = pipeline.fetchval("SELECT 1 / $1::int", 0)
            with pytest.raises(DivisionByZeroError):
                await bad.wait()
        # async-only: begin
        await asyncio.sleep(0)
        # async-only: end
    assert [record.query for record in told] == ["SELECT $1::int", "SELECT 1 / $1::int"]
    assert [record.exception is None for record in told] == [True, False]


async def test_an_empty_pipeline_asks_nothing(connection: colonnade.Connection) -> None:
    async with connection.pipeline() as pipeline:
        assert repr(pipeline) == "<Pipeline open, 0 to be sent, 0 under way>"
    assert await connection.fetchval("SELECT 1") == 1


async def test_executemany(connection: colonnade.Connection) -> None:
    await connection.execute("CREATE TEMP TABLE piped (a int, b text)")
    insert = "INSERT INTO piped VALUES ($1, $2)"
    async with connection.pipeline() as pipeline:
        before = pipeline.fetchval("SELECT count(*) FROM piped")
        many = pipeline.executemany(insert, [(n, str(n)) for n in range(100)])
        large = pipeline.executemany(insert, ((n, "x" * 1000) for n in range(2000)))
        none = pipeline.executemany(insert, [])
        after = pipeline.fetchval("SELECT count(*) FROM piped")
    assert (many.result(), large.result(), none.result()) == (None, None, None)
    assert (before.result(), after.result()) == (0, 2100)


async def test_executemany_is_one_unit_among_the_others(connection: colonnade.Connection) -> None:
    await connection.execute("CREATE TEMP TABLE piped (a int PRIMARY KEY)")
    insert = "INSERT INTO piped VALUES ($1)"

    def failing() -> Iterator[tuple[int]]:
        for number in range(100, 100_000):
            yield (number,)
        raise ZeroDivisionError

    async with connection.pipeline() as pipeline:
        pipeline.execute(insert, 1)
        twice = pipeline.executemany(insert, [(2,), (2,)])
        wrong = pipeline.executemany(insert, [(3,), ("x",)])
        broken = pipeline.executemany(insert, failing())
        pipeline.executemany(insert, [(4,), (5,)])
        with pytest.raises(UniqueViolationError):
            await twice.wait()
        with pytest.raises(EncodeError):
            await wrong.wait()
        with pytest.raises(ZeroDivisionError):
            await broken.wait()
    assert await connection.fetchval("SELECT array_agg(a ORDER BY a) FROM piped") == [1, 4, 5]


async def test_executemany_that_fails_leaves_the_transaction_around_it(
    connection: colonnade.Connection,
) -> None:
    await connection.execute("CREATE TEMP TABLE piped (a int)")
    insert = "INSERT INTO piped VALUES ($1)"
    async with connection.pipeline() as pipeline:
        pipeline.execute("BEGIN")
        pipeline.execute(insert, 1)
        wrong = pipeline.executemany(insert, [("x",)])
        pipeline.execute("COMMIT")
        with pytest.raises(EncodeError):
            await wrong.wait()
    assert await connection.fetchval("SELECT array_agg(a) FROM piped") == [1]


async def test_executemany_that_takes_too_long(connection: colonnade.Connection) -> None:
    await connection.execute("CREATE TEMP TABLE piped (a int)")

    def endless() -> Iterator[tuple[int]]:
        while True:
            yield (1,)

    pipeline = connection.pipeline(timeout=0.3)
    with pytest.raises(TimeoutError):
        async with pipeline:
            pipeline.executemany("INSERT INTO piped VALUES ($1)", endless())
    assert await connection.fetchval("SELECT count(*) FROM piped") == 0


# async-only: begin
async def test_executemany_that_is_cancelled_ends_the_pipeline(
    connection: colonnade.Connection,
) -> None:
    await connection.execute("CREATE TEMP TABLE piped (a int)")

    def endless() -> Iterator[tuple[int]]:
        while True:
            yield (1,)

    async with connection.pipeline() as pipeline:
        before = pipeline.fetchval("SELECT 1")
        many = pipeline.executemany("INSERT INTO piped VALUES ($1)", endless())
        behind = pipeline.fetchval("SELECT 2")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(many.wait(), 0.3)
        assert await before == 1
        for result in (many, behind):
            with pytest.raises(InterfaceError, match="pipeline was left"):
                await result
        with pytest.raises(InterfaceError, match="within its block"):
            pipeline.fetchval("SELECT 3")
        assert await connection.fetchval("SELECT count(*) FROM piped") == 0
    assert await connection.fetchval("SELECT 4") == 4


async def test_a_pipeline_is_left_while_another_task_sends(
    connection: colonnade.Connection,
) -> None:
    await connection.execute("CREATE TEMP TABLE piped (a int)")

    def endless() -> Iterator[tuple[int]]:
        while True:
            yield (1,)

    async def leave() -> None:
        async with connection.pipeline() as pipeline:
            many = pipeline.executemany("INSERT INTO piped VALUES ($1)", endless())
            left.append(asyncio.create_task(many.wait()))
            await asyncio.sleep(0.2)
            raise ZeroDivisionError

    left: list[asyncio.Task[None]] = []
    with pytest.raises(ZeroDivisionError):
        await leave()
    with pytest.raises(InterfaceError, match="pipeline was left"):
        await asyncio.wait_for(left[0], 20)
    assert await connection.fetchval("SELECT count(*) FROM piped") == 0


async def test_a_cancelled_row_factory_loses_its_rows_alone(
    connection: colonnade.Connection,
) -> None:
    def slow(names: tuple[str, ...]) -> Callable[[Any], Any]:
        del names
        asking.cancel()
        return tuple

    async with connection.pipeline() as pipeline:
        rows = pipeline.fetch("SELECT generate_series(1, 5000)", row_factory=slow)
        behind = pipeline.fetchval("SELECT 2")
        asking = asyncio.create_task(rows.wait())
        with pytest.raises(asyncio.CancelledError):
            await asking
        with pytest.raises(InterfaceError, match="pipeline was left"):
            await rows
        assert await behind == 2
    assert await connection.fetchval("SELECT 4") == 4


# async-only: end
async def test_executemany_takes_what_is_there(connection: colonnade.Connection) -> None:
    async with connection.pipeline() as pipeline:
        with pytest.raises(TypeError, match="an iterable of sequences"):
            pipeline.executemany("SELECT $1::int", 5)
    await connection.execute("CREATE TEMP TABLE piped (a int)")
    async with connection.pipeline() as pipeline:
        copying = pipeline.executemany("COPY piped FROM STDIN", [(), ()])
        with pytest.raises(InterfaceError, match="use the copy methods"):
            await copying.wait()
    assert await connection.fetchval("SELECT 1") == 1


async def test_a_text_that_cannot_be_sent_fails_alone(connection: colonnade.Connection) -> None:
    async with connection.pipeline() as pipeline:
        before = pipeline.fetchval("SELECT $1::int", 1)
        broken = pipeline.fetchval("SELECT '\0'")
        again = pipeline.fetchval("SELECT '\0'")
        after = pipeline.fetchval("SELECT $1::int", 2)
        assert (await before.wait(), await after.wait()) == (1, 2)
        for result in (broken, again):
            with pytest.raises(InterfaceError, match="NUL"):
                await result.wait()
    assert await connection.fetchval("SELECT 3") == 3


async def test_representations_of_results(connection: colonnade.Connection) -> None:
    async with connection.pipeline() as pipeline:
        good, bad = pipeline.fetchval("SELECT 1"), pipeline.fetchval("SELECT 1 / 0")
        assert repr(good) == "<PipelineResult pending>"
        with pytest.raises(DivisionByZeroError) as caught:
            await bad.wait()
    assert repr(good) == "<PipelineResult done>"
    assert repr(bad) == f"<PipelineResult {caught.value!r}>"
