"""The resources of a running process of the service: opened at its start, closed at its end."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp
import prometheus_client

import colonnade
from colonnade import observe, tracing
from examples.analytics.store import Store
from examples.service.admission.gate import Gate, QueueName, Signal
from examples.service.admission.metrics import GateCollector
from examples.service.admission.rules import rules_of
from examples.service.admission.signals import LoopLag, PoolWait
from examples.service.answers import Answer
from examples.service.beside import Beside
from examples.service.cache import Cache
from examples.service.drain import begin_at_sigterm
from examples.service.handlers.asking import route_of_query
from examples.service.jobs import SearchJobs, search_jobs
from examples.service.page.reporter import Reporter, Sources, reporting
from examples.service.page.reports import Reports
from examples.service.page.tables import Tables
from examples.service.phases import PhaseTracer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from examples.service.settings import Settings
    from examples.service.shell import Shell


@dataclass
class Runtime:
    """The connections, tables and monitors of a process."""

    settings: Settings
    pool: colonnade.Pool
    client: aiohttp.ClientSession
    """Keeps its connections to the suppliers."""
    store: Store
    """The tables of `/analytics`, in memory."""
    beside: Beside
    cache: Cache[Answer]
    searching: dict[object, asyncio.Task[Answer]]
    """The searches under way, so that the same one is not made twice at a time."""
    monitor: observe.LoopMonitor
    beat: observe.Beat | None
    registry: prometheus_client.CollectorRegistry
    shell: Shell
    gate: Gate
    jobs: SearchJobs
    reports: Reports
    """The reports of this process and the others to the page."""
    tables: Tables


@contextlib.asynccontextmanager
async def running(settings: Settings, shell: Shell) -> AsyncGenerator[Runtime]:
    """Open everything in the order of need; close it in the opposite one.

    Ends within a fifth of the grace: that is left when the drain has cancelled its requests.
    """
    registry = prometheus_client.CollectorRegistry()
    reports = Reports(settings.live_folder)
    searching: dict[object, asyncio.Task[Answer]] = {}
    async with contextlib.AsyncExitStack() as stack:
        pool = colonnade.create_pool(settings.dsn, min_size=1, max_size=settings.pool_size)
        await pool
        stack.push_async_callback(_close, pool, settings.grace / 10)
        monitor = await stack.enter_async_context(observe.LoopMonitor())
        stack.enter_context(observe.PrometheusMetrics(registry, {"main": pool}, monitor))
        # A search opens a connection to each supplier, and keeps it for the next one.
        connector = aiohttp.TCPConnector(limit=0, limit_per_host=32, keepalive_timeout=60)
        client = await stack.enter_async_context(
            aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        )
        beside = stack.enter_context(contextlib.closing(Beside()))
        store = await asyncio.to_thread(_fetched, settings.dsn)
        jobs = await stack.enter_async_context(search_jobs(pool, settings.grace / 10))
        stack.push_async_callback(_cancel, searching)
        gate = _gate(settings, pool, monitor)
        shell.recent.count_into(registry)
        registry.register(GateCollector(gate))
        shell.admission.gate = gate
        cache: Cache[Answer] = Cache(settings.cache_entries)
        shell.kept.look = _look_in(cache, jobs)
        shell.drain.on_begin(jobs.stop)
        shell.drain.on_refuse(gate.drain)
        _note_phases(stack)
        sources = Sources(shell.recent, monitor, pool, gate, lambda: shell.drain.is_draining)
        stack.enter_context(reporting(Reporter(sources, reports, settings.deadline)))
        # The objects of the start stay until the end: collections need not look at them again.
        gc.collect()
        gc.freeze()
        stack.callback(gc.unfreeze)
        # The last step: a process that beats is ready.
        beat = _beat(settings.beat_folder)
        if beat is not None:
            await stack.enter_async_context(beat)
        begin_at_sigterm(shell.drain, settings.grace)
        yield Runtime(
            settings=settings,
            pool=pool,
            client=client,
            store=store,
            beside=beside,
            cache=cache,
            searching=searching,
            monitor=monitor,
            beat=beat,
            registry=registry,
            shell=shell,
            gate=gate,
            jobs=jobs,
            reports=reports,
            tables=Tables(store.airlines),
        )


def _look_in(cache: Cache[Answer], jobs: SearchJobs) -> Callable[[bytes], Answer | None]:
    """A function that finds the kept answer to a query string, and counts the search."""

    def look(query: bytes) -> Answer | None:
        route = route_of_query(query)
        answer = None if route is None else cache.get(route)
        if route is not None and answer is not None:
            jobs.note(route.origin, route.dest)
        return answer

    return look


def _gate(settings: Settings, pool: colonnade.Pool, monitor: observe.LoopMonitor) -> Gate:
    signals: dict[QueueName, Signal] = {
        "pool": Signal(PoolWait(pool), settings.pool_aim),
        "loop": Signal(LoopLag(monitor), settings.loop_aim),
    }
    return Gate(rules_of(settings), signals)


def _note_phases(stack: contextlib.AsyncExitStack) -> None:
    """Let requests note their queries and waits until the stack ends."""
    tracer = PhaseTracer()
    tracing.add_tracer(tracer)
    stack.callback(tracing.remove_tracer, tracer)
    tracing.add_pool_observer(tracer)
    stack.callback(tracing.remove_pool_observer, tracer)


def _fetched(dsn: str) -> Store:
    with colonnade.sync.connect(dsn) as connection:
        return Store.fetch(connection)


def _beat(folder: str) -> observe.Beat | None:
    return observe.Beat(Path(folder, f"{os.getpid()}.beat"), interval=0.5) if folder else None


async def _cancel(searching: dict[object, asyncio.Task[Answer]]) -> None:
    """End the searches that nobody waits for any more."""
    tasks = list(searching.values())
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)


async def _close(pool: colonnade.Pool, patience: float) -> None:
    """Close the pool; connections that do not come back in time are cut."""
    try:
        await asyncio.wait_for(pool.close(), patience)
    except TimeoutError:
        pool.terminate()
