"""A worker that is killed amid a batch loses nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import colonnade.sync
from colonnade.jobs import sync as jobs
from colonnade.jobs.definition import LayoutName

WORKER = Path(__file__).with_name("worker.py")


@pytest.mark.parametrize("layout", ["rows", "segments"])
def test_the_jobs_of_a_killed_worker_come_back(dsn: str, layout: LayoutName) -> None:
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=2) as pool:
        queue = jobs.create_queue(pool, "work", {"a": "int8"}, layout=layout)
        try:
            queue.add({"a": np.arange(100)})
            with subprocess.Popen(
                [sys.executable, str(WORKER), dsn], stdout=subprocess.PIPE, text=True
            ) as worker:
                assert worker.stdout is not None
                assert worker.stdout.readline() == "50\n"
                worker.kill()
            done: list[int] = []
            attempts: list[int] = []
            while batch := queue.get(timeout=3):
                done += batch.columns["a"].tolist()
                attempts += batch.attempts.tolist()
                batch.ack()
            # All but the ten that the worker had done; those that it held count an attempt more.
            assert sorted(done) == list(range(10, 100))
            assert sorted(attempts) == [1] * 50 + [2] * 40
        finally:
            pool.execute("DROP SCHEMA jobs CASCADE")
