"""A waiting `get` ends in time, although the connection that listens for it does not answer."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading

import pytest

import colonnade
from colonnade import embedded, jobs
from colonnade.jobs import sync as blocking
from tests.support.restarts import RestartableServer
from tests.support.until import until

pytestmark = pytest.mark.every_loop

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
        # Not within the time of a command: the tables of a queue may take longer.
        async with colonnade.create_pool(server.dsn, min_size=1, max_size=2) as patient:
            await jobs.create_queue(patient, "work", {"a": "int8"})
        pool = await colonnade.create_pool(
            server.dsn, min_size=1, max_size=4, command_timeout=command_timeout
        )
        watcher = await colonnade.connect(server.dsn)
        queue = await jobs.open_queue(pool, "work")
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


def _failures(caplog: pytest.LogCaptureFixture) -> int:
    return caplog.text.count("no connection that listens")


async def _check_while_away(server: RestartableServer, caplog: pytest.LogCaptureFixture) -> None:
    """Nobody asks a server that is away again and again, and nobody waits when it is back."""
    with caplog.at_level(logging.WARNING, logger="colonnade.jobs"):
        await asyncio.to_thread(server.stop, "immediate")
        await until(lambda: _failures(caplog) > 0)
        await asyncio.sleep(1.5)
        assert _failures(caplog) < 12
        await asyncio.to_thread(server.start)


async def test_a_server_that_is_away_is_asked_now_and_then(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with RestartableServer() as server:
        async with colonnade.create_pool(server.dsn, min_size=1, max_size=3) as pool:
            await jobs.create_queue(pool, "work", {"a": "int8"})
            queue = await jobs.open_queue(pool, "work", poll=60)
            seen: list[int] = []

            async def handler(batch: jobs.Batch) -> None:
                seen.extend(batch.columns["a"].tolist())

            consumer = queue.consume(handler)
            running = asyncio.create_task(consumer.run())
            await until(lambda: consumer._hub is not None and not consumer._hub.is_behind)
            await asyncio.sleep(1.1)
            await _check_while_away(server, caplog)
            await queue.add({"a": [1]})
            await until(lambda: seen == [1])
            consumer.stop()
            await running


async def test_threads_ask_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    with (
        RestartableServer() as server,
        colonnade.sync.create_pool(server.dsn, min_size=1, max_size=3) as pool,
    ):
        blocking.create_queue(pool, "work", {"a": "int8"})
        queue = blocking.open_queue(pool, "work", poll=60)
        seen: list[int] = []
        consumer = queue.consume(lambda batch: seen.extend(batch.columns["a"].tolist()))
        running = threading.Thread(target=consumer.run)
        running.start()
        await until(lambda: consumer._hub is not None and not consumer._hub.is_behind)
        await asyncio.sleep(1.1)
        await _check_while_away(server, caplog)
        await asyncio.to_thread(queue.add, {"a": [1]})
        await until(lambda: seen == [1])
        consumer.stop()
        await asyncio.to_thread(running.join)
