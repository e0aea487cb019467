"""A pool whose waiting list is bounded: its options, and the error of those it refuses."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import colonnade
from colonnade import PoolExhaustedError

pytestmark = pytest.mark.every_loop


async def test_nobody_waits_where_the_bound_is_zero(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=0, max_size=2, max_waiting=0) as pool:
        # A caller whose connection is yet to be opened does not count as waiting.
        async with pool.acquire() as first, pool.acquire() as second:
            assert await first.fetchval("SELECT 1") == await second.fetchval("SELECT 1")
            with pytest.raises(PoolExhaustedError, match="no connection is free") as refused:
                async with pool.acquire(priority=5):
                    pass
            with pytest.raises(PoolExhaustedError):
                await pool.fetchval("SELECT 1")
            with pytest.raises(PoolExhaustedError):
                async with pool.pipeline():
                    pass
            with pytest.raises(PoolExhaustedError):
                async for _ in pool.iter_columns("SELECT 1"):
                    pass
        error = refused.value
        assert (error.size, error.busy, error.waiting) == (2, 2, 0)
        assert error.safe_to_retry
        assert "size 2, busy 2, waiting 0, max_waiting 0" in str(error)
        assert "give create_pool a larger max_size or max_waiting" in str(error)
        stats = pool.get_stats()
        assert (stats.refused, stats.waiting, stats.given_up) == (4, 0, 0)
        # The same calls work as soon as a connection is free.
        assert await pool.fetchval("SELECT 1") == 1


async def test_connections_that_are_replaced_refuse_nobody(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1, max_waiting=0) as pool:
        for _ in range(3):
            await pool.expire_connections()
            assert await pool.fetchval("SELECT 1") == 1
        assert pool.get_stats().refused == 0


async def test_the_error_keeps_its_figures() -> None:
    error = PoolExhaustedError("too many", size=3, busy=2, waiting=7, hint="come back")
    pickled = pickle.loads(pickle.dumps(error))  # noqa: S301 - its own bytes
    for copy in (pickled, error.with_msg("too many")):
        assert type(copy) is PoolExhaustedError
        assert str(copy) == "too many\nHINT:  come back"
        assert (copy.size, copy.busy, copy.waiting) == (3, 2, 7)
    assert isinstance(error, colonnade.InterfaceError)


@pytest.mark.parametrize("given", [True, 1.0, "1", None])
async def test_a_priority_is_a_whole_number(dsn: str, given: Any) -> None:
    async with colonnade.create_pool(dsn, min_size=0) as pool:
        with pytest.raises(TypeError, match="priority must be a whole number, not"):
            await pool.acquire(priority=given)


@pytest.mark.parametrize(
    ("given", "kind", "match"),
    [
        (-1, ValueError, "max_waiting must be 0 or more, not -1"),
        (1.5, TypeError, "max_waiting must be a whole number, not 1.5"),
        (True, TypeError, "max_waiting must be a whole number, not True"),
        ("9", TypeError, "max_waiting must be a whole number, not '9'"),
    ],
)
async def test_the_bound_is_a_whole_number(given: Any, kind: type[Exception], match: str) -> None:
    with pytest.raises(kind, match=match):
        colonnade.create_pool(max_waiting=given)
