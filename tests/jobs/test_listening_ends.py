"""A waiting `get` ends in time, although the connection that listens for it does not answer."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

import colonnade
from colonnade import embedded, jobs

_LISTENS = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN %' AND state = 'idle'"


async def listening_backend(watcher: colonnade.Connection) -> int:
    for _ in range(3_000):
        pid: int | None = await watcher.fetchval(_LISTENS)
        if pid is not None:
            return pid
        await asyncio.sleep(0.01)
    raise AssertionError("nobody listens")


@pytest.mark.filterwarnings("ignore::colonnade.errors.InterfaceWarning")
@pytest.mark.parametrize("command_timeout", [None, 0.3])
async def test_a_silent_connection_holds_nobody(command_timeout: float | None) -> None:
    with embedded.start() as server:
        pool = await colonnade.create_pool(
            server.dsn, min_size=1, max_size=4, command_timeout=command_timeout
        )
        watcher = await colonnade.connect(server.dsn)
        queue = await jobs.create_queue(pool, "work", {"a": "int8"})
        getting = asyncio.create_task(queue.get(timeout=0.6))
        pid = await listening_backend(watcher)
        os.kill(pid, signal.SIGSTOP)
        try:
            async with asyncio.timeout(20):
                assert not await getting
                # Another caller listens anew.
                getting = asyncio.create_task(queue.get(timeout=15))
                await queue.add({"a": [1]})
                assert (await getting).columns["a"].tolist() == [1]
        finally:
            os.kill(pid, signal.SIGCONT)
            pool.terminate()
            await watcher.close()


async def test_a_terminated_connection_holds_nobody(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=4) as pool:
        queue = await jobs.create_queue(pool, "work", {"a": "int8"})
        try:
            async with asyncio.timeout(60):
                for _ in range(20):
                    getting = asyncio.create_task(queue.get(timeout=30))
                    async with pool.acquire() as watcher:
                        pid = await listening_backend(watcher)
                        # In one moment, so that the end meets the cancellation.
                        await watcher.execute("SELECT pg_terminate_backend($1)", pid)
                    getting.cancel()
                    with pytest.raises(asyncio.CancelledError):
                        await getting
            assert "colonnade.jobs.listen" not in {task.get_name() for task in asyncio.all_tasks()}
        finally:
            await pool.execute("DROP SCHEMA IF EXISTS jobs CASCADE")
