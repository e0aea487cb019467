"""Jobs that end their worker's process, whatever way: it is started again, as a service is."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

import colonnade.sync
from colonnade.jobs import sync as jobs
from tests.jobs.hostile_worker import POISON

if TYPE_CHECKING:
    from collections.abc import Iterator

    from colonnade.jobs.definition import LayoutName

JOBS = 8


@pytest.fixture(params=["rows", "segments"])
def queue(dsn: str, request: pytest.FixtureRequest) -> Iterator[jobs.Queue]:
    layout: LayoutName = request.param
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=2) as pool:
        retry = jobs.Retry(max_attempts=3, delay=0)
        queue = jobs.create_queue(pool, "work", {"a": "int8"}, retry=retry, layout=layout)
        queue.add({"a": np.arange(JOBS)})
        try:
            yield queue
        finally:
            pool.execute("DROP SCHEMA jobs CASCADE")


def started(dsn: str, door: str, deed: str, limit: int = 1000) -> int:
    """Let a worker work until it ends, and return how."""
    program = [sys.executable, "-m", "tests.jobs.hostile_worker"]
    command = [*program, dsn, door, deed, str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode


@pytest.mark.parametrize("door", ["tasks", "threads"])
def test_a_job_that_exits_is_a_dead_letter(dsn: str, queue: jobs.Queue, door: str) -> None:
    assert started(dsn, door, "leave", limit=1) == 0
    assert queue.dead().to_pydict()["a"] == [POISON]
    assert queue.length() == 0


def test_an_exit_of_another_task_counts_an_attempt(dsn: str, queue: jobs.Queue) -> None:
    """It ends the loop, whoever awaits that task, and so the worker."""
    ends = []
    while queue.length():
        ends.append(started(dsn, "inner", "leave", limit=1))
        assert len(ends) < 10
    assert set(ends) <= {0, 1}
    assert ends.count(1) == 3
    assert POISON in queue.dead()["a"].tolist()


@pytest.mark.parametrize(
    ("door", "deed"),
    [("tasks", "interrupt"), ("tasks", "raise_interrupt"), ("threads", "raise_interrupt")],
)
def test_ctrl_c_costs_no_attempt(dsn: str, queue: jobs.Queue, door: str, deed: str) -> None:
    assert started(dsn, door, deed) != 0
    assert queue.peek().to_pydict()["a"] == [*range(POISON, JOBS)]
    assert set(queue.peek()["job_attempts"].tolist()) == {0}
