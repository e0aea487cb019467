"""The layout segments: ranges are cut, noted and moved, and slots are emptied."""

from __future__ import annotations

# async-only: begin
import asyncio

# async-only: end
from typing import Any

import numpy as np
import pytest

import colonnade
from colonnade import jobs
from colonnade.jobs._layouts import segments_ring

DEAD = """
SELECT coalesce(sum(pg_stat_get_dead_tuples(c.oid)), 0)::int8 FROM pg_class AS c
 WHERE c.relnamespace = 'jobs'::regnamespace AND c.relkind = 'r'
"""
SIZES = """
SELECT coalesce(sum(pg_relation_size(format('jobs.work_%s%s', kind, slot)::regclass)), 0)::int8
 FROM unnest(ARRAY['s', 'r']) AS kind, generate_series(0, 7) AS slot
"""


@pytest.fixture
async def queue(pool: colonnade.Pool) -> jobs.Queue:
    """A queue with three attempts without a pause."""
    retry = jobs.Retry(max_attempts=3, delay=0)
    return await jobs.create_queue(
        pool, "work", {"a": "int8", "b": "text"}, retry=retry, layout="segments"
    )


async def keep_up(queue: jobs.Queue) -> None:
    """Do the chores now."""
    queue._next_sweep = 0.0
    queue._upkeep._postponed.clear()
    await queue.sweep()


async def turn(pool: colonnade.Pool) -> None:
    """Add to the next slot from now on."""
    await pool.execute("UPDATE jobs.work_ring SET slot = (slot + 1) % 8")


async def ranges(pool: colonnade.Pool) -> list[tuple[Any, ...]]:
    """First and last id, and number of jobs, of each range."""
    rows = await pool.fetch_plain(
        "SELECT job_first, job_last, job_count FROM jobs.work_r ORDER BY job_add, job_first"
    )
    return [tuple(row) for row in rows]


async def test_jobs_are_ranges_of_a_thousand(pool: colonnade.Pool, queue: jobs.Queue) -> None:
    await queue.add({"a": np.arange(2500)})
    assert await ranges(pool) == [(1, 1000, 1000), (1001, 2000, 1000), (2001, 2500, 500)]
    batch = await queue.get(1700)
    assert batch.columns["a"].tolist() == list(range(1700))
    assert await queue.length() == 2500
    assert (await queue.stats()).leased == 1700
    await batch.ack()
    assert await ranges(pool) == [(1701, 2000, 300), (2001, 2500, 500)]


async def test_a_range_is_cut_and_keeps_its_order(queue: jobs.Queue) -> None:
    await queue.add({"a": np.arange(10)})
    first, second = await queue.get(3), await queue.get(3)
    assert second.columns["a"].tolist() == [3, 4, 5]
    await second.release()
    await first.nack(first.ids[1:], reason="no")
    assert (await queue.get(timeout=0)).columns["a"].tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    await first.ack()


async def test_what_was_acknowledged_of_a_range_stays_so(
    pool: colonnade.Pool, queue: jobs.Queue
) -> None:
    await queue.add({"a": np.arange(6)})
    batch = await queue.get(lease=0.05)
    await batch.ack(batch.ids[[0, 2]])
    await batch.ack(batch.ids[[3]])
    assert await queue.length() == 3
    again = await queue.get(20, timeout=5)
    assert again.columns["a"].tolist() == [1, 4]
    assert again.attempts.tolist() == [2, 2]
    with pytest.raises(jobs.LeaseLostError) as caught:
        await batch.ack()
    # The last one had not passed on.
    assert caught.value.lost.tolist() == again.ids.tolist()
    await again.ack(again.ids[:1])
    await again.ack()
    assert await ranges(pool) == []


async def test_a_part_is_committed_or_rolled_back(pool: colonnade.Pool, queue: jobs.Queue) -> None:
    await queue.add({"a": np.arange(5)})
    batch = await queue.get()
    async with pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await batch.commit(connection, batch.ids[:2])
        await transaction.rollback()
        async with connection.transaction():
            await batch.commit(connection, batch.ids[1:3])
    assert await queue.length() == 3
    await batch.ack()
    assert await queue.length() == 1
    await batch.ack(batch.ids[:1])
    assert await queue.length() == 0


async def test_some_jobs_are_released_and_others_extended(queue: jobs.Queue) -> None:
    await queue.add({"a": np.arange(5)})
    batch = await queue.get()
    await batch.release(batch.ids[:2])
    assert batch.held.tolist() == batch.ids[2:].tolist()
    await batch.extend(30, batch.ids[3:])
    again = await queue.get(timeout=0)
    assert again.columns["a"].tolist() == [0, 1]
    assert again.attempts.tolist() == [1, 1]
    await batch.ack()
    await again.ack()
    assert await queue.length() == 0


async def test_a_job_that_failed_keeps_id_place_and_history(
    pool: colonnade.Pool, queue: jobs.Queue
) -> None:
    await queue.add({"a": np.arange(4), "b": ["w", "x", None, "z"]}, trace="t", ttl=60)
    batch = await queue.get(3)
    ids = batch.ids.tolist()
    await turn(pool)
    await batch.nack(batch.ids[[2, 0]], reason=["two", "zero"])
    await batch.ack()
    again = await queue.get(timeout=0)
    shown = again.columns.to_pydict()
    assert shown["job_id"] == [ids[0], ids[2], 4]
    assert shown["b"] == ["w", None, "z"]
    assert shown["job_trace"] == ["t"] * 3
    assert again.attempts.tolist() == [2, 2, 1]
    await again.nack(reason="once more")
    peeked = (await queue.peek()).to_pydict()
    assert peeked["job_errors"] == [["zero", "once more"], ["two", "once more"], ["once more"]]
    assert all(peeked["job_expires_at"])


async def test_jobs_that_are_taken_are_gone(pool: colonnade.Pool, queue: jobs.Queue) -> None:
    await queue.add({"a": np.arange(5)})
    assert (await queue.get(3, lease=None)).columns["a"].tolist() == [0, 1, 2]
    assert await ranges(pool) == [(4, 5, 2)]
    assert (await queue.get(3, lease=None)).columns["a"].tolist() == [3, 4]
    assert await ranges(pool) == []


async def test_the_values_beside_jobs_make_ranges(pool: colonnade.Pool, queue: jobs.Queue) -> None:
    table = {"a": np.arange(3000)}
    await queue.add(
        table, priority=np.arange(3000) % 2, delay=np.where(np.arange(3000) < 2000, 0, 60)
    )
    assert [row[2] for row in await ranges(pool)] == [1000, 500, 1000, 500]
    batch = await queue.get(3000)
    assert batch.columns["a"].tolist() == [*range(0, 2000, 2), *range(1, 2000, 2)]


async def test_a_hundred_thousand_at_once(queue: jobs.Queue) -> None:
    await queue.add({"a": np.arange(100_000)})
    batch = await queue.get(100_000)
    assert len(batch) == 100_000
    await batch.ack(batch.ids[::2])
    await batch.nack(batch.ids[1:20_000:2], reason="no")
    await batch.ack()
    again = await queue.get(100_000, timeout=0)
    assert again.columns["a"].tolist() == list(range(1, 20_000, 2))
    await again.ack()
    assert await queue.length() == 0


# The ring


async def test_what_is_done_is_truncated(
    pool: colonnade.Pool, queue: jobs.Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments_ring, "_JOBS_BYTES", 1)
    for _ in range(20):
        await queue.add({"a": np.arange(1000)})
        await (await queue.get(timeout=0)).ack()
        await keep_up(queue)
    await keep_up(queue)
    # Only the slot that is added to now may have something.
    assert await pool.fetchval(SIZES) < 200_000
    assert await queue.length() == 0


async def test_an_idle_slot_is_emptied_after_a_while(
    pool: colonnade.Pool, queue: jobs.Queue
) -> None:
    await queue.add({"a": np.arange(1000)})
    await (await queue.get(timeout=0)).ack()
    await keep_up(queue)
    assert await pool.fetchval(SIZES) > 0
    await pool.execute("UPDATE jobs.work_ring SET turned_at = now() - interval '2 minutes'")
    await keep_up(queue)
    await keep_up(queue)
    assert await pool.fetchval(SIZES) == 0


async def test_a_held_snapshot_does_not_keep_the_dead(
    pool: colonnade.Pool, queue: jobs.Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments_ring, "_JOBS_BYTES", 1)
    async with pool.acquire() as other, other.transaction(isolation="repeatable_read"):
        await other.fetchval("SELECT count(*) FROM pg_class")
        for _ in range(30):
            await queue.add({"a": np.arange(1000)})
            await (await queue.get(timeout=0)).ack()
            await keep_up(queue)
        await keep_up(queue)
        assert await pool.fetchval(SIZES) < 200_000
        if other.get_server_version() >= (15,):
            # Older servers count later.
            await pool.execute("SELECT pg_stat_force_next_flush()")
            assert await pool.fetchval(DEAD) <= 0.02 * 30_000


async def test_a_full_ring_goes_on(
    pool: colonnade.Pool, queue: jobs.Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments_ring, "_JOBS_BYTES", 1)
    for number in range(8):
        await queue.add({"a": [number]}, delay=3600)
        await keep_up(queue)
    current = await pool.fetchval("SELECT slot FROM jobs.work_ring")
    for number in range(10):
        await queue.add({"a": [100 + number]})
        await keep_up(queue)
        assert (await queue.get(timeout=0)).columns["a"].tolist() == [100 + number]
        assert await pool.fetchval("SELECT slot FROM jobs.work_ring") == current
    await queue.purge()
    await keep_up(queue)
    await queue.add({"a": [1]})
    await keep_up(queue)
    assert await pool.fetchval("SELECT slot FROM jobs.work_ring") != current
    assert await queue.length() == 1


async def test_an_adder_that_has_not_committed_keeps_its_slot(
    pool: colonnade.Pool, queue: jobs.Queue
) -> None:
    await queue.add({"a": [1]})
    await (await queue.get()).ack()
    async with pool.acquire() as connection, connection.transaction():
        await queue.add({"a": [2]}, connection=connection)
        await turn(pool)
        # It has no ranges that anyone sees, but it cannot be locked.
        await keep_up(queue)
    await keep_up(queue)
    assert (await queue.get(timeout=0)).columns["a"].tolist() == [2]


async def test_an_adder_may_have_read_the_ring_before_it_turned(
    pool: colonnade.Pool, queue: jobs.Queue
) -> None:
    await queue.add({"a": [1]})
    await (await queue.get()).ack()
    async with pool.acquire() as connection:
        transaction = connection.transaction(isolation="repeatable_read")
        await transaction.start()
        # The snapshot of its transaction shows it the slot of before.
        assert await connection.fetchval("SELECT slot FROM jobs.work_ring") == 0
        await turn(pool)
        await keep_up(queue)
        assert await pool.fetchval(SIZES) == 0
        await queue.add({"a": [2]}, connection=connection)
        await transaction.commit()
    assert await pool.fetchval("SELECT count(*) FROM jobs.work_s0") == 1
    await keep_up(queue)
    assert (await queue.get(timeout=0)).columns["a"].tolist() == [2]


# async-only: begin
async def test_a_truncation_that_has_waited_for_an_adder_looks_again(
    pool: colonnade.Pool, queue: jobs.Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments_ring, "_LOCK_MS", 20_000)
    await queue.add({"a": [1]})
    await (await queue.get()).ack()
    async with pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await queue.add({"a": [2]}, connection=connection)
        await turn(pool)
        task = asyncio.create_task(keep_up(queue))
        async with asyncio.timeout(20):
            while not await connection.fetchval(  # noqa: ASYNC110 - the server does not say it
                "SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'"
            ):
                await asyncio.sleep(0.01)
        await transaction.commit()
        await task
    assert (await queue.get(timeout=5)).columns["a"].tolist() == [2]


async def test_adders_and_workers_race_the_ring(
    dsn: str, queue: jobs.Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments_ring, "_JOBS_BYTES", 1)
    done: list[int] = []
    async with colonnade.create_pool(dsn, min_size=1, max_size=6) as pool:

        async def add(first: int) -> None:
            mine = await jobs.open_queue(pool, "work")
            for start in range(first, first + 3000, 100):
                await mine.add({"a": np.arange(start, start + 100)})

        async def work() -> None:
            mine = await jobs.open_queue(pool, "work")
            while len(done) < 9000:
                batch = await mine.get(70, timeout=0.05)
                done.extend(batch.columns["a"].tolist())
                await batch.ack()
                await keep_up(mine)

        async with asyncio.timeout(120):
            await asyncio.gather(*(add(first) for first in (0, 3000, 6000)), work(), work())
    assert sorted(done) == list(range(9000))
    assert await queue.length() == 0


# async-only: end


async def test_a_table_with_a_name_of_the_queue_is_not_touched(pool: colonnade.Pool) -> None:
    await jobs.create_queue(pool, "mail_s0", {"a": "int8"})
    with pytest.raises(jobs.QueueDefinitionError, match="needs the name of a table"):
        await jobs.create_queue(pool, "mail", {"a": "int8"}, layout="segments")
    assert [info.name for info in await jobs.list_queues(pool)] == ["mail_s0"]


async def test_a_payload_may_have_the_names_of_the_sql(pool: colonnade.Pool) -> None:
    names = ("id", "ids", "n", "t", "w", "j", "r", "reason", "pause", "slot", "got", "again", "k")
    queue = await jobs.create_queue(pool, "work", dict.fromkeys(names, "text"), layout="segments")
    table = {name: [f"{name} 1", f"{name} 2"] for name in names}
    await queue.add(table)
    await queue.add(table, priority=[1, 2], ttl=60)
    batch = await queue.get(3)
    await batch.nack(batch.ids[:1], reason="no", delay=0)
    await batch.release(batch.ids[1:2])
    await batch.ack()
    assert (await queue.peek()).to_pydict()["ids"] == ["ids 1", "ids 2", "ids 2"]
    for _ in range(20):
        await (await queue.get(timeout=0)).nack(reason="dead", delay=0)
    await queue.sweep()
    letters = (await queue.dead()).to_pydict()
    assert letters["reason"] == ["reason 1", "reason 2", "reason 2"]
    assert await queue.requeue() == 3
    assert len(await queue.get(timeout=0, lease=None)) == 3


@pytest.mark.parametrize("name", ["job_slot", "job_done", "job_first"])
def test_own_columns_of_ranges_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="queue's own"):
        jobs.queue_ddl("q", {name: "int8"}, layout="segments")


def test_an_unknown_layout_is_refused() -> None:
    layout: Any = "columns"
    with pytest.raises(ValueError, match='"rows" or "segments"'):
        jobs.queue_ddl("q", {"a": "int8"}, layout=layout)
