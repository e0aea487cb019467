"""Waiting threads of several priorities and deadlines: their turns, and those that are refused."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

import colonnade.sync
from colonnade import PoolExhaustedError
from colonnade._driver.pool_core.waiting import OVERTAKINGS_MAX
from tests.support.crowd import Crowd, Started, see
from tests.support.interruptions import interrupted

if TYPE_CHECKING:
    from collections.abc import Callable

_ROOMS = ("colonnade/_driver/pool_core/", "colonnade/_driver/_sync/pool/")
_STEPS_MAX = 2_000


def _comer(
    pool: colonnade.sync.Pool, crowd: Crowd, served: list[str]
) -> Callable[..., Started[None]]:
    """A function that starts a thread, and returns when the thread waits."""

    def use(name: str, options: dict[str, Any]) -> None:
        with pool.acquire(**options):
            served.append(name)

    def come(name: str, **options: Any) -> Started[None]:
        waited = pool.get_stats().waited
        started = crowd.start(use, name, options)
        see(lambda: pool.get_stats().waited > waited)
        return started

    return come


def test_priority_comes_before_deadline_and_deadline_before_arrival(dsn: str) -> None:
    served: list[str] = []
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=1) as pool, Crowd() as crowd:
        come = _comer(pool, crowd, served)
        with pool.acquire():
            come("plain")
            come("late", timeout=60)
            come("soon", timeout=30)
            come("important", priority=1, timeout=90)
            come("unimportant", priority=-1, timeout=45)
        crowd.ends()
    assert served == ["important", "soon", "late", "plain", "unimportant"]


def test_a_low_priority_still_comes_amid_a_flood_of_high_ones(dsn: str) -> None:
    before = 3
    served: list[str] = []
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=1) as pool, Crowd() as crowd:
        come = _comer(pool, crowd, served)

        def flood() -> None:
            while "low" not in served:
                with pool.acquire(priority=9, timeout=30):
                    served.append("high")
                    # The others are back in the list, so that there always is a flood.
                    see(lambda: pool.get_stats().waiting > before or "low" in served)

        with pool.acquire():
            for number in range(before):
                come(f"before {number}", priority=9)
            come("low", priority=-1)
            for _ in range(6):
                crowd.start(flood)
            see(lambda: pool.get_stats().waiting == before + 7)
        crowd.ends()
    turn = served.index("low") + 1
    assert before < turn <= (OVERTAKINGS_MAX + 1) * (before + 1)


def test_the_lowest_priority_that_came_last_is_refused(dsn: str) -> None:
    served: list[str] = []
    with (
        colonnade.sync.create_pool(dsn, min_size=1, max_size=1, max_waiting=2) as pool,
        Crowd() as crowd,
    ):
        come = _comer(pool, crowd, served)
        with pool.acquire():
            normal = come("normal")
            low = come("low", priority=-1)
            with pytest.raises(PoolExhaustedError) as refused:
                pool.acquire(priority=-1)
            assert (refused.value.size, refused.value.busy, refused.value.waiting) == (1, 1, 2)
            high = come("high", priority=1)
            with pytest.raises(PoolExhaustedError, match="a caller of higher priority took"):
                low.end()
            with pytest.raises(PoolExhaustedError, match="no more callers may wait"):
                pool.fetchval("SELECT 1")
        normal.end()
        high.end()
        stats = pool.get_stats()
        assert (stats.refused, stats.waited, stats.given_up, stats.waiting) == (3, 3, 0, 0)
    assert served == ["high", "normal"]


def test_random_threads_lose_no_connection(dsn: str) -> None:
    with (
        colonnade.sync.create_pool(dsn, min_size=0, max_size=3, max_waiting=8) as pool,
        Crowd() as crowd,
    ):

        def work(seed: int) -> int:
            chance = random.Random(seed)
            refused = 0
            for _ in range(40):
                timeout = chance.choice([None, 0.001, 30])
                try:
                    with pool.acquire(priority=chance.randrange(3), timeout=timeout) as connection:
                        connection.fetchval("SELECT pg_sleep($1)", chance.choice([0.0, 0.002]))
                except PoolExhaustedError:
                    refused += 1
                except TimeoutError:
                    pass
            return refused

        for seed in range(20):
            crowd.start(work, seed)
        refused = sum(crowd.ends())
        stats = pool.get_stats()
        assert 0 < refused <= stats.refused
        assert (stats.waiting, stats.opening, stats.busy) == (0, 0, 0)
        held = [pool.acquire(timeout=30) for _ in range(3)]
        assert [one.fetchval("SELECT 1") for one in held] == [1, 1, 1]
        for one in held:
            pool.release(one)


@pytest.mark.filterwarnings("ignore:unclosed connection:ResourceWarning")
def test_an_outranking_caller_may_be_interrupted_at_every_step(dsn: str) -> None:
    def come() -> None:
        with pool.acquire(priority=step, timeout=0.001):
            raise AssertionError("the connection is not free")

    with colonnade.sync.create_pool(dsn, min_size=1, max_size=1, max_waiting=1) as pool:
        for step in range(1, _STEPS_MAX):
            with Crowd() as crowd:
                held = pool.acquire()
                waiting = crowd.start(pool.fetchval, "SELECT 1")
                see(lambda: pool.get_stats().waiting == 1)
                try:
                    was_interrupted = interrupted(come, step, _ROOMS)
                except TimeoutError:
                    was_interrupted = False
                pool.release(held)
                try:
                    assert waiting.end() == 1
                except PoolExhaustedError:
                    assert pool.get_stats().refused > 0
            stats = pool.get_stats()
            assert (stats.waiting, stats.busy, stats.opening) == (0, 0, 0)
            if not was_interrupted:
                break
        assert step > 10
