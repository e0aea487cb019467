# Generated from tests/jobs/async/test_leases.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Leases end, pass on, and are proved by tokens; transactions of the caller."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

import colonnade
from colonnade.jobs import sync as jobs

if TYPE_CHECKING:
    from colonnade.jobs.definition import LayoutName

SHORT_S = 0.05


def lapsed(queue: jobs.Queue, count: int = 3) -> jobs.Batch:
    """Jobs whose lease has just ended."""
    queue.add({"a": np.arange(count)})
    batch = queue.get(lease=SHORT_S)
    time.sleep(SHORT_S * 2)
    return batch


def test_a_lease_keeps_others_away(queue: jobs.Queue) -> None:
    queue.add({"a": np.arange(10)})
    first, second = queue.get(6), queue.get(6)
    assert (len(first), len(second)) == (6, 4)
    assert not set(first.ids.tolist()) & set(second.ids.tolist())
    assert not queue.get(timeout=0)
    assert (queue.stats()).leased == 10


@pytest.mark.every_pair  # Each colour waits in its own way.
def test_jobs_come_back_when_the_lease_ends(queue: jobs.Queue) -> None:
    queue.add({"a": [1, 2]})
    # No look by the clock alone: the end of the lease wakes the waiting `get`.
    queue.poll = 30.0
    began = time.monotonic()
    queue.get(lease=0.2)
    for value in (1, 2):
        # At the last attempt, each is alone.
        again = queue.get(timeout=30)
        assert again.columns["a"].tolist() == [value]
        assert again.attempts.tolist() == [2]
    assert 0.2 <= time.monotonic() - began < 15


def test_an_ack_after_the_lease_counts_while_nobody_took_the_jobs(queue: jobs.Queue) -> None:
    batch = lapsed(queue)
    batch.ack()
    assert queue.length() == 0


def test_an_ack_of_jobs_that_passed_on_is_refused(queue: jobs.Queue) -> None:
    batch = lapsed(queue)
    taken = queue.get(timeout=0)
    with pytest.raises(jobs.LeaseLostError, match="1 of 3 jobs") as caught:
        batch.ack()
    assert caught.value.lost.tolist() == taken.ids.tolist()
    # The others were still this batch's.
    assert queue.length() == 1
    taken.ack()
    assert queue.length() == 0


@pytest.mark.parametrize("verb", ["extend", "nack", "release"])
def test_other_verbs_need_the_lease_too(queue: jobs.Queue, verb: str) -> None:
    batch = lapsed(queue)
    taken = queue.get(timeout=0)
    with pytest.raises(jobs.LeaseLostError, match="1 of 3 jobs"):
        getattr(batch, verb)()
    taken.ack()


def test_the_error_says_each_id_once(queue: jobs.Queue) -> None:
    batch = lapsed(queue)
    queue.get(timeout=0)
    with pytest.raises(jobs.LeaseLostError):
        batch.ack()
    # What is known to be lost is not asked for again.
    assert len(batch.held) == 0
    batch.ack()


def test_jobs_whose_leases_end_come_in_smaller_batches(
    pool: colonnade.sync.Pool, layout: LayoutName
) -> None:
    """One of them may be what ends its worker, and it takes fewer others along each time."""
    retry = jobs.Retry(max_attempts=4, delay=0)
    queue = jobs.create_queue(pool, "poison", {"a": "int8"}, retry=retry, layout=layout)
    queue.add({"a": np.arange(300)})
    table = "poison" if layout == "rows" else "poison_r"
    for size in (200, 20, 2, 1):
        batch = queue.get(200)
        assert batch.columns["a"].tolist() == list(range(size))
        assert batch.is_alone == (batch.attempts[0] == 4)
        # What was not begun is given back as it was.
        batch.release()
        batch = queue.get(200)
        assert batch.columns["a"].tolist() == list(range(size))
        if not batch.is_alone:
            pool.execute(f"UPDATE jobs.{table} SET job_ready_at = now()")
    batch.nack(reason="no")
    assert (queue.dead())["a"].tolist() == [0]
    assert (queue.get(200)).columns["a"].tolist() == [1]
    assert (queue.get(201)).columns["a"].tolist() == [2, 3]


def test_jobs_that_failed_come_together(pool: colonnade.sync.Pool, layout: LayoutName) -> None:
    retry = jobs.Retry(max_attempts=3, delay=0)
    queue = jobs.create_queue(pool, "failing", {"a": "int8"}, retry=retry, layout=layout)
    queue.add({"a": np.arange(100)})
    for attempt in (1, 2, 3):
        batch = queue.get()
        assert batch.attempts.tolist() == [attempt] * 100
        assert not batch.is_alone
        batch.nack()
    assert len(queue.dead()) == 100


def test_extension_holds_the_jobs(queue: jobs.Queue) -> None:
    queue.add({"a": [1]})
    batch = queue.get(lease=0.2)
    until = batch.until
    batch.extend(30)
    assert until is not None
    assert batch.until is not None
    assert batch.until > until
    time.sleep(0.3)
    assert not queue.get(timeout=0)
    batch.ack()


def test_a_job_whose_workers_vanish_becomes_a_dead_letter(queue: jobs.Queue) -> None:
    lapsed(queue)
    for _ in range(3):
        queue.get(timeout=0, lease=SHORT_S)
    time.sleep(SHORT_S * 2)
    queue._next_sweep = 0.0
    assert not queue.get(timeout=0)
    dead = (queue.dead()).to_pydict()
    assert dead["job_reason"] == ["the lease ended"] * 3
    assert queue.length() == 0


def test_add_in_a_transaction_is_an_outbox(pool: colonnade.sync.Pool, queue: jobs.Queue) -> None:
    with pool.acquire() as connection:
        transaction = connection.transaction()
        transaction.start()
        assert queue.add({"a": [1]}, connection=connection) == 1
        assert queue.add({"a": [2]}, connection=connection, priority=1) == 1
        assert queue.length() == 0
        transaction.rollback()
        assert queue.length() == 0
        with connection.transaction():
            queue.add({"a": [3]}, connection=connection)
        assert (queue.get(timeout=0)).columns["a"].tolist() == [3]
        with pytest.raises(colonnade.InterfaceError, match="open transaction"):
            queue.add({"a": [3]}, connection=connection)


def test_commit_is_one_with_the_results(pool: colonnade.sync.Pool, queue: jobs.Queue) -> None:
    pool.execute("CREATE TABLE jobs.results (a int8)")
    queue.add({"a": [1, 2]})
    batch = queue.get()
    with pool.acquire() as connection:
        transaction = connection.transaction()
        transaction.start()
        connection.copy_columns_to_table("results", {"a": batch.columns["a"]}, schema_name="jobs")
        batch.commit(connection, batch.ids[:1])
        transaction.rollback()
        assert (queue.stats()).leased == 2
        with connection.transaction():
            connection.execute("INSERT INTO jobs.results VALUES (1)")
            # The rollback has undone the first one, which the batch could not see.
            batch.commit(connection)
        assert queue.length() == 0
        # Neither is a lost lease: the transaction has removed them.
        batch.ack()
        batch.nack()
        with pytest.raises(colonnade.InterfaceError, match="open transaction"):
            batch.commit(connection)


def test_a_lost_lease_rolls_the_results_back(pool: colonnade.sync.Pool, queue: jobs.Queue) -> None:
    batch = lapsed(queue)
    queue.get(1, timeout=0)

    def work(connection: colonnade.sync.Connection) -> None:
        with connection.transaction():
            connection.execute("CREATE TABLE jobs.results ()")
            batch.commit(connection)

    with pool.acquire() as connection:
        with pytest.raises(jobs.LeaseLostError):
            work(connection)
    assert pool.fetchval("SELECT to_regclass('jobs.results')") is None
    assert queue.length() == 3


def test_commit_refuses_what_was_noticed_to_be_lost(
    pool: colonnade.sync.Pool, queue: jobs.Queue
) -> None:
    batch = lapsed(queue)
    other = queue.get(1)
    # As a consumer does, while the handler writes the results of all jobs.
    with pytest.raises(jobs.LeaseLostError, match="1 of 3 jobs"):
        batch.extend()
    with pytest.raises(jobs.LeaseLostError, match="1 of 3 jobs") as caught:
        with pool.acquire() as connection, connection.transaction():
            batch.commit(connection)
    assert caught.value.lost.tolist() == other.ids.tolist()
    with pool.acquire() as connection, connection.transaction():
        batch.commit(connection, batch.held)
    other.ack()
    assert queue.length() == 0


def test_a_snapshot_older_than_the_lease_cannot_commit(
    pool: colonnade.sync.Pool, queue: jobs.Queue
) -> None:
    queue.add({"a": [1]})
    batches = []

    def work(connection: colonnade.sync.Connection) -> None:
        with connection.transaction(isolation="repeatable_read"):
            connection.fetchval("SELECT 1")
            batches.append(queue.get())
            batches[0].commit(connection)

    with pool.acquire() as connection:
        with pytest.raises((jobs.LeaseLostError, colonnade.errors.SerializationError)):
            work(connection)
        with connection.transaction(isolation="repeatable_read"):
            batches[0].commit(connection)
    assert queue.length() == 0


def test_queues_work_where_repeatable_read_is_the_default(dsn: str, layout: LayoutName) -> None:
    settings = {"default_transaction_isolation": "repeatable read"}
    with colonnade.sync.create_pool(
        dsn, min_size=1, max_size=2, server_settings=settings
    ) as strict:
        try:
            queue = jobs.create_queue(strict, "strict", {"a": "int8"}, layout=layout)
            queue.add({"a": [1, 2]})
            (queue.get(1)).ack()
            (queue.get(1)).ack()
            assert queue.length() == 0
        finally:
            strict.execute("DROP SCHEMA IF EXISTS jobs CASCADE")
