"""Cancelling any public coroutine at any of its awaits loses nothing and mixes nothing up."""

from __future__ import annotations

import asyncio
import gc
import inspect
import itertools
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade import Connection, Pool, parallel
from colonnade._driver._async import (
    column_stream,
    cursor,
    notification_iterator,
    pipeline,
    pipeline_result,
    prepared_statement,
    result,
    transaction,
)
from colonnade._driver._async.pool import pipeline as pool_pipeline, pool, proxy, streams
from colonnade._driver.listener import asyncio as listener
from tests.soak.scenarios import SCENARIOS, Ground
from tests.support.steps import Reached, Strike, struck
from tests.support.until import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.thorough

_SETTLED_SECONDS_MAX = 20.0

CLASSES: list[type[Any]] = [
    *(Connection, Pool, pool.PoolAcquireContext, proxy.PoolConnectionProxy),
    *(prepared_statement.PreparedStatement, transaction.Transaction),
    *(cursor.CursorFactory, cursor.Cursor, cursor.CursorIterator),
    *(pipeline.Pipeline, pipeline_result.PipelineResult, pool_pipeline.PoolPipelineContext),
    *(column_stream.ColumnStream, streams.PoolColumnStream, result.HeldResult),
    *(listener.Listening, notification_iterator.ConnectionNotifications),
]
# A proxy's methods are the connection's.
FORWARDED = {f"PoolConnectionProxy.{name}" for name in dir(Connection) if name[0] != "_"}


def coroutines(kind: type[Any]) -> set[str]:
    found = set()
    for name in dir(kind):
        method = inspect.unwrap(getattr(kind, name))
        is_shown = name[0] != "_" or name in {"__aenter__", "__aexit__", "__anext__"}
        if is_shown and inspect.iscoroutinefunction(method):
            found.add(f"{kind.__name__}.{name}")
    return found


def test_every_public_coroutine_has_a_scenario() -> None:
    assert inspect.iscoroutinefunction(colonnade.connect)
    assert inspect.iscoroutinefunction(parallel.read)
    functions = {"connect", "create_pool", "parallel.read"}
    public = set().union(functions, *(coroutines(kind) for kind in CLASSES)) - FORWARDED
    used = set().union(*(scenario.uses for scenario in SCENARIOS.values()))
    assert public - used == set()
    assert used - public == set()


@pytest.fixture
async def ground(dsn: str, nothing_left: None) -> AsyncIterator[Ground]:
    del nothing_left
    async with colonnade.create_pool(dsn, min_size=1, max_size=2) as made:
        connection = await opened(dsn)
        ground = Ground(dsn, connection, made)
        yield ground
        await ground.connection.close()


SINK = "CREATE TEMPORARY TABLE IF NOT EXISTS sink (token int, i int, UNIQUE (token, i))"


async def opened(dsn: str) -> Connection:
    connection = await colonnade.connect(dsn)
    await connection.execute(SINK)
    return connection


async def check_connection(ground: Ground, rows: int) -> None:
    """Check that the connection answers with all rows of the scenario or none, or is closed."""
    async with asyncio.timeout(_SETTLED_SECONDS_MAX):
        if ground.connection.is_closed():
            ground.connection = await opened(ground.dsn)
        connection, token = ground.connection, ground.token
        assert await connection.fetchval("SELECT $1::int + 7", token) == token + 7
        assert not connection.is_in_transaction()
        # A reset has dropped it.
        await connection.execute(SINK)
        found = await connection.fetchval("SELECT count(*) FROM sink WHERE token = $1", token)
        assert found in (0, rows)
        assert await connection.execute("TRUNCATE sink") == "TRUNCATE TABLE"


def is_at_rest(pool: Pool) -> bool:
    stats = pool.get_stats()
    return (stats.busy, stats.waiting, stats.opening) == (0, 0, 0)


async def check_pool(ground: Ground) -> None:
    """Check that all places are free, and that each connection answers correctly."""
    async with asyncio.timeout(_SETTLED_SECONDS_MAX):
        await until(lambda: is_at_rest(ground.pool))
        async with ground.pool.acquire() as first, ground.pool.acquire() as second:
            for number, connection in enumerate((first, second)):
                value = await connection.fetchval("SELECT $1::int", ground.token + number)
                assert value == ground.token + number
                assert not connection.is_in_transaction()
    assert ground.pool.get_size() <= 2


async def no_task_is_left(before: set[asyncio.Task[Any]]) -> None:
    await until(lambda: asyncio.all_tasks() <= before)


_TOKENS = itertools.count(1000, 10)

# `make soak` strikes in every way at every suspension; without it, the ways take turns.
STRIKES = (
    {strike.name.lower(): [strike] for strike in Strike}
    if os.environ.get("SOAK_EVERY_STRIKE")
    else {"by_turns": list(Strike)}
)


@pytest.mark.parametrize("strikes", STRIKES.values(), ids=STRIKES)
@pytest.mark.parametrize("name", SCENARIOS)
async def test_struck_at_every_suspension(
    ground: Ground, name: str, strikes: list[Strike], monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario, unheard = SCENARIOS[name], list[object]()
    loop, before = asyncio.get_running_loop(), asyncio.all_tasks()
    loop.set_exception_handler(lambda _, context: unheard.append(context))
    monkeypatch.setattr(sys, "unraisablehook", unheard.append)
    # A different number for each loop.
    first = len(type(loop).__module__)
    for at in itertools.count(1):
        ground.token = next(_TOKENS)
        strike = strikes[(first + at) % len(strikes)]
        is_struck = check_end(await struck(lambda: scenario.work(ground), strike, at), strike)
        await no_task_is_left(before)
        await check_connection(ground, scenario.rows)
        await check_pool(ground)
        if not is_struck:
            break
    assert at > 1, "it has no suspension"
    gc.collect()
    await asyncio.sleep(0)
    # The log message of scenarios that leave a transaction open.
    said = [context for context in unheard if "active transaction" not in str(context)]
    assert said == []


def check_end(reached: Reached, strike: Strike) -> bool:
    """Check that the coroutine ended as it must; return whether it was struck."""
    if not reached.is_struck:
        reached.task.result()
    elif strike is Strike.TIME_OUT:
        # It may end before the timeout.
        error = None if reached.task.cancelled() else reached.task.exception()
        assert error is None or isinstance(error, TimeoutError), error
        assert not reached.task.cancelled()
    else:
        assert reached.task.cancelled(), reached.task
    return reached.is_struck
