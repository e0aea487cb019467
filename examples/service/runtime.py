"""What a process of the service holds while it runs: opened at its start, closed at its end."""

from __future__ import annotations

import asyncio
import contextlib
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp
import prometheus_client

import colonnade
from colonnade import observe
from examples.analytics.store import Store
from examples.service.answers import Answer
from examples.service.cache import Cache
from examples.service.recent import RecentRequests

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from examples.service.settings import Settings


@dataclass
class Runtime:
    """The connections, tables and monitors of a process."""

    settings: Settings
    pool: colonnade.Pool
    client: aiohttp.ClientSession
    """Keeps its connections to the suppliers."""
    store: Store
    """The tables of `/analytics`, in memory."""
    worker: ThreadPoolExecutor
    """One thread for work on columns, which holds neither the loop nor, mostly, the interpreter."""
    cache: Cache[Answer]
    searching: dict[object, asyncio.Task[Answer]]
    """The searches under way, so that the same one is not made twice at a time."""
    monitor: observe.LoopMonitor
    beat: observe.Beat | None
    registry: prometheus_client.CollectorRegistry
    recent: RecentRequests


@contextlib.asynccontextmanager
async def running(settings: Settings, recent: RecentRequests) -> AsyncIterator[Runtime]:
    """Open everything in the order of need; close it in the opposite one."""
    registry = prometheus_client.CollectorRegistry()
    async with contextlib.AsyncExitStack() as stack:
        pool = colonnade.create_pool(
            settings.dsn,
            min_size=1,
            max_size=settings.pool_size,
            timeout=10,
        )
        await stack.enter_async_context(pool)
        monitor = await stack.enter_async_context(observe.LoopMonitor())
        stack.enter_context(observe.PrometheusMetrics(registry, {"main": pool}, monitor))
        # A search opens a connection to each supplier, and keeps it for the next one.
        connector = aiohttp.TCPConnector(limit=0, limit_per_host=32, keepalive_timeout=60)
        client = await stack.enter_async_context(
            aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        )
        worker = stack.enter_context(ThreadPoolExecutor(1, "columns"))
        loop = asyncio.get_running_loop()
        store = await loop.run_in_executor(worker, _fetched, settings.dsn)
        beat = _beat(settings.beat_folder)
        if beat is not None:
            await stack.enter_async_context(beat)
        recent.count_into(registry)
        yield Runtime(
            settings=settings,
            pool=pool,
            client=client,
            store=store,
            worker=worker,
            cache=Cache(settings.cache_entries),
            searching={},
            monitor=monitor,
            beat=beat,
            registry=registry,
            recent=recent,
        )


def _fetched(dsn: str) -> Store:
    with colonnade.sync.connect(dsn) as connection:
        return Store.fetch(connection)


def _beat(folder: str) -> observe.Beat | None:
    return observe.Beat(Path(folder, f"{os.getpid()}.beat"), interval=0.5) if folder else None
