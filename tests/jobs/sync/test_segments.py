# Generated from tests/jobs/async/test_segments.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""The layout segments: ranges are cut, noted and moved, and slots are emptied."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import colonnade
from colonnade.jobs import sync as jobs
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
def queue(pool: colonnade.sync.Pool) -> jobs.Queue:
    """A queue with three attempts without a pause."""
    retry = jobs.Retry(max_attempts=3, delay=0)
    return jobs.create_queue(
        pool, "work", {"a": "int8", "b": "text"}, retry=retry, layout="segments"
    )


def keep_up(queue: jobs.Queue) -> None:
    """Do the chores now."""
    queue._next_sweep = 0.0
    queue._upkeep._postponed.clear()
    queue.sweep()


def turn(pool: colonnade.sync.Pool) -> None:
    """Add to the next slot from now on."""
    pool.execute("UPDATE jobs.work_ring SET slot = (slot + 1) % 8")


def ranges(pool: colonnade.sync.Pool) -> list[tuple[Any, ...]]:
    """First and last id, and number of jobs, of each range."""
    rows = pool.fetch_plain(
        "SELECT job_first, job_last, job_count FROM jobs.work_r ORDER BY job_add, job_first"
    )
    return [tuple(row) for row in rows]


def test_jobs_are_ranges_of_a_thousand(pool: colonnade.sync.Pool, queue: jobs.Queue) -> None:
    queue.add({"a": np.arange(2500)})
    assert ranges(pool) == [(1, 1000, 1000), (1001, 2000, 1000), (2001, 2500, 500)]
    batch = queue.get(1700)
    assert batch.columns["a"].tolist() == list(range(1700))
    assert queue.length() == 2500
    assert (queue.stats()).leased == 1700
    batch.ack()
    assert ranges(pool) == [(1701, 2000, 300), (2001, 2500, 500)]


def test_a_range_is_cut_and_keeps_its_order(queue: jobs.Queue) -> None:
    queue.add({"a": np.arange(10)})
    first, second = queue.get(3), queue.get(3)
    assert second.columns["a"].tolist() == [3, 4, 5]
    second.release()
    first.nack(first.ids[1:], reason="no")
    assert (queue.get(timeout=0)).columns["a"].tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    first.ack()


def test_what_was_acknowledged_of_a_range_stays_so(
    pool: colonnade.sync.Pool, queue: jobs.Queue
) -> None:
    queue.add({"a": np.arange(6)})
    batch = queue.get(lease=0.05)
    batch.ack(batch.ids[[0, 2]])
    batch.ack(batch.ids[[3]])
    assert queue.length() == 3
    again = queue.get(20, timeout=5)
    assert again.columns["a"].tolist() == [1, 4]
    assert again.attempts.tolist() == [2, 2]
    with pytest.raises(jobs.LeaseLostError) as caught:
        batch.ack()
    # The last one had not passed on.
    assert caught.value.lost.tolist() == again.ids.tolist()
    again.ack(again.ids[:1])
    again.ack()
    assert ranges(pool) == []


def test_a_part_is_committed_or_rolled_back(pool: colonnade.sync.Pool, queue: jobs.Queue) -> None:
    queue.add({"a": np.arange(5)})
    batch = queue.get()
    with pool.acquire() as connection:
        transaction = connection.transaction()
        transaction.start()
        batch.commit(connection, batch.ids[:2])
        transaction.rollback()
        with connection.transaction():
            batch.commit(connection, batch.ids[1:3])
    assert queue.length() == 3
    batch.ack()
    assert queue.length() == 1
    batch.ack(batch.ids[:1])
    assert queue.length() == 0


def test_some_jobs_are_released_and_others_extended(queue: jobs.Queue) -> None:
    queue.add({"a": np.arange(5)})
    batch = queue.get()
    batch.release(batch.ids[:2])
    assert batch.held.tolist() == batch.ids[2:].tolist()
    batch.extend(30, batch.ids[3:])
    again = queue.get(timeout=0)
    assert again.columns["a"].tolist() == [0, 1]
    assert again.attempts.tolist() == [1, 1]
    batch.ack()
    again.ack()
    assert queue.length() == 0


def test_a_job_that_failed_keeps_id_place_and_history(
    pool: colonnade.sync.Pool, queue: jobs.Queue
) -> None:
    queue.add({"a": np.arange(4), "b": ["w", "x", None, "z"]}, trace="t", ttl=60)
    batch = queue.get(3)
    ids = batch.ids.tolist()
    turn(pool)
    batch.nack(batch.ids[[2, 0]], reason=["two", "zero"])
    batch.ack()
    again = queue.get(timeout=0)
    shown = again.columns.to_pydict()
    assert shown["job_id"] == [ids[0], ids[2], 4]
    assert shown["b"] == ["w", None, "z"]
    assert shown["job_trace"] == ["t"] * 3
    assert again.attempts.tolist() == [2, 2, 1]
    again.nack(reason="once more")
    peeked = (queue.peek()).to_pydict()
    assert peeked["job_errors"] == [["zero", "once more"], ["two", "once more"], ["once more"]]
    assert all(peeked["job_expires_at"])


def test_jobs_that_are_taken_are_gone(pool: colonnade.sync.Pool, queue: jobs.Queue) -> None:
    queue.add({"a": np.arange(5)})
    assert (queue.get(3, lease=None)).columns["a"].tolist() == [0, 1, 2]
    assert ranges(pool) == [(4, 5, 2)]
    assert (queue.get(3, lease=None)).columns["a"].tolist() == [3, 4]
    assert ranges(pool) == []


def test_the_values_beside_jobs_make_ranges(pool: colonnade.sync.Pool, queue: jobs.Queue) -> None:
    table = {"a": np.arange(3000)}
    queue.add(table, priority=np.arange(3000) % 2, delay=np.where(np.arange(3000) < 2000, 0, 60))
    assert [row[2] for row in ranges(pool)] == [1000, 500, 1000, 500]
    batch = queue.get(3000)
    assert batch.columns["a"].tolist() == [*range(0, 2000, 2), *range(1, 2000, 2)]


def test_a_hundred_thousand_at_once(queue: jobs.Queue) -> None:
    queue.add({"a": np.arange(100_000)})
    batch = queue.get(100_000)
    assert len(batch) == 100_000
    batch.ack(batch.ids[::2])
    batch.nack(batch.ids[1:20_000:2], reason="no")
    batch.ack()
    again = queue.get(100_000, timeout=0)
    assert again.columns["a"].tolist() == list(range(1, 20_000, 2))
    again.ack()
    assert queue.length() == 0


# The ring


def test_what_is_done_is_truncated(
    pool: colonnade.sync.Pool, queue: jobs.Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments_ring, "_JOBS_BYTES", 1)
    for _ in range(20):
        queue.add({"a": np.arange(1000)})
        (queue.get(timeout=0)).ack()
        keep_up(queue)
    keep_up(queue)
    # Only the slot that is added to now may have something.
    assert pool.fetchval(SIZES) < 200_000
    assert queue.length() == 0


def test_an_idle_slot_is_emptied_after_a_while(
    pool: colonnade.sync.Pool, queue: jobs.Queue
) -> None:
    queue.add({"a": np.arange(1000)})
    (queue.get(timeout=0)).ack()
    keep_up(queue)
    assert pool.fetchval(SIZES) > 0
    pool.execute("UPDATE jobs.work_ring SET turned_at = now() - interval '2 minutes'")
    keep_up(queue)
    keep_up(queue)
    assert pool.fetchval(SIZES) == 0


def test_a_held_snapshot_does_not_keep_the_dead(
    pool: colonnade.sync.Pool, queue: jobs.Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments_ring, "_JOBS_BYTES", 1)
    with pool.acquire() as other, other.transaction(isolation="repeatable_read"):
        other.fetchval("SELECT count(*) FROM pg_class")
        for _ in range(30):
            queue.add({"a": np.arange(1000)})
            (queue.get(timeout=0)).ack()
            keep_up(queue)
        keep_up(queue)
        assert pool.fetchval(SIZES) < 200_000
        if other.get_server_version() >= (15,):
            # Older servers count later.
            pool.execute("SELECT pg_stat_force_next_flush()")
            assert pool.fetchval(DEAD) <= 0.02 * 30_000


def test_a_full_ring_goes_on(
    pool: colonnade.sync.Pool, queue: jobs.Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments_ring, "_JOBS_BYTES", 1)
    for number in range(8):
        queue.add({"a": [number]}, delay=3600)
        keep_up(queue)
    current = pool.fetchval("SELECT slot FROM jobs.work_ring")
    for number in range(10):
        queue.add({"a": [100 + number]})
        keep_up(queue)
        assert (queue.get(timeout=0)).columns["a"].tolist() == [100 + number]
        assert pool.fetchval("SELECT slot FROM jobs.work_ring") == current
    queue.purge()
    keep_up(queue)
    queue.add({"a": [1]})
    keep_up(queue)
    assert pool.fetchval("SELECT slot FROM jobs.work_ring") != current
    assert queue.length() == 1


def test_an_adder_that_has_not_committed_keeps_its_slot(
    pool: colonnade.sync.Pool, queue: jobs.Queue
) -> None:
    queue.add({"a": [1]})
    (queue.get()).ack()
    with pool.acquire() as connection, connection.transaction():
        queue.add({"a": [2]}, connection=connection)
        turn(pool)
        # It has no ranges that anyone sees, but it cannot be locked.
        keep_up(queue)
    keep_up(queue)
    assert (queue.get(timeout=0)).columns["a"].tolist() == [2]


def test_an_adder_may_have_read_the_ring_before_it_turned(
    pool: colonnade.sync.Pool, queue: jobs.Queue
) -> None:
    queue.add({"a": [1]})
    (queue.get()).ack()
    with pool.acquire() as connection:
        transaction = connection.transaction(isolation="repeatable_read")
        transaction.start()
        # The snapshot of its transaction shows it the slot of before.
        assert connection.fetchval("SELECT slot FROM jobs.work_ring") == 0
        turn(pool)
        keep_up(queue)
        assert pool.fetchval(SIZES) == 0
        queue.add({"a": [2]}, connection=connection)
        transaction.commit()
    assert pool.fetchval("SELECT count(*) FROM jobs.work_s0") == 1
    keep_up(queue)
    assert (queue.get(timeout=0)).columns["a"].tolist() == [2]


def test_a_table_with_a_name_of_the_queue_is_not_touched(pool: colonnade.sync.Pool) -> None:
    jobs.create_queue(pool, "mail_s0", {"a": "int8"})
    with pytest.raises(jobs.QueueDefinitionError, match="needs the name of a table"):
        jobs.create_queue(pool, "mail", {"a": "int8"}, layout="segments")
    assert [info.name for info in jobs.list_queues(pool)] == ["mail_s0"]


def test_a_payload_may_have_the_names_of_the_sql(pool: colonnade.sync.Pool) -> None:
    names = ("id", "ids", "n", "t", "w", "j", "r", "reason", "pause", "slot", "got", "again", "k")
    queue = jobs.create_queue(pool, "work", dict.fromkeys(names, "text"), layout="segments")
    table = {name: [f"{name} 1", f"{name} 2"] for name in names}
    queue.add(table)
    queue.add(table, priority=[1, 2], ttl=60)
    batch = queue.get(3)
    batch.nack(batch.ids[:1], reason="no", delay=0)
    batch.release(batch.ids[1:2])
    batch.ack()
    assert (queue.peek()).to_pydict()["ids"] == ["ids 1", "ids 2", "ids 2"]
    for _ in range(20):
        (queue.get(timeout=0)).nack(reason="dead", delay=0)
    queue.sweep()
    letters = (queue.dead()).to_pydict()
    assert letters["reason"] == ["reason 1", "reason 2", "reason 2"]
    assert queue.requeue() == 3
    assert len(queue.get(timeout=0, lease=None)) == 3


@pytest.mark.parametrize("name", ["job_slot", "job_done", "job_first"])
def test_own_columns_of_ranges_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="queue's own"):
        jobs.queue_ddl("q", {name: "int8"}, layout="segments")
    # The layout rows never had them.
    jobs.queue_ddl("q", {name: "int8"})


def test_an_unknown_layout_is_refused() -> None:
    layout: Any = "columns"
    with pytest.raises(ValueError, match='"rows" or "segments"'):
        jobs.queue_ddl("q", {"a": "int8"}, layout=layout)
