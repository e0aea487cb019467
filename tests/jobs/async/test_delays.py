"""Jobs that wait for their time: they cost others nothing, and get their place when it comes."""

from __future__ import annotations

import asyncio
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import colonnade
from colonnade import jobs
from colonnade.jobs._async import getting
from colonnade.jobs._layouts import base

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from colonnade.jobs.definition import LayoutName

DELAYED = 20_000
# In the layout segments each delay is a range of its own, and each slot is looked into.
BUFFERS_MOST = {"rows": 40, "segments": 250}
# The time of jobs has come.
COME = "job_ready_at = '-infinity', job_waits_until = least(job_waits_until, '2000-01-01')"
TABLE = {"rows": "work", "segments": "work_r"}


async def buffers(connection: colonnade.Connection, statement: str, *arguments: Any) -> int:
    """The pages that a statement looks at."""
    rows = await connection.fetch_plain(
        f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}", *arguments
    )
    told = rows[0][0]
    plan = (json.loads(told) if isinstance(told, str) else told)[0]["Plan"]
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


@pytest.mark.parametrize("known", ["nothing", "before", "after"])
async def test_nobody_steps_over_them(
    pool: colonnade.Pool, queue: jobs.Queue, layout: LayoutName, known: str
) -> None:
    await queue.add({"a": np.arange(100)})
    async with pool.acquire() as connection:
        if known == "before":
            await connection.execute(f"ANALYZE jobs.{TABLE[layout]}")
        # One job after the other, as they are added in the course of a day.
        await queue.add({"a": np.arange(DELAYED)}, delay=86_400.0 + np.arange(DELAYED))
        await queue.add({"a": [100]})
        if known == "after":
            await connection.execute(f"ANALYZE jobs.{TABLE[layout]}")
        batch = await queue.get(10, timeout=0)
        settles = queue.layout.ack([batch._part(batch.ids)])
        tables = queue.layout
        looked = {
            "line_up": await buffers(connection, tables.line_up, 10_000),
            "lease": await buffers(connection, tables.lease, 5, 60.0, 7, True),
            "take": await buffers(connection, tables.take, 5, True),
            "sweep": await buffers(connection, tables.sweep),
            "ack": await buffers(connection, settles.forms.brisk, *settles.arguments),
            "next_ready": await buffers(connection, tables.next_ready),
        }
    assert max(looked.values()) <= BUFFERS_MOST[layout], looked
    assert (await queue.stats()).delayed == DELAYED


async def test_they_get_their_place_when_their_time_comes(
    pool: colonnade.Pool, queue: jobs.Queue, layout: LayoutName
) -> None:
    await queue.add({"a": [0, 1]}, delay=3600, priority=np.array([0, -1]))
    await queue.add({"a": [2]})
    await queue.add({"a": [3]}, delay=7200)
    assert (await queue.peek(4)).to_pydict()["a"] == [1, 0, 2, 3]
    await pool.execute(
        f"UPDATE jobs.{TABLE[layout]} SET {COME} WHERE job_ready_at < now() + interval '4000 s'"
    )
    batch = await queue.get(timeout=0)
    assert batch.columns["a"].tolist() == [1, 0, 2]
    await batch.ack()
    assert (await queue.stats()).delayed == 1


async def test_more_than_get_in_line_at_once(
    monkeypatch: pytest.MonkeyPatch, pool: colonnade.Pool, queue: jobs.Queue, layout: LayoutName
) -> None:
    monkeypatch.setattr(getting, "_LINED_UP", 3)
    await queue.add({"a": np.arange(10)}, delay=3600.0 + np.arange(10))
    await pool.execute(
        f"UPDATE jobs.{TABLE[layout]} SET job_ready_at = now(),"
        " job_waits_until = job_waits_until - interval '2 hours'"
    )
    got = []
    while batch := await queue.get(2, timeout=0):
        got += batch.columns["a"].tolist()
        await batch.ack()
    assert got == list(range(10))


async def test_a_job_that_failed_waits_apart(
    pool: colonnade.Pool, queue: jobs.Queue, layout: LayoutName
) -> None:
    await queue.add({"a": [0]})
    await queue.add({"a": [1]})
    waiting = f"SELECT count(*) FROM jobs.{TABLE[layout]} WHERE job_waits_until > '-infinity'"
    batch = await queue.get(1, timeout=0)
    await batch.nack(delay=3600)
    assert await pool.fetchval(waiting) == 1
    other = await queue.get(timeout=0)
    assert other.columns["a"].tolist() == [1]
    await other.release()
    await pool.execute(f"UPDATE jobs.{TABLE[layout]} SET {COME}")
    batch = await queue.get(timeout=0)
    assert batch.columns["a"].tolist() == [0, 1]
    await batch.nack(delay=0)
    assert await pool.fetchval(waiting) == 0


class Watched:
    """The queue in a pool of its own, whose sweep is not due, and what it asks the server."""

    def __init__(self, queue: jobs.Queue, statements: list[str]) -> None:
        self.queue = queue
        self._statements = statements
        queue._next_sweep = float("inf")

    async def got(self, limit: int = 1000, lease: float | None = 60.0) -> list[int]:
        """The jobs that `get` returns now."""
        found: list[int] = (
            (await self.queue.get(limit, lease=lease, timeout=0)).columns["a"].tolist()
        )
        return found

    async def asked(self) -> list[str]:
        """The names of the layout's statements since the last call."""
        # Loggers are told of a statement at the latest when another one follows.
        await self.queue.pool.fetchval("SELECT 1")
        names = ("lease", "take", "next_ready", "line_up")
        known = {getattr(self.queue.layout, name): name for name in names}
        known["DISCARD PLANS"] = "DISCARD PLANS"
        found = [known[statement] for statement in self._statements if statement in known]
        self._statements.clear()
        return found


@pytest.fixture
async def watched(
    dsn: str, queue: jobs.Queue, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Watched]:
    # However slow the machine is.
    monkeypatch.setattr(getting, "_SLOW_S", math.inf)
    statements: list[str] = []

    def note(record: colonnade.LoggedQuery) -> None:
        statements.append(record.query)

    async def listen(connection: colonnade.Connection) -> None:
        connection.add_query_logger(note)

    async with colonnade.create_pool(dsn, min_size=1, max_size=1, setup=listen) as pool:
        yield Watched(await jobs.open_queue(pool, queue.definition.name), statements)


async def test_one_statement_gets_where_nothing_has_to_get_in_line(
    queue: jobs.Queue, watched: Watched
) -> None:
    await queue.add({"a": [0]}, delay=3600)
    await queue.add({"a": [1, 2]})
    assert await watched.got(1) == [1]
    assert await watched.asked() == ["lease"]
    assert await watched.got(lease=None) == [2]
    assert await watched.asked() == ["take"]
    assert await watched.got() == []
    assert await watched.asked() == ["lease", "next_ready"]
    # It was in vain: the next one looks, which costs less.
    assert await watched.got() == []
    assert await watched.asked() == ["next_ready"]
    await queue.add({"a": [3]})
    assert await watched.got() == [3]
    assert await watched.asked() == ["next_ready", "lease"]


async def test_a_slow_get_lets_plans_be_made_anew(
    queue: jobs.Queue, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan for a table that was nearly empty reads all of it, until vacuum comes."""
    await queue.add({"a": np.arange(30)})
    assert len(await watched.got(10)) == 10
    assert await watched.asked() == ["lease"]
    monkeypatch.setattr(getting, "_SLOW_S", 0.0)
    assert len(await watched.got(10)) == 10
    assert await watched.asked() == ["lease", "DISCARD PLANS"]
    # Not each time.
    assert len(await watched.got(10)) == 10
    assert await watched.asked() == ["lease"]


async def test_one_whose_time_has_come_is_first_beside_a_backlog(
    pool: colonnade.Pool, queue: jobs.Queue, watched: Watched, layout: LayoutName
) -> None:
    await queue.add({"a": [0]}, delay=3600, priority=-1)
    await queue.add({"a": [1, 2]})
    assert await watched.got(1) == [1]
    await pool.execute(f"UPDATE jobs.{TABLE[layout]} SET {COME} WHERE job_priority = -1")
    await watched.asked()
    assert await watched.got(1) == [0]
    assert await watched.asked() == ["lease", "next_ready", "line_up", "lease"]
    assert await watched.got() == [2]
    assert await watched.asked() == ["lease"]


@pytest.mark.parametrize("lease", [60.0, None])
async def test_one_that_is_locked_keeps_no_others(
    pool: colonnade.Pool, queue: jobs.Queue, layout: LayoutName, lease: float | None
) -> None:
    await queue.add({"a": [0]}, delay=3600)
    await queue.add({"a": [1, 2]})
    await pool.execute(
        f"UPDATE jobs.{TABLE[layout]} SET {COME} WHERE job_waits_until > '-infinity'"
    )
    async with pool.acquire() as other, other.transaction():
        await other.execute(
            f"SELECT FROM jobs.{TABLE[layout]} WHERE job_waits_until > '-infinity' FOR UPDATE"
        )
        assert (await queue.get(timeout=0, lease=lease)).columns["a"].tolist() == [1, 2]
    assert (await queue.get(timeout=0, lease=lease)).columns["a"].tolist() == [0]


# async-only: begin
async def test_the_clock_finds_one_behind_many_that_are_held(
    monkeypatch: pytest.MonkeyPatch, pool: colonnade.Pool, layout: LayoutName
) -> None:
    monkeypatch.setattr(base, "LOOKED_AT", 3)
    queue = await jobs.create_queue(
        pool, "work", {"a": "int8"}, layout=layout, poll=0.05, notify=False
    )
    for number in range(5):
        await queue.add({"a": [number]})
    assert len(await queue.get(lease=3600)) == 5
    task = asyncio.create_task(queue.get(timeout=60))
    while not await pool.fetchval("SELECT count(*) FROM pg_stat_activity WHERE query ~ '^LISTEN'"):
        pass
    await queue.add({"a": [5]})
    assert (await task).columns["a"].tolist() == [5]


# async-only: end
async def test_an_expired_one_becomes_a_dead_letter_at_its_time(
    pool: colonnade.Pool, queue: jobs.Queue, layout: LayoutName
) -> None:
    await queue.add({"a": [0]}, delay=3600, ttl=60)
    await pool.execute(f"UPDATE jobs.{TABLE[layout]} SET {COME}, job_expires_at = '-infinity'")
    assert not await queue.get(timeout=0)
    await queue.sweep()
    queue._next_sweep = 0.0
    await queue.sweep()
    assert (await queue.dead()).to_pydict()["job_reason"] == ["expired"]
