"""Work for the tests of metrics: queries that succeed and fail, waits and timeouts."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade import observe
from colonnade.errors import DivisionByZeroError
from tests.support.until import until

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

SECRET = "a value that no label may have"


async def work(pool: colonnade.Pool) -> None:
    """Three good queries and a bad one; a new connection, a wait for it, one in vain."""
    async with pool.acquire() as connection:
        await connection.close()
    await pool.execute("CREATE TABLE IF NOT EXISTS watched (n int)")
    await pool.fetch("SELECT generate_series(1, 7)")
    with pytest.raises(DivisionByZeroError):
        await pool.fetchval(f"SELECT 1 / 0 FROM pg_class WHERE relname <> '{SECRET}'")
    connection = await pool.acquire()
    with pytest.raises(TimeoutError):
        await pool.acquire(timeout=0.01)
    waiting = asyncio.create_task(pool.fetchval("SELECT count(*) FROM watched"))
    await until(lambda: pool.get_stats().waiting == 1)
    await pool.release(connection)
    await waiting


async def watched(
    dsn: str, check: Callable[[colonnade.Pool, observe.LoopMonitor], Awaitable[Any]]
) -> None:
    """Call `check` with a pool of one connection and a running monitor."""
    async with (
        observe.LoopMonitor(logger=None) as monitor,
        colonnade.create_pool(dsn, min_size=1, max_size=1) as pool,
    ):
        await check(pool, monitor)
