# Generated from tests/jobs/async/test_publications.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Queues of a database that publishes all of its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from colonnade.jobs import sync as jobs

if TYPE_CHECKING:
    from collections.abc import Iterator

    import colonnade
    from colonnade.jobs.definition import LayoutName


@pytest.fixture
def publishing(pool: colonnade.sync.Pool) -> Iterator[colonnade.sync.Pool]:
    """A pool whose database does."""
    pool.execute("CREATE PUBLICATION jobs_everything FOR ALL TABLES")
    yield pool
    pool.execute("DROP PUBLICATION jobs_everything")


def work_off(queue: jobs.Queue) -> None:
    """Use each verb, each way of adding, and each chore."""
    queue.add({"a": np.arange(10)})
    queue.add({"a": np.arange(4)}, delay=[0, 0, 0, 3600.0], priority=1)
    batch = queue.get(6, timeout=0)
    batch.extend(30)
    batch.ack(batch.ids[:2])
    batch.nack(batch.ids[2], delay=0)
    batch.nack(batch.ids[3], delay=3600)
    batch.release(batch.ids[4])
    batch.ack()
    with queue.pool.acquire() as connection, connection.transaction():
        (queue.get(3, timeout=0)).commit(connection)
    queue.get(1, lease=None, timeout=0)
    while batch := queue.get(timeout=0):
        batch.nack(delay=0)
    assert queue.requeue() > 0
    queue.purge()
    # The chores: the slot turns, and is emptied.
    for _ in range(2):
        queue._next_sweep = 0.0
        queue.sweep()
    assert queue.length() == 0


def test_every_verb(
    publishing: colonnade.sync.Pool, layout: LayoutName, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("colonnade.jobs._layouts.segments_ring._IDLE_S", 0.0)
    retry = jobs.Retry(max_attempts=2, delay=0)
    queue = jobs.create_queue(publishing, "w", {"a": "int8"}, retry=retry, layout=layout)
    work_off(queue)
    if layout == "rows":
        queue.add({"a": [1]}, key="a")
        queue.add({"a": [1]}, key="a", on_conflict="replace")
    else:
        assert publishing.fetchval("SELECT slot FROM jobs.w_ring") > 0
    jobs.drop_queue(publishing, "w")


def test_every_table_that_changes_says_which_rows(
    pool: colonnade.sync.Pool, layout: LayoutName
) -> None:
    jobs.create_queue(pool, "w", {"a": "int8"}, layout=layout)
    without = pool.fetchval(
        "SELECT array_agg(relname::text ORDER BY relname) FROM pg_class AS c"
        " WHERE relnamespace = 'jobs'::regnamespace AND relkind = 'r' AND relpersistence = 'p'"
        " AND NOT EXISTS (SELECT FROM pg_index WHERE indrelid = c.oid AND indisprimary)"
    )
    # Jobs of segments are never changed or deleted.
    assert without == (None if layout == "rows" else [f"w_s{number}" for number in range(8)])
