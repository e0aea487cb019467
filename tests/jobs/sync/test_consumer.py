# Generated from tests/jobs/async/test_consumer.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""The loop of a worker: nothing is acknowledged that was not done, and nothing is lost."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import colonnade
from colonnade.jobs import sync as jobs
from colonnade.jobs._sync.batch import ack_together
from colonnade.jobs._tasks.threads import Signal

# A worker is tasks or threads, and each has its own way to stop.
pytestmark = pytest.mark.every_pair


def test_drain_does_every_job_once(queue: jobs.Queue) -> None:
    queue.add({"a": np.arange(1000)})
    seen: list[int] = []

    def handler(batch: jobs.Batch) -> None:
        seen.extend(batch.columns["a"].tolist())

    queue.consume(handler, limit=70, concurrency=2).drain()
    assert sorted(seen) == list(range(1000))
    assert queue.length() == 0


def test_a_handler_that_raises_gives_its_jobs_back(queue: jobs.Queue) -> None:
    queue.add({"a": [1, 2, 3]})

    def handler(batch: jobs.Batch) -> None:
        batch.ack(batch.ids[batch.columns["a"] == 1])
        raise ValueError("no\0good")

    queue.consume(handler).drain()
    assert queue.length() == 0
    dead = (queue.dead()).to_pydict()
    assert dead["a"] == [2, 3]
    for errors in dead["job_errors"]:
        assert [error.split(" | ")[0] for error in errors] == ["ValueError: no\\0good"]


def test_small_batches_are_acknowledged_together(queue: jobs.Queue) -> None:
    queue.add({"a": np.arange(300)})
    seen: list[int] = []

    def handler(batch: jobs.Batch) -> None:
        seen.extend(batch.columns["a"].tolist())
        if batch.columns["a"][0] == 7:
            batch.nack(reason="once", delay=0)

    queue.consume(handler, limit=1, concurrency=4, prefetch=4).drain()
    assert sorted(seen) == sorted([*range(300), 7])
    assert (queue.stats()).total == 0


def test_a_lost_lease_is_of_its_batch_alone(queue: jobs.Queue) -> None:
    queue.add({"a": np.arange(5)})
    late, first = queue.get(3), queue.get(2)
    late.extend(0.05)
    passed_on = queue.get(2, timeout=5)
    assert passed_on.columns["a"].tolist() == [0]
    locked, lost = ack_together([late, first, passed_on])
    assert not locked
    # One of its jobs was passed on, and done by its new holder; the others were not.
    assert [(of, error.lost.tolist()) for of, error in lost] == [(late, passed_on.ids.tolist())]
    assert [len(batch.held) for batch in (late, first, passed_on)] == [0, 0, 0]
    assert ack_together([late, first]) == ([], [])
    assert queue.length() == 0


def test_what_is_to_be_alone_waits_a_lease_for_a_slow_handler(queue: jobs.Queue) -> None:
    queue.add({"a": [0]})
    queue.get(lease=0.01)
    queue.add({"a": [1]}, priority=-1)
    done = Signal()
    begun = []

    def handler(batch: jobs.Batch) -> None:
        (number,) = batch.columns["a"].tolist()
        begun.append((number, batch.is_alone))
        if number:
            done.wait(30)
        else:
            done.set()

    while queue.length():
        queue.consume(handler, limit=1, lease=2, concurrency=2).drain()
    assert begun == [(1, False), (0, True)]
    assert done.is_set()


def test_rows_that_failed_are_given_back_alone(queue: jobs.Queue) -> None:
    queue.add({"a": [1, 2, 3]})

    def handler(batch: jobs.Batch) -> None:
        bad = batch.columns["a"] == 2
        batch.nack(batch.ids[bad], reason="two", delay=60)

    queue.consume(handler).drain()
    stats = queue.stats()
    assert (stats.total, stats.delayed) == (1, 1)


def test_results_and_ack_in_one_transaction(pool: colonnade.sync.Pool, queue: jobs.Queue) -> None:
    pool.execute("CREATE TABLE jobs.results (a int8)")
    queue.add({"a": np.arange(100)})
    tries = []

    def handler(batch: jobs.Batch) -> None:
        with pool.acquire() as connection, connection.transaction():
            connection.copy_columns_to_table(
                "results", {"a": batch.columns["a"]}, schema_name="jobs"
            )
            batch.commit(connection)
            tries.append(1)
            if len(tries) == 2:
                raise ValueError("rolled back")

    queue.consume(handler, limit=10).drain()
    assert queue.length() == 0
    assert pool.fetchval("SELECT count(*) FROM jobs.results") == 100
    assert len(tries) == 11


def test_leases_are_extended_while_the_work_lasts(queue: jobs.Queue) -> None:
    queue.add({"a": [1]})
    other: list[int] = []

    def handler(batch: jobs.Batch) -> None:
        for _ in range(10):
            time.sleep(0.1)
            other.append(len(queue.get(timeout=0)))
        assert batch.attempts.tolist() == [1]

    queue.consume(handler, lease=0.3).drain()
    assert other == [0] * 10
    assert queue.length() == 0


def test_stop_gives_back_what_was_not_begun(queue: jobs.Queue) -> None:
    queue.add({"a": np.arange(10)})
    seen: list[Any] = []

    def handler(batch: jobs.Batch) -> None:
        seen.extend(batch.columns["a"].tolist())
        # Another batch is held ready meanwhile.
        time.sleep(0.2)
        consumer.stop()
        time.sleep(0.1)

    consumer = queue.consume(handler, limit=3, prefetch=2)
    began = time.monotonic()
    consumer.run()
    assert time.monotonic() - began < 5
    assert len(seen) == 3
    stats = queue.stats()
    assert (stats.total, stats.ready, stats.leased) == (7, 7, 0)
    # Those that were given back have lost no attempt.
    assert set((queue.get()).attempts.tolist()) == {1}
    with pytest.raises(colonnade.InterfaceError, match="works once"):
        consumer.run()


def test_a_handler_that_does_not_end_is_told(queue: jobs.Queue) -> None:
    queue.add({"a": [1]})
    begun = []

    def handler(batch: jobs.Batch) -> None:
        begun.append(len(batch))
        consumer.stop()
        time.sleep(1.5)

    consumer = queue.consume(handler, stop_within=0.2, prefetch=0)
    with pytest.raises(TimeoutError, match="still ran"):
        consumer.run()
    assert begun == [1]
    assert queue.length() == 1


@pytest.mark.parametrize(
    "options",
    [{"limit": 0}, {"lease": 0}, {"concurrency": 0}, {"prefetch": -1}, {"stop_within": -1}],
)
def test_options_are_checked(queue: jobs.Queue, options: dict[str, Any]) -> None:
    def handler(_batch: jobs.Batch) -> None: ...

    with pytest.raises(ValueError, match=next(iter(options))):
        queue.consume(handler, **options)
