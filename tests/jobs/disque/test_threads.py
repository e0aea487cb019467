"""Many threads on one blocking client."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from colonnade.jobs.disque.sync import Disque

if TYPE_CHECKING:
    from tests.jobs.disque.fake.cluster import FakeCluster

JOBS = 400
WORKERS = 8


def test_each_job_is_worked_off_once(cluster: FakeCluster) -> None:
    done: list[bytes] = []
    lock = threading.Lock()
    with Disque(cluster.addresses, max_connections=4, origin_window=5) as client:

        def produce(number: int) -> None:
            client.add_many("q", [b"%d-%d" % (number, n) for n in range(JOBS // WORKERS)])

        def consume(_number: int) -> None:
            while jobs := client.get("q", limit=7, timeout=0.2):
                assert client.ack(jobs) == len(jobs)
                with lock:
                    done.extend(job.body for job in jobs)

        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(produce, range(WORKERS)))
            list(pool.map(consume, range(WORKERS)))
    assert len(done) == len(set(done)) == JOBS
    assert cluster.store.jobs == {}
    assert all(node.accepted <= 4 for node in cluster.nodes)
