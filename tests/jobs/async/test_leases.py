"""Leases end, pass on, and are proved by tokens; transactions of the caller."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

import colonnade
from colonnade import jobs

if TYPE_CHECKING:
    from colonnade.jobs.definition import LayoutName

SHORT_S = 0.05


async def lapsed(queue: jobs.Queue, count: int = 3) -> jobs.Batch:
    """Jobs whose lease has just ended."""
    await queue.add({"a": np.arange(count)})
    batch = await queue.get(lease=SHORT_S)
    await asyncio.sleep(SHORT_S * 2)
    return batch


async def test_a_lease_keeps_others_away(queue: jobs.Queue) -> None:
    await queue.add({"a": np.arange(10)})
    first, second = await queue.get(6), await queue.get(6)
    assert (len(first), len(second)) == (6, 4)
    assert not set(first.ids.tolist()) & set(second.ids.tolist())
    assert not await queue.get(timeout=0)
    assert (await queue.stats()).leased == 10


@pytest.mark.every_pair  # Each colour waits in its own way.
async def test_jobs_come_back_when_the_lease_ends(queue: jobs.Queue) -> None:
    await queue.add({"a": [1, 2]})
    # No look by the clock alone: the end of the lease wakes the waiting `get`.
    queue.poll = 30.0
    began = time.monotonic()
    await queue.get(lease=0.2)
    for value in (1, 2):
        # At the last attempt, each is alone.
        again = await queue.get(timeout=30)
        assert again.columns["a"].tolist() == [value]
        assert again.attempts.tolist() == [2]
    assert 0.2 <= time.monotonic() - began < 15


async def test_an_ack_after_the_lease_counts_while_nobody_took_the_jobs(queue: jobs.Queue) -> None:
    batch = await lapsed(queue)
    await batch.ack()
    assert await queue.length() == 0


async def test_an_ack_of_jobs_that_passed_on_is_refused(queue: jobs.Queue) -> None:
    batch = await lapsed(queue)
    taken = await queue.get(timeout=0)
    with pytest.raises(jobs.LeaseLostError, match="1 of 3 jobs") as caught:
        await batch.ack()
    assert caught.value.lost.tolist() == taken.ids.tolist()
    # The others were still this batch's.
    assert await queue.length() == 1
    await taken.ack()
    assert await queue.length() == 0


@pytest.mark.parametrize("verb", ["extend", "nack", "release"])
async def test_other_verbs_need_the_lease_too(queue: jobs.Queue, verb: str) -> None:
    batch = await lapsed(queue)
    taken = await queue.get(timeout=0)
    with pytest.raises(jobs.LeaseLostError, match="1 of 3 jobs"):
        await getattr(batch, verb)()
    await taken.ack()


async def test_the_error_says_each_id_once(queue: jobs.Queue) -> None:
    batch = await lapsed(queue)
    await queue.get(timeout=0)
    with pytest.raises(jobs.LeaseLostError):
        await batch.ack()
    # Jobs that are known to be lost are not asked for again.
    assert len(batch.held) == 0
    await batch.ack()


async def test_jobs_whose_leases_end_come_in_smaller_batches(
    pool: colonnade.Pool, layout: LayoutName
) -> None:
    """One of them may end its worker, and it takes fewer others along each time."""
    retry = jobs.Retry(max_attempts=4, delay=0)
    queue = await jobs.create_queue(pool, "poison", {"a": "int8"}, retry=retry, layout=layout)
    await queue.add({"a": np.arange(300)})
    table = "poison" if layout == "rows" else "poison_r"
    for size in (200, 20, 2, 1):
        batch = await queue.get(200)
        assert batch.columns["a"].tolist() == list(range(size))
        assert batch.is_alone == (batch.attempts[0] == 4)
        # A batch that was not begun is given back without a trace.
        await batch.release()
        batch = await queue.get(200)
        assert batch.columns["a"].tolist() == list(range(size))
        if not batch.is_alone:
            await pool.execute(f"UPDATE jobs.{table} SET job_ready_at = now()")
    await batch.nack(reason="no")
    assert (await queue.dead())["a"].tolist() == [0]
    assert (await queue.get(200)).columns["a"].tolist() == [1]
    assert (await queue.get(201)).columns["a"].tolist() == [2, 3]


async def test_no_limit_leaves_lost_jobs_behind(pool: colonnade.Pool, layout: LayoutName) -> None:
    """Where a batch has room for a fraction of a job, it has the whole ones."""
    retry = jobs.Retry(max_attempts=9, delay=0)
    queue = await jobs.create_queue(pool, "poison", {"a": "int8"}, retry=retry, layout=layout)
    await queue.add({"a": np.arange(30)})
    await queue.get()
    table = "poison" if layout == "rows" else "poison_r"
    await pool.execute(f"UPDATE jobs.{table} SET job_ready_at = now()")
    for limit, count in ((28, 2), (9, 1), (1, 1), (15, 1), (1000, 25)):
        assert len(await queue.get(limit, timeout=0)) == count


async def test_jobs_that_failed_come_together(pool: colonnade.Pool, layout: LayoutName) -> None:
    retry = jobs.Retry(max_attempts=3, delay=0)
    queue = await jobs.create_queue(pool, "failing", {"a": "int8"}, retry=retry, layout=layout)
    await queue.add({"a": np.arange(100)})
    for attempt in (1, 2, 3):
        batch = await queue.get()
        assert batch.attempts.tolist() == [attempt] * 100
        assert not batch.is_alone
        await batch.nack()
    assert len(await queue.dead()) == 100


async def test_extension_holds_the_jobs(queue: jobs.Queue) -> None:
    await queue.add({"a": [1]})
    batch = await queue.get(lease=0.2)
    until = batch.until
    await batch.extend(30)
    assert until is not None
    assert batch.until is not None
    assert batch.until > until
    await asyncio.sleep(0.3)
    assert not await queue.get(timeout=0)
    await batch.ack()


async def test_a_job_whose_workers_vanish_becomes_a_dead_letter(queue: jobs.Queue) -> None:
    await lapsed(queue)
    for _ in range(3):
        await queue.get(timeout=0, lease=SHORT_S)
    await asyncio.sleep(SHORT_S * 2)
    queue._next_sweep = 0.0
    assert not await queue.get(timeout=0)
    dead = (await queue.dead()).to_pydict()
    assert dead["job_reason"] == ["the lease ended"] * 3
    assert await queue.length() == 0


async def test_add_in_a_transaction_is_an_outbox(pool: colonnade.Pool, queue: jobs.Queue) -> None:
    async with pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        assert await queue.add({"a": [1]}, connection=connection) == 1
        assert await queue.add({"a": [2]}, connection=connection, priority=1) == 1
        assert await queue.length() == 0
        await transaction.rollback()
        assert await queue.length() == 0
        async with connection.transaction():
            await queue.add({"a": [3]}, connection=connection)
        assert (await queue.get(timeout=0)).columns["a"].tolist() == [3]
        with pytest.raises(colonnade.InterfaceError, match="open transaction"):
            await queue.add({"a": [3]}, connection=connection)


async def test_commit_is_one_with_the_results(pool: colonnade.Pool, queue: jobs.Queue) -> None:
    await pool.execute("CREATE TABLE jobs.results (a int8)")
    await queue.add({"a": [1, 2]})
    batch = await queue.get()
    async with pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await connection.copy_columns_to_table(
            "results", {"a": batch.columns["a"]}, schema_name="jobs"
        )
        await batch.commit(connection, batch.ids[:1])
        await transaction.rollback()
        assert (await queue.stats()).leased == 2
        async with connection.transaction():
            await connection.execute("INSERT INTO jobs.results VALUES (1)")
            # The rollback has undone the first one, which the batch could not see.
            await batch.commit(connection)
        assert await queue.length() == 0
        # Neither is a lost lease: the transaction has removed them.
        await batch.ack()
        await batch.nack()
        with pytest.raises(colonnade.InterfaceError, match="open transaction"):
            await batch.commit(connection)


async def test_a_lost_lease_rolls_the_results_back(pool: colonnade.Pool, queue: jobs.Queue) -> None:
    batch = await lapsed(queue)
    await queue.get(1, timeout=0)

    async def work(connection: colonnade.Connection) -> None:
        async with connection.transaction():
            await connection.execute("CREATE TABLE jobs.results ()")
            await batch.commit(connection)

    async with pool.acquire() as connection:
        with pytest.raises(jobs.LeaseLostError):
            await work(connection)
    assert await pool.fetchval("SELECT to_regclass('jobs.results')") is None
    assert await queue.length() == 3


async def test_commit_refuses_what_was_noticed_to_be_lost(
    pool: colonnade.Pool, queue: jobs.Queue
) -> None:
    batch = await lapsed(queue)
    other = await queue.get(1)
    # As a consumer does, while the handler writes the results of all jobs.
    with pytest.raises(jobs.LeaseLostError, match="1 of 3 jobs"):
        await batch.extend()
    with pytest.raises(jobs.LeaseLostError, match="1 of 3 jobs") as caught:
        async with pool.acquire() as connection, connection.transaction():
            await batch.commit(connection)
    assert caught.value.lost.tolist() == other.ids.tolist()
    async with pool.acquire() as connection, connection.transaction():
        await batch.commit(connection, batch.held)
    await other.ack()
    assert await queue.length() == 0


async def test_a_snapshot_older_than_the_lease_cannot_commit(
    pool: colonnade.Pool, queue: jobs.Queue
) -> None:
    await queue.add({"a": [1]})
    batches = []

    async def work(connection: colonnade.Connection) -> None:
        async with connection.transaction(isolation="repeatable_read"):
            await connection.fetchval("SELECT 1")
            batches.append(await queue.get())
            await batches[0].commit(connection)

    async with pool.acquire() as connection:
        with pytest.raises((jobs.LeaseLostError, colonnade.errors.SerializationError)):
            await work(connection)
        async with connection.transaction(isolation="repeatable_read"):
            await batches[0].commit(connection)
    assert await queue.length() == 0


async def test_queues_work_where_repeatable_read_is_the_default(
    dsn: str, layout: LayoutName
) -> None:
    settings = {"default_transaction_isolation": "repeatable read"}
    async with colonnade.create_pool(
        dsn, min_size=1, max_size=2, server_settings=settings
    ) as strict:
        try:
            queue = await jobs.create_queue(strict, "strict", {"a": "int8"}, layout=layout)
            await queue.add({"a": [1, 2]})
            await (await queue.get(1)).ack()
            await (await queue.get(1)).ack()
            assert await queue.length() == 0
        finally:
            await strict.execute("DROP SCHEMA IF EXISTS jobs CASCADE")
