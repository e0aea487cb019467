# Generated from tests/jobs/async/test_again.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""`on_conflict="again"`: another job beside one that a worker holds, handed out after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from colonnade.errors import InterfaceError
from colonnade.jobs import sync as jobs

if TYPE_CHECKING:
    import colonnade

AGAIN: Any = {"key": "a", "on_conflict": "again"}


@pytest.fixture
def queue(pool: colonnade.sync.Pool) -> jobs.Queue:
    """A queue with two attempts."""
    retry = jobs.Retry(max_attempts=2, delay=0)
    return jobs.create_queue(pool, "w", {"a": "int8", "b": "text"}, retry=retry, poll=3600)


def got(queue: jobs.Queue) -> list[str]:
    """What is handed out now, and is done."""
    batch = queue.get(timeout=0)
    batch.ack()
    found: list[str] = batch.columns["b"].tolist()
    return found


def test_a_job_that_waits_is_left_alone(queue: jobs.Queue) -> None:
    assert queue.add([(1, "x"), (1, "y"), (2, "z")], **AGAIN) == 2
    assert queue.add([(1, "w")], **AGAIN) == 0
    assert got(queue) == ["x", "z"]


def test_beside_a_leased_one_another_waits(queue: jobs.Queue) -> None:
    queue.add([(1, "x"), (2, "other")], **AGAIN)
    batch = queue.get(1, timeout=0)
    assert queue.add([(1, "y"), (2, "no"), (3, "new")], **AGAIN) == 2
    assert queue.add([(1, "z")], **AGAIN) == 0
    assert queue.add([(1, "z")], key="a") == 0
    stats = queue.stats()
    assert (stats.total, stats.ready, stats.leased, stats.delayed) == (4, 2, 1, 1)
    assert (queue.peek()).to_pydict()["job_key"].count("1") == 2
    assert got(queue) == ["other", "new"]
    batch.ack()
    assert got(queue) == ["y"]
    assert queue.length() == 0


def test_a_job_that_failed_is_tried_before_it(queue: jobs.Queue) -> None:
    queue.add([(1, "x")], **AGAIN)
    batch = queue.get(timeout=0)
    queue.add([(1, "y")], **AGAIN)
    batch.release()
    batch = queue.get(timeout=0)
    assert batch.columns["b"].tolist() == ["x"]
    batch.nack()
    batch = queue.get(timeout=0)
    assert batch.columns["b"].tolist() == ["x"]
    batch.nack()
    assert (queue.stats()).dead == 1
    assert got(queue) == ["y"]


def test_it_is_freed_in_the_transaction_of_commit(
    pool: colonnade.sync.Pool, queue: jobs.Queue
) -> None:
    queue.add([(1, "x")], **AGAIN)
    batch = queue.get(timeout=0)
    queue.add([(1, "y")], delay=3600, **AGAIN)
    with pool.acquire() as connection, connection.transaction():
        batch.commit(connection)
    assert pool.fetchval("SELECT job_after IS NULL FROM jobs.w WHERE job_key = '1'")
    assert not queue.get(timeout=0)
    pool.execute("UPDATE jobs.w SET job_ready_at = now(), job_waits_until = now()")
    assert got(queue) == ["y"]


def test_a_lease_that_ended_counts_as_held(pool: colonnade.sync.Pool, queue: jobs.Queue) -> None:
    queue.add([(1, "x")], **AGAIN)
    late = queue.get(timeout=0)
    pool.execute("UPDATE jobs.w SET job_ready_at = '-infinity'")
    # The late worker may have read what the adder has changed since, and still acknowledges.
    assert queue.add([(1, "y")], **AGAIN) == 1
    late.ack()
    assert got(queue) == ["y"]


def test_whoever_sweeps_frees_what_others_forgot(
    pool: colonnade.sync.Pool, queue: jobs.Queue
) -> None:
    queue.add([(1, "x")], **AGAIN)
    queue.get(timeout=0)
    queue.add([(1, "y")], **AGAIN)
    pool.execute("DELETE FROM jobs.w WHERE job_key = '1'")
    queue._next_sweep = 0.0
    assert got(queue) == ["y"]


def test_one_that_waits_is_handed_out_after_the_transaction(
    pool: colonnade.sync.Pool, queue: jobs.Queue
) -> None:
    queue.add([(1, "x")], **AGAIN)
    with pool.acquire() as connection, connection.transaction():
        assert queue.add([(1, "y")], connection=connection, **AGAIN) == 0
        # Whoever got it now would not see what the transaction has written.
        assert not queue.get(timeout=0)
    assert got(queue) == ["x"]


def test_segments_and_jobs_without_keys(pool: colonnade.sync.Pool, queue: jobs.Queue) -> None:
    segments = jobs.create_queue(pool, "s", {"a": "int8"}, layout="segments")
    with pytest.raises(InterfaceError, match="no unique keys"):
        segments.add([(1,)], **AGAIN)
    with pytest.raises(ValueError, match="needs a key"):
        queue.add([(1, "x")], on_conflict="again")
    assert queue.add([(None, "x"), (None, "y")], **AGAIN) == 2


@pytest.mark.parametrize("count", [3, 11_000])
def test_large_calls_and_long_keys(queue: jobs.Queue, count: int) -> None:
    keys = [f"{number:05d}{'k' * 5000}" for number in range(3)] + list(range(3, count))
    table = {"b": ["x"] * count}
    assert queue.add(table, key=keys, on_conflict="again") == count
    batch = queue.get(count, timeout=0)
    assert queue.add(table, key=keys, on_conflict="again") == count
    assert queue.add(table, key=keys, on_conflict="again") == 0
    batch.ack()
    assert len(queue.get(count, timeout=0)) == count
