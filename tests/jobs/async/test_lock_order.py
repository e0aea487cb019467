# async-only: file
"""All statements that wait for rows lock them in one order: so nobody waits in a circle."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import colonnade
from colonnade import jobs
from colonnade.jobs._async import asking

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from colonnade.jobs.definition import LayoutName

CALLERS = 4
DEADLOCKS = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"


@pytest.fixture
async def pool(dsn: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[colonnade.Pool]:
    """A pool whose server looks for deadlocks soon, and which counts them at the end."""
    # A deadlock is not to be mended by another attempt.
    monkeypatch.setattr(asking, "_GIVEN_UP", ())
    async with colonnade.create_pool(
        dsn, min_size=1, max_size=CALLERS + 1, server_settings={"deadlock_timeout": "20"}
    ) as pool:
        before = await pool.fetchval(DEADLOCKS)
        yield pool
        assert await pool.fetchval(DEADLOCKS) == before
        await pool.execute("DROP SCHEMA IF EXISTS jobs CASCADE")


def shuffled(seed: int, count: int) -> dict[str, Any]:
    """The same keys for each seed, in an order of its own."""
    return {"a": np.random.default_rng(seed).permutation(count)}


@pytest.mark.parametrize("count", [1_000, 11_000])
@pytest.mark.parametrize(
    "ways",
    [
        *(("ignore",), ("replace",), ("again",), ("ignore", "replace", "again")),
        ("replace", "again"),
    ],
    ids=" ".join,
)
async def test_the_same_keys_in_another_order(
    pool: colonnade.Pool, ways: tuple[Any, ...], count: int
) -> None:
    queue = await jobs.create_queue(pool, "work", {"a": "int8"}, retry=jobs.Retry(delay=0))

    async def call(number: int, seed: int) -> None:
        way = ways[number % len(ways)]
        await queue.add(shuffled(seed, count), key="a", on_conflict=way)

    for turn in range(4 if count < 10_000 else 1):
        # Some keys are new, some wait, and some are leased.
        await queue.add(shuffled(turn, count // 2), key="a")
        batch = await queue.get(count // 4, timeout=0)
        await asyncio.gather(
            *(call(number, CALLERS * turn + number) for number in range(CALLERS)),
            batch.ack(batch.ids[: count // 8]) if ways == ("ignore",) else asyncio.sleep(0),
        )
        while rest := await queue.get(count, timeout=0):
            await rest.ack()
        await queue.purge()


@pytest.mark.parametrize("verb", ["commit", "nack", "add"])
async def test_an_administrator_beside_them(
    pool: colonnade.Pool, layout: LayoutName, verb: str
) -> None:
    retry = jobs.Retry(max_attempts=1)
    queue = await jobs.create_queue(pool, "work", {"a": "int8"}, retry=retry, layout=layout)
    keyed: dict[str, Any] = {"key": "a"} if layout == "rows" else {}

    async def call(batch: jobs.Batch, ids: Any) -> None:
        try:
            if verb == "commit":
                async with pool.acquire() as connection, connection.transaction():
                    await batch.commit(connection, ids)
            elif verb == "nack":
                await batch.nack(ids)
            else:
                await queue.add({"a": np.asarray(ids) % 100}, **keyed)
        except jobs.LeaseLostError:
            pass

    for turn in range(10):
        await queue.add(shuffled(turn, 200), **keyed)
        await queue.add(shuffled(turn, 200))
        batch = await queue.get(timeout=0)
        ids = np.random.default_rng(turn).permutation(batch.ids)
        await asyncio.gather(call(batch, ids[::2]), call(batch, ids[1::2]), queue.purge())
        await queue.purge()
        await asyncio.gather(queue.requeue(), queue.requeue(), queue.purge_dead())
        await queue.purge()
        await queue.purge_dead()


@pytest.mark.parametrize("way", ["ignore", "replace", "again"])
@pytest.mark.parametrize("count", [50, 11_000])
async def test_jobs_keep_the_order_of_the_call(pool: colonnade.Pool, way: Any, count: int) -> None:
    queue = await jobs.create_queue(pool, "work", {"a": "int8"})
    wanted = shuffled(1, count)
    await queue.add(wanted, key="a", on_conflict=way)
    assert (await queue.get(count, timeout=0)).columns["a"].tolist() == wanted["a"].tolist()
