"""The rest of the library on a connection from a pool."""

from __future__ import annotations

# async-only: begin
import asyncio

# async-only: end
import inspect
import time
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade import InterfaceError, errors
from colonnade.rkt import set_query_dtype
from tests.support.until import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

# Methods for one particular connection: its state, its listeners, and objects that outlive a call.
_OF_A_CONNECTION = {
    "address",
    "begin_ahead",
    "cancel",
    "database",
    "naive_datetimes",
    "transaction_status",
    "user",
    *("add_listener", "add_log_listener", "add_query_logger", "add_termination_listener"),
    *("remove_listener", "remove_log_listener", "remove_query_logger"),
    *("remove_termination_listener", "notifications", "query_logger"),
    *("cursor", "prepare", "transaction", "reset", "get_reset_query", "reload_schema_state"),
    *("get_server_pid", "get_server_version", "get_settings", "last_timing"),
    # It prepares the next call on the same connection.
    "parameter_types",
    *("is_closed", "is_in_transaction", "is_inherited", "row_factory"),
    *("reset_type_codec", "set_builtin_type_codec", "set_type_codec"),
}


@pytest.fixture
async def pool(dsn: str, nothing_left: None) -> AsyncIterator[colonnade.Pool]:
    del nothing_left
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        yield pool


def _public(cls: type) -> set[str]:
    return {name for name in dir(cls) if not name.startswith("_")}


def test_a_pool_has_every_method_that_needs_no_connection_of_ones_own() -> None:
    assert _public(colonnade.Connection) - _public(colonnade.Pool) == _OF_A_CONNECTION


# Pipelines


async def test_a_pipeline_holds_a_connection_for_its_block(pool: colonnade.Pool) -> None:
    async with pool.pipeline() as pipeline:
        assert pool.get_idle_size() == 0
        first = pipeline.fetchval("SELECT pg_backend_pid()")
        second = pipeline.fetch("SELECT generate_series(1, $1::int) AS n", 2)
        third = pipeline.fetchval("SELECT pg_backend_pid()")
        assert await second.wait() == [(1,), (2,)]
    assert pool.get_idle_size() == 1
    assert first.result() == third.result()
    with pytest.raises(InterfaceError, match="within its block"):
        pipeline.fetch("SELECT 1")


async def test_a_pipeline_that_fails_gives_its_connection_back(pool: colonnade.Pool) -> None:
    with pytest.raises(errors.UndefinedTableError):  # noqa: PT012 - the end of the block raises
        async with pool.pipeline() as pipeline:
            pipeline.fetch("SELECT * FROM no_such_table")
            after = pipeline.fetchval("SELECT 5")
    assert after.result() == 5
    assert pool.get_idle_size() == 1
    # async-only: begin
    with pytest.raises(LookupError):  # noqa: PT012 - a block that is left
        async with pool.pipeline() as pipeline:
            pipeline.execute("SELECT pg_sleep(60)")
            asking = asyncio.ensure_future(pipeline.fetchval("SELECT 1").wait())
            await asyncio.sleep(0.01)
            raise LookupError
    asking.cancel()
    await asyncio.wait([asking])
    async with asyncio.timeout(10):
        assert await pool.fetchval("SELECT 6") == 6
    # async-only: end


# async-only: begin
async def test_a_pipeline_waits_for_answers_no_longer_than_told(pool: colonnade.Pool) -> None:
    with pytest.raises(TimeoutError):
        async with pool.pipeline(timeout=0.05) as pipeline:
            pipeline.execute("SELECT pg_sleep(60)")
    async with asyncio.timeout(10):
        assert await pool.fetchval("SELECT 7") == 7
    with pytest.raises(ValueError, match="timeout"):
        async with pool.pipeline(timeout="soon"):  # type: ignore[arg-type]
            pass
    assert pool.get_idle_size() == 1


# async-only: end
async def test_a_pipeline_of_the_pool_is_entered_once_at_a_time(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=2, max_size=2) as pool:
        context = pool.pipeline()
        async with context:
            with pytest.raises(InterfaceError, match="already in"):
                await context.__aenter__()
        async with context as pipeline:
            result = pipeline.fetchval("SELECT 1")
        assert result.result() == 1
        assert pool.get_idle_size() == 2


# Objects made through a proxy


# async-only: begin
async def _used(use: Callable[[], Any]) -> None:
    result = use()
    if inspect.isawaitable(result):
        await result


async def test_what_was_made_through_a_proxy_ends_with_its_release(pool: colonnade.Pool) -> None:
    async with pool.acquire() as connection:
        statement = await connection.prepare("SELECT 1")
        lazy = connection.cursor("SELECT 1")
        pipeline = connection.pipeline()
        transaction = connection.transaction()
        await transaction.start()
        cursor = await connection.cursor("SELECT generate_series(1, 9)")
        assert await cursor.fetch(1) == [(1,)]
        await transaction.rollback()
        later = connection.transaction()
        bare: Any = connection._con
        made = bare.conversation.generation

    async with pool.acquire() as connection, connection.transaction():
        now: Any = connection._con
        assert now is bare
        assert now.conversation.generation == made + 1
        uses: list[tuple[str, Any]] = [
            ("PreparedStatement.fetch", statement.fetch),
            ("PreparedStatement.get_name", statement.get_name),
            ("PreparedStatement.cursor", statement.cursor),
            ("Cursor.fetch", lambda: cursor.fetch(1)),
            ("Cursor.forward", lambda: cursor.forward(1)),
            ("CursorFactory.__aiter__", lambda: aiter(lazy)),
            ("Transaction.start", later.start),
            ("Transaction.commit", transaction.commit),
            ("Transaction.__aexit__", lambda: transaction.__aexit__(None, None, None)),
            ("Pipeline.__aenter__", pipeline.__aenter__),
        ]
        for name, use in uses:
            with pytest.raises(InterfaceError) as refusal:
                await _used(use)
            assert str(refusal.value) == (
                f"cannot call {name}(): "
                "the underlying connection has been released back to the pool"
            )
        assert await connection.fetchval("SELECT 1") == 1


# async-only: end
# Arrays by dtype


async def test_a_dtype_travels_through_the_pool(pool: colonnade.Pool) -> None:
    query = "SELECT g::int8, nullif(g, 2)::int4 FROM generate_series(1, $1::int) g"
    typed = set_query_dtype(query, [("a", "i8"), ("b", "i4")])
    array, nulls = await pool.fetch(typed, 3)
    assert array["a"].tolist() == [1, 2, 3]
    assert nulls == [3]
    row, nulls = await pool.fetchrow(typed, 3)
    assert row["a"] == 1
    async with pool.acquire() as connection:
        there, _ = await connection.fetchrow(typed, 3)
        value = await connection.fetchval(typed, 3)
    assert row.tolist() == there.tolist()
    assert await pool.fetchval(typed, 3) == value
    assert pool.get_idle_size() == 1


# Timing


# async-only: begin
async def test_the_wait_for_a_connection_is_part_of_the_timing(pool: colonnade.Pool) -> None:
    async def ask() -> colonnade.QueryTiming:
        async with pool.acquire() as connection:
            await connection.fetchval("SELECT 1")
            timing: colonnade.QueryTiming | None = connection.last_timing
            assert timing is not None
            return timing

    assert (await ask()).pool_wait == 0
    held = await pool.acquire()
    waiting = asyncio.ensure_future(ask())
    await until(lambda: pool.get_stats().waiting == 1)
    queued = time.perf_counter()
    await asyncio.sleep(0.05)
    waited = time.perf_counter() - queued
    await pool.release(held)
    timing = await waiting
    assert timing.pool_wait >= waited
    assert timing.pool_wait == pytest.approx(pool.get_stats().wait_seconds_max)
    assert timing.total >= timing.pool_wait
    assert (await ask()).pool_wait == 0


async def test_what_kept_the_loop_before_is_no_part_of_the_wait(pool: colonnade.Pool) -> None:
    held = await pool.acquire()
    giving_back = asyncio.ensure_future(pool.release(held))
    # uvloop's clock has whole milliseconds and is read once per turn.
    time.sleep(0.05)  # noqa: ASYNC251
    asked = time.perf_counter()
    async with pool.acquire() as connection:
        waited = time.perf_counter() - asked
        await connection.execute("SELECT")
        timing = connection.last_timing
    assert timing is not None
    assert 0 < timing.pool_wait <= waited
    await giving_back


# async-only: end
