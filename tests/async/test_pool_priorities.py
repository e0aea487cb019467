# async-only: file
"""Waiting tasks of several priorities and deadlines: their turns, and those that are refused."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade import PoolExhaustedError
from colonnade._driver.pool_core.waiting import OVERTAKINGS_MAX

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Queue:
    """A pool of one connection, which is lent, and tasks that wait for it."""

    def __init__(self, pool: colonnade.Pool) -> None:
        self.pool = pool
        self.held: Any = None
        self.served: list[str] = []

    async def come(self, name: str, **options: Any) -> asyncio.Task[None]:
        task = asyncio.ensure_future(self._use(name, options))
        await asyncio.sleep(0)
        return task

    async def _use(self, name: str, options: dict[str, Any]) -> None:
        async with self.pool.acquire(**options):
            self.served.append(name)

    async def let_go(self, *tasks: asyncio.Task[None]) -> None:
        await self.pool.release(self.held)
        await asyncio.gather(*tasks)


@pytest.fixture
async def queue(dsn: str) -> AsyncIterator[Queue]:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1, max_waiting=3) as pool:
        made = Queue(pool)
        made.held = await pool.acquire()
        yield made
        await pool.release(made.held)
        assert pool.get_stats().waiting == 0
        assert await pool.fetchval("SELECT 1") == 1


async def test_priority_comes_before_deadline_and_deadline_before_arrival(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        queue = Queue(pool)
        queue.held = await pool.acquire()
        tasks = [
            await queue.come("plain"),
            await queue.come("late", timeout=60),
            await queue.come("soon", timeout=30),
            await queue.come("important", priority=1, timeout=90),
            await queue.come("unimportant", priority=-1, timeout=1),
        ]
        await queue.let_go(*tasks)
        assert queue.served == ["important", "soon", "late", "plain", "unimportant"]


async def test_a_low_priority_still_comes_amid_a_flood_of_high_ones(dsn: str) -> None:
    before = 5
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        served: list[int] = []

        async def flood() -> None:
            while -1 not in served:
                async with pool.acquire(priority=9, timeout=30):
                    served.append(9)

        async def come() -> None:
            async with pool.acquire(priority=-1):
                served.append(-1)

        held = await pool.acquire()
        tasks = [asyncio.ensure_future(flood()) for _ in range(before)]
        await asyncio.sleep(0)
        tasks.append(asyncio.ensure_future(come()))
        await asyncio.sleep(0)
        tasks += [asyncio.ensure_future(flood()) for _ in range(20)]
        await asyncio.sleep(0)
        await pool.release(held)
        await asyncio.gather(*tasks)
        turn = served.index(-1) + 1
        # It was passed over, but not more often than promised.
        assert before < turn <= (OVERTAKINGS_MAX + 1) * (before + 1)


async def test_beyond_the_bound_a_caller_is_refused_at_once(queue: Queue) -> None:
    tasks = [await queue.come(f"waiting {number}") for number in range(3)]
    with pytest.raises(PoolExhaustedError) as refused:
        await queue.pool.fetchval("SELECT 1")
    assert (refused.value.size, refused.value.busy, refused.value.waiting) == (1, 1, 3)
    await queue.let_go(*tasks)
    stats = queue.pool.get_stats()
    assert (stats.refused, stats.waited, stats.given_up) == (1, 3, 0)
    assert queue.served == ["waiting 0", "waiting 1", "waiting 2"]


async def test_a_higher_priority_takes_the_place_of_the_lowest_that_came_last(queue: Queue) -> None:
    normal = await queue.come("normal")
    lowest = [await queue.come(f"low {number}", priority=-1) for number in range(2)]
    high = await queue.come("high", priority=1)
    with pytest.raises(PoolExhaustedError, match="a caller of higher priority took the place"):
        await lowest.pop()
    second = await queue.come("normal too")
    with pytest.raises(PoolExhaustedError):
        await lowest.pop()
    # Now none of the waiting callers is lower.
    with pytest.raises(PoolExhaustedError, match="no more callers may wait"):
        await queue.pool.acquire()
    await queue.let_go(normal, high, second)
    assert queue.served == ["high", "normal", "normal too"]
    stats = queue.pool.get_stats()
    assert (stats.refused, stats.given_up) == (3, 0)


async def test_an_equal_priority_takes_no_place(queue: Queue) -> None:
    tasks = [await queue.come(f"high {number}", priority=2) for number in range(3)]
    for priority in (-3, 0, 2):
        with pytest.raises(PoolExhaustedError):
            await queue.pool.acquire(priority=priority, timeout=0.01)
    await queue.let_go(*tasks)


async def test_who_leaves_makes_room(queue: Queue) -> None:
    tasks = [await queue.come(f"waiting {number}", priority=number) for number in range(3)]
    tasks[0].cancel()
    # Its task has not run yet, and still the place is not taken from anybody else.
    high = await queue.come("high", priority=5)
    with pytest.raises(asyncio.CancelledError):
        await tasks[0]
    with pytest.raises(TimeoutError):
        await queue.pool.acquire(priority=9, timeout=0.001)
    with pytest.raises(PoolExhaustedError):
        await tasks[1]
    patient = await queue.come("patient")
    await queue.let_go(patient, high, tasks[2])
    assert queue.served == ["high", "waiting 2", "patient"]
    stats = queue.pool.get_stats()
    assert (stats.refused, stats.given_up) == (1, 2)


async def test_a_closing_pool_serves_and_a_terminated_one_fails_who_waits(dsn: str) -> None:
    for ends in (False, True):
        pool = await colonnade.create_pool(dsn, min_size=1, max_size=1, max_waiting=5)
        queue = Queue(pool)
        queue.held = await pool.acquire()
        tasks = [await queue.come(str(number), priority=number) for number in range(3)]
        if ends:
            pool.terminate()
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
            assert [str(outcome) for outcome in outcomes] == ["pool is closed"] * 3
        else:
            closing = asyncio.ensure_future(pool.close())
            await asyncio.sleep(0)
            await queue.let_go(*tasks)
            await closing
            assert queue.served == ["2", "1", "0"]


async def test_a_setup_and_a_borrowing_verb_wait_by_priority_too(dsn: str) -> None:
    served: list[int] = []

    async def setup(_: object) -> None:
        await asyncio.sleep(0)

    async def borrow(priority: int) -> None:
        holder = await pool._borrow(priority=priority, timeout=30)
        served.append(priority)
        if not holder.give_back():
            await holder.finish_giving_back(None)

    for callback in (None, setup):
        async with colonnade.create_pool(dsn, min_size=1, max_size=1, setup=callback) as pool:
            held = await pool.acquire()
            tasks = [asyncio.ensure_future(borrow(priority)) for priority in (1, 2, 3)]
            await asyncio.sleep(0)
            with pytest.raises(TimeoutError, match="no connection was free"):
                await pool._borrow(timeout=0.001)
            await pool.release(held)
            await asyncio.gather(*tasks)
    assert served == [3, 2, 1] * 2


async def test_random_callers_lose_no_connection(dsn: str) -> None:
    random.seed(4711)
    done = 0

    async def work() -> None:
        nonlocal done
        await asyncio.sleep(random.random() * 0.05)
        timeout = random.choice([None, 0.001, 0.02, 10])
        async with pool.acquire(priority=random.randrange(-2, 3), timeout=timeout) as connection:
            await connection.fetchval("SELECT pg_sleep($1)", random.choice([0.0, 0.002]))
        done += 1

    async with colonnade.create_pool(dsn, min_size=0, max_size=4, max_waiting=20) as pool:
        tasks = [asyncio.ensure_future(work()) for _ in range(400)]
        # Surely some that have not ended; the others by chance, at any point.
        await asyncio.sleep(0)
        for task in random.sample(tasks, 5):
            task.cancel()
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0)
            assert pool.get_stats().waiting <= 20 + 4
            if random.random() < 0.05:
                random.choice(tasks).cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        failures = [one for one in outcomes if one is not None]
        kinds = (asyncio.CancelledError, TimeoutError, PoolExhaustedError)
        assert {type(one) for one in failures} == set(kinds)
        assert done == 400 - len(failures)
        refused = sum(isinstance(one, PoolExhaustedError) for one in failures)
        stats = pool.get_stats()
        assert refused <= stats.refused <= len(failures)
        assert stats.waiting == 0
        assert not stats.closed.get("lost")
        connections = [await pool.acquire(timeout=30) for _ in range(4)]
        for connection in connections:
            assert await connection.fetchval("SELECT 1") == 1
            await pool.release(connection)
