"""Blocking queues among threads: waiting callers, a worker that is stopped, a pool that closes."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pytest

import colonnade
import colonnade.sync
from colonnade.jobs import sync as jobs

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def pool(dsn: str) -> Iterator[colonnade.sync.Pool]:
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=4) as pool:
        yield pool
        pool.execute("DROP SCHEMA IF EXISTS jobs CASCADE")


@pytest.fixture
def queue(pool: colonnade.sync.Pool) -> jobs.Queue:
    return jobs.create_queue(pool, "work", {"a": "int8"})


def test_waiting_threads_share_one_connection(pool: colonnade.sync.Pool, queue: jobs.Queue) -> None:
    queue.poll = 30.0
    with ThreadPoolExecutor(8) as threads:
        waiting = [threads.submit(queue.get, 1, timeout=20) for _ in range(8)]
        time.sleep(0.5)
        assert pool.get_size() - pool.get_idle_size() == 1
        began = time.monotonic()
        queue.add({"a": np.arange(8)})
        ids = [int(each.result().ids[0]) for each in waiting]
    assert time.monotonic() - began < 5
    assert len(set(ids)) == 8


def test_a_consumer_in_threads_is_stopped(queue: jobs.Queue) -> None:
    seen: list[int] = []
    names: set[str] = set()

    def handler(batch: jobs.Batch) -> None:
        seen.extend(batch.columns["a"].tolist())
        names.add(threading.current_thread().name)
        if len(seen) == 200:
            consumer.stop()

    consumer = queue.consume(handler, limit=10, concurrency=3)
    threading.Timer(0.2, lambda: queue.add({"a": np.arange(100)})).start()
    queue.add({"a": np.arange(100)})
    consumer.run()
    assert sorted(seen) == sorted([*range(100)] * 2)
    assert queue.length() == 0


def test_closing_the_pool_ends_a_wait(dsn: str, queue: jobs.Queue) -> None:
    del queue
    other = colonnade.sync.create_pool(dsn, min_size=1, max_size=4)
    waiting = jobs.open_queue(other, "work", poll=0.2)
    with ThreadPoolExecutor(1) as threads:
        waits = threads.submit(waiting.get)
        time.sleep(0.4)
        other.close()
        with pytest.raises(colonnade.InterfaceError, match="clos"):
            waits.result(timeout=10)


def test_threads_never_hold_one_job(pool: colonnade.sync.Pool, queue: jobs.Queue) -> None:
    queue.add({"a": np.arange(5000)})

    def work() -> list[int]:
        mine, got = jobs.open_queue(pool, "work"), []
        while batch := mine.get(61, timeout=0):
            got += batch.columns["a"].tolist()
            batch.ack()
        return got

    with ThreadPoolExecutor(4) as threads:
        parts = [threads.submit(work) for _ in range(4)]
        got = [value for part in parts for value in part.result()]
    assert sorted(got) == list(range(5000))


def test_a_coroutine_function_acknowledges_nothing(queue: jobs.Queue) -> None:
    async def handler(_batch: jobs.Batch) -> None:
        raise AssertionError

    queue.add({"a": [1]})
    with pytest.raises(TypeError, match="plain function, and this one is a coroutine"):
        queue.consume(handler).run()
    assert queue.peek()["job_attempts"].tolist() == [0]


def test_the_wait_for_the_pool_counts(dsn: str, queue: jobs.Queue) -> None:
    queue.add({"a": [1]})
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=1) as small:
        single = jobs.open_queue(small, "work")
        with small.acquire(), pytest.raises(TimeoutError, match=r"no connection was free within"):
            single.get(timeout=0.05)
        assert len(single.get(timeout=5)) == 1


def test_a_job_that_may_end_the_process_begins_without_those_of_other_queues(
    pool: colonnade.sync.Pool,
) -> None:
    retry = jobs.Retry(max_attempts=2)
    deadly, harmless = [
        jobs.create_queue(pool, name, {"a": "int8"}, retry=retry) for name in ("deadly", "harmless")
    ]
    deadly.add({"a": [1]})
    deadly.get(lease=0.05)
    time.sleep(0.1)
    harmless.add({"a": np.arange(200)})
    is_alone: list[bool] = []

    def on_harmless(batch: jobs.Batch) -> None:
        if is_alone:
            consumers[1].stop()
        time.sleep(0.02 * len(batch))

    def on_deadly(batch: jobs.Batch) -> None:
        while len(is_alone) < 5:
            is_alone.append(batch.is_alone and harmless.stats().leased == 0)
        consumers[0].stop()
        # There may be none left.
        harmless.add({"a": [200]})

    consumers = [
        deadly.consume(on_deadly, lease=30),
        harmless.consume(on_harmless, limit=1, lease=30, concurrency=2),
    ]
    with ThreadPoolExecutor(2) as threads:
        for work in [threads.submit(consumer.run) for consumer in consumers]:
            work.result()
    assert is_alone == [True] * 5
    assert not harmless.stats().dead
    assert set(harmless.peek(200)["job_attempts"].tolist()) <= {0}
