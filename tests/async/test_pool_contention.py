# async-only: file
"""Many callers on few connections: served in order, and a cancelled one blocks no other."""

from __future__ import annotations

import asyncio
import contextlib
import random
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade import errors
from tests.support.until import until

if TYPE_CHECKING:
    from collections.abc import Coroutine

pytestmark = pytest.mark.every_loop


async def _all_idle(pool: colonnade.Pool) -> None:
    await until(lambda: pool.get_idle_size() == pool.get_size() and not pool.get_stats().opening)


async def _all_usable(pool: colonnade.Pool) -> None:
    """Check that every place of the pool can be acquired and works."""
    await _all_idle(pool)
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(pool.get_max_size()):
            connection = await stack.enter_async_context(pool.acquire(timeout=30))
            assert await connection.fetchval("SELECT 1") == 1
        assert pool.get_idle_size() == 0
    assert pool.get_stats().waiting == 0


async def _cancelled_after(steps: int, coroutine: Coroutine[Any, Any, object]) -> bool:
    """Cancel a coroutine after this many turns of the loop; False if it was already done."""
    task = asyncio.ensure_future(coroutine)
    for _ in range(steps):
        await asyncio.sleep(0)
    is_running = task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    return is_running


async def test_callers_are_served_in_the_order_of_coming(dsn: str) -> None:
    served: list[int] = []

    async def work(number: int) -> None:
        async with pool.acquire() as connection:
            served.append(number)
            await connection.fetchval("SELECT 1")

    async with colonnade.create_pool(dsn, min_size=10, max_size=10) as pool:
        await asyncio.gather(*map(work, range(2_000)))
        assert served == list(range(2_000))
        stats = pool.get_stats()
        assert (stats.acquired, stats.waited, stats.waiting) == (2_000, 1_990, 0)
        assert 0 < stats.wait_seconds_max <= stats.wait_seconds_total
        assert stats.size == stats.idle == 10


async def test_nobody_overtakes_who_waits(dsn: str) -> None:
    served: list[str] = []

    async def work(name: str) -> None:
        await pool.fetchval("SELECT 1")
        served.append(name)

    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        connection = await pool.acquire()
        waiting = [asyncio.ensure_future(work(f"waiting {number}")) for number in range(3)]
        await asyncio.sleep(0)
        assert repr(pool).startswith("<Pool size=1 idle=0 waiting=3")
        await pool.release(connection)
        # The connection belongs to the first waiter, although that task has not run yet.
        await work("late")
        await asyncio.gather(*waiting)
        assert served == ["waiting 0", "waiting 1", "waiting 2", "late"]


async def test_the_wait_is_noted(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        first = await pool.acquire()
        assert first.conversation.pool_wait == 0
        second = asyncio.ensure_future(pool.acquire().__aenter__())
        await asyncio.sleep(0.02)
        await pool.release(first)
        connection = await second
        assert connection.conversation.pool_wait >= 0.015
        await pool.release(connection)


async def test_random_cancellations_lose_nothing(dsn: str) -> None:
    random.seed(4711)
    done = 0

    async def work() -> None:
        nonlocal done
        if random.random() < 0.5:
            async with pool.acquire(timeout=random.choice([None, 0.001, 10])) as connection:
                await connection.fetchval("SELECT pg_sleep($1)", random.choice([0.0, 0.002]))
        else:
            await pool.fetchval("SELECT 1", timeout=random.choice([None, 0.0005, 10]))
        done += 1

    async with colonnade.create_pool(dsn, min_size=0, max_size=4) as pool:
        tasks = [asyncio.ensure_future(work()) for _ in range(300)]
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0)
            if random.random() < 0.3:
                random.choice(tasks).cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        failures = [one for one in outcomes if one is not None]
        assert all(isinstance(one, asyncio.CancelledError | TimeoutError) for one in failures)
        assert done == 300 - len(failures)
        await _all_usable(pool)
        assert not pool.get_stats().closed.get("lost")


@pytest.mark.parametrize("busy", [False, True])
async def test_a_query_of_the_pool_may_be_cancelled_at_every_step(dsn: str, busy: bool) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=2) as pool:
        for steps in range(60):
            taken = await pool.acquire() if busy else None
            await _cancelled_after(steps, pool.fetchval("SELECT pg_sleep(0.001)"))
            if taken is not None:
                await pool.release(taken)
        await _all_usable(pool)


async def test_an_acquire_may_be_cancelled_at_every_step(dsn: str) -> None:
    async def work() -> None:
        async with pool.acquire() as connection:
            await connection.fetchval("SELECT 1")

    async with colonnade.create_pool(dsn, min_size=0, max_size=1) as pool:
        for steps in range(60):
            await pool.expire_connections()
            await _cancelled_after(steps, work())
        await _all_usable(pool)
        assert pool.get_size() == 1


async def test_a_handed_connection_goes_on_where_its_caller_is_cancelled(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        connection = await pool.acquire()
        first = asyncio.ensure_future(pool.fetchval("SELECT 1"))
        second = asyncio.ensure_future(pool.fetchval("SELECT 2"))
        await asyncio.sleep(0)
        await pool.release(connection)
        first.cancel()
        assert await second == 2
        with pytest.raises(asyncio.CancelledError):
            await first
        assert pool.get_idle_size() == 1


@pytest.mark.parametrize("name", ["init", "setup", "reset"])
async def test_a_callback_may_be_cancelled_at_every_step(dsn: str, name: str) -> None:
    async def callback(connection: colonnade.Connection) -> None:
        await connection.fetchval("SELECT 1")
        await asyncio.sleep(0)
        await connection.fetchval("SELECT 2")

    options: dict[str, Any] = {name: callback}
    async with colonnade.create_pool(dsn, min_size=0, max_size=1, **options) as pool:
        for steps in range(40):
            if name == "init":
                await pool.expire_connections()
            await _cancelled_after(steps, pool.fetchval("SELECT 3"))
        await _all_usable(pool)


async def test_a_release_goes_on_where_its_caller_is_cancelled(dsn: str) -> None:
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        for steps in range(1, 20):
            connection = await pool.acquire()
            await connection.execute("BEGIN; SELECT pg_advisory_lock(815)")
            await _cancelled_after(steps, pool.release(connection))
            with pytest.raises(colonnade.InterfaceError, match="released back"):
                _ = connection.fetch("SELECT 1")
            await _all_idle(pool)
            query = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 815"
            assert await pool.fetchval(query) == 0
        assert pool.get_stats().closed == {}


async def test_a_release_during_an_operation_costs_the_connection(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=0, max_size=1) as pool:
        connection = await pool.acquire()
        # The statement is cached, so the next call reaches the server at once.
        await connection.fetch("SELECT pg_sleep($1)", 0.0)
        query = asyncio.ensure_future(connection.fetch("SELECT pg_sleep($1)", 2.0))
        await asyncio.sleep(0)
        with pytest.raises(colonnade.InterfaceError, match="another operation is in progress"):
            await pool.release(connection)
        with pytest.raises(errors.ConnectionDoesNotExistError):
            await query
        with pytest.raises(colonnade.InterfaceError, match="released back to the pool"):
            _ = connection.fetch("SELECT 1")
        assert await pool.fetchval("SELECT 1") == 1


async def test_who_waits_is_served_before_the_pool_closes(dsn: str) -> None:
    pool = await colonnade.create_pool(dsn, min_size=1, max_size=1)
    connection = await pool.acquire()
    waiting = [asyncio.ensure_future(pool.fetchval("SELECT 1")) for _ in range(5)]
    await asyncio.sleep(0)
    closings = [asyncio.ensure_future(pool.close()) for _ in range(2)]
    await asyncio.sleep(0)
    await pool.release(connection)
    assert await asyncio.gather(*waiting) == [1] * 5
    await asyncio.gather(*closings)
    assert pool.get_size() == 0


async def test_a_closing_that_is_cancelled_ends_everything(dsn: str) -> None:
    pool = await colonnade.create_pool(dsn, min_size=2, max_size=2)
    connections = [await pool.acquire() for _ in range(2)]
    waiting = asyncio.ensure_future(pool.fetchval("SELECT 1"))
    assert await _cancelled_after(5, pool.close())
    assert repr(pool) == "<Pool closed>"
    with pytest.raises(colonnade.InterfaceError, match="pool is closed"):
        await waiting
    for connection in connections:
        with pytest.raises(colonnade.InterfaceError, match="released back to the pool"):
            _ = connection.fetch("SELECT 1")
        await pool.release(connection)


async def test_terminate_ends_what_runs(dsn: str) -> None:
    pool = await colonnade.create_pool(dsn, min_size=1, max_size=3)
    running = [asyncio.ensure_future(pool.fetchval("SELECT pg_sleep(0.5)")) for _ in range(6)]
    for _ in range(10):
        await asyncio.sleep(0)
    pool.terminate()
    outcomes = await asyncio.gather(*running, return_exceptions=True)
    classes = (colonnade.InterfaceError, errors.ConnectionDoesNotExistError)
    assert all(isinstance(outcome, classes) for outcome in outcomes)
    assert pool.get_size() == 0
    await asyncio.sleep(0.01)


async def test_a_long_closing_is_told_of(
    dsn: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("colonnade._driver._async.pool.pool.WARN_AFTER_SECONDS", 0.01)
    pool = await colonnade.create_pool(dsn, min_size=1, max_size=1)
    connection = await pool.acquire()
    closing = asyncio.ensure_future(pool.close())
    await until(lambda: bool(caplog.records))
    assert "Check if you have any unreleased connections left" in caplog.text
    await pool.release(connection)
    await closing
