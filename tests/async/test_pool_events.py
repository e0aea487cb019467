"""The events that observers of pools see: connections made, acquired, released, and timeouts."""

from __future__ import annotations

# async-only: begin
import asyncio

# async-only: end
import contextlib
import logging
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade import tracing
from colonnade.errors import DivisionByZeroError

# async-only: begin
from tests.support.until import until

# async-only: end

if TYPE_CHECKING:
    from collections.abc import Iterator

# async-only: begin
TASK_NAME = "the caller"

# async-only: end


class Told:
    """An observer that records its calls, and raises `failure` at the event `fails_at`."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, str, float]] = []
        self.fails_at: str | None = None
        self.failure: BaseException = ValueError("the observer's own mistake")

    def pool_event(self, pool: Any, event: tracing.PoolEvent, seconds: float) -> None:
        self.events.append((pool, event, seconds))
        if event == self.fails_at:
            raise self.failure

    def take(self) -> list[str]:
        """The events since the last call."""
        events, self.events = self.events, []
        assert all(seconds >= 0 for _, _, seconds in events)
        return [event for _, event, _ in events]


@pytest.fixture
def told() -> Iterator[Told]:
    told = Told()
    tracing.add_pool_observer(told)
    yield told
    with contextlib.suppress(ValueError):
        tracing.remove_pool_observer(told)


async def test_each_connection_is_seen_from_its_opening_to_its_release(
    dsn: str, told: Told
) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=2) as pool:
        assert told.take() == ["created"]
        async with pool.acquire() as first:
            await first.fetchval("SELECT 1")
            assert told.take() == ["acquired"]
            async with pool.acquire():
                assert told.take() == ["created", "acquired"]
        assert told.take() == ["released", "released"]
        await pool.execute("SELECT pg_sleep(0.01)")
        (_, acquired, waited), (seen, released, used) = told.events
        assert seen is pool
        assert (acquired, released) == ("acquired", "released")
        assert waited == 0
        assert used >= 0.01
        told.take()
    assert told.take() == []


async def test_every_road_acquires_and_releases(dsn: str, told: Told) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        told.take()
        async for _ in pool.iter_columns("SELECT generate_series(1, 10) AS n"):
            pass
        assert told.take() == ["acquired", "released"]
        async with pool.pipeline() as pipeline:
            pipeline.fetch("SELECT 1")
        assert told.take() == ["acquired", "released"]
        with pytest.raises(DivisionByZeroError):
            await pool.execute("SELECT 1 / 0")
        assert told.take() == ["acquired", "released"]
        connection = await pool.acquire()
        await pool.release(connection)
        await pool.release(connection)
        assert told.take() == ["acquired", "released"]


async def test_a_connection_that_is_closed_is_released_once(dsn: str, told: Told) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1, max_queries=1) as pool:
        told.take()
        async with pool.acquire() as connection:
            await connection.close()
        assert told.take() == ["acquired", "released"]
        # Each query replaces the connection.
        await pool.execute("SELECT 1")
        assert told.take() == ["created", "acquired", "released"]
        connection = await pool.acquire()
        told.take()
        pool.terminate()
        assert told.take() == ["released"]
        assert "released" in repr(connection)


async def test_a_transaction_left_open_is_released_after_its_reset(dsn: str, told: Told) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        connection = await pool.acquire()
        await connection.execute("BEGIN")
        told.take()
        await pool.release(connection)
        assert told.take() == ["released"]
        assert pool.get_idle_size() == 1


async def test_a_timeout_is_told_with_its_limit(dsn: str, told: Told) -> None:
    async with (
        colonnade.create_pool(dsn, min_size=1, max_size=1) as pool,
        pool.acquire(),
    ):
        told.take()
        with pytest.raises(TimeoutError):
            await pool.acquire(timeout=0.01)
        ((_, event, seconds),) = told.events
        assert (event, seconds) == ("timed_out", 0.01)


# async-only: begin
async def test_a_wait_is_told_in_the_context_of_its_caller(dsn: str, told: Told) -> None:
    names: list[str] = []

    class Namer:
        def pool_event(self, pool: Any, event: tracing.PoolEvent, seconds: float) -> None:
            del pool, seconds
            task = asyncio.current_task()
            if event == "acquired" and task is not None:
                names.append(task.get_name())

    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        connection = await pool.acquire()
        namer = Namer()
        tracing.add_pool_observer(namer)
        try:
            waiting = asyncio.create_task(pool.fetchval("SELECT 1"), name=TASK_NAME)
            await until(lambda: pool.get_stats().waiting == 1)
            told.take()
            await pool.release(connection)
            await waiting
        finally:
            tracing.remove_pool_observer(namer)
        (_, _, waited) = told.events[1]
        assert told.take() == ["released", "acquired", "released"]
        assert waited > 0
        assert names == [TASK_NAME]


async def test_a_cancelled_wait_acquires_nothing(dsn: str, told: Told) -> None:
    async with (
        colonnade.create_pool(dsn, min_size=1, max_size=1) as pool,
        pool.acquire(),
    ):
        told.take()
        waiting = asyncio.create_task(pool.fetchval("SELECT 1"))
        await until(lambda: pool.get_stats().waiting == 1)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert told.take() == []


# async-only: end
@pytest.mark.parametrize("event", ["created", "acquired", "released", "timed_out"])
async def test_an_error_of_an_observer_changes_nothing(
    dsn: str, told: Told, event: str, caplog: pytest.LogCaptureFixture
) -> None:
    told.fails_at = event
    with caplog.at_level(logging.ERROR, "colonnade.pool"):
        async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
            assert await pool.fetchval("SELECT 1") == 1
            async with pool.acquire():
                with pytest.raises(TimeoutError, match="no connection was free"):
                    await pool.acquire(timeout=0.01)
            assert await pool.fetchval("SELECT 2") == 2
            assert (pool.get_size(), pool.get_idle_size()) == (1, 1)
    assert {record.getMessage() for record in caplog.records} == {
        f"an observer of the pool failed at its event {event!r}"
    }


class _End(BaseException):
    """As KeyboardInterrupt and SystemExit, it is no error that could be logged."""


@pytest.mark.parametrize("event", ["acquired", "released"])
async def test_an_observer_that_ends_the_program_leaves_no_connection_behind(
    dsn: str, told: Told, event: str
) -> None:
    async with colonnade.create_pool(dsn, min_size=0, max_size=1) as pool:
        await pool.fetchval("SELECT 1")
        told.fails_at, told.failure = event, _End()
        with pytest.raises(_End):
            await pool.fetchval("SELECT 2")
        told.fails_at = None
        assert pool.get_size() == 0
        assert await pool.fetchval("SELECT 3") == 3


async def test_nothing_is_told_without_an_observer(dsn: str, told: Told) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        connection = await pool.acquire()
        told.take()
        tracing.remove_pool_observer(told)
        await pool.release(connection)
        await pool.fetchval("SELECT 1")
        assert told.take() == []
        connection = await pool.acquire()
        tracing.add_pool_observer(told)
        # It was lent before the observer came, so nothing is known of its use.
        await pool.release(connection)
        assert told.take() == []


def test_an_observer_is_added_and_removed_once(told: Told) -> None:
    with pytest.raises(ValueError, match="added before"):
        tracing.add_pool_observer(told)
    tracing.remove_pool_observer(told)
    with pytest.raises(ValueError, match="not there"):
        tracing.remove_pool_observer(told)
