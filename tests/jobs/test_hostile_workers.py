"""Jobs that end their worker's process, whatever way: it is started again, as a service is."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

import colonnade
import colonnade.sync
from colonnade import jobs as asyncio_jobs
from colonnade.jobs import sync as jobs
from tests.jobs.hostile_worker import POISON

if TYPE_CHECKING:
    from collections.abc import Iterator

    from colonnade.jobs.definition import LayoutName

JOBS = 8
DONE = 2
# The job that raises, and two that are held ready.
HELD = 3


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


def started(dsn: str, door: str, deed: str, limit: int = 1000, lanes: int = 1) -> int:
    """Let a worker work until it ends, and return how."""
    program = [sys.executable, "-m", "tests.jobs.hostile_worker"]
    command = [*program, dsn, door, deed, str(limit), str(lanes)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode


@pytest.mark.parametrize("door", ["tasks", "threads"])
def test_a_job_that_exits_is_a_dead_letter(dsn: str, queue: jobs.Queue, door: str) -> None:
    assert started(dsn, door, "leave", limit=1) == 0
    assert queue.dead().to_pydict()["a"] == [POISON]
    assert queue.length() == 0


@pytest.mark.parametrize(
    ("door", "limit", "lanes"), [("tasks", 8, 1), ("tasks", 2, 4), ("threads", 4, 2)]
)
def test_a_job_that_kills_its_process_takes_no_other_along(
    dsn: str, queue: jobs.Queue, door: str, limit: int, lanes: int
) -> None:
    table = "work" if queue.definition.layout == "rows" else "work_r"
    kills = 0
    while started(dsn, door, "kill", limit, lanes) != 0:
        kills += 1
        assert kills < 10
        queue.pool.execute(f"UPDATE jobs.{table} SET job_ready_at = now()")
    assert queue.dead().to_pydict()["a"] == [POISON]
    assert kills == 3
    assert queue.length() == 0


def test_an_exit_of_another_task_counts_an_attempt(dsn: str, queue: jobs.Queue) -> None:
    """It ends the loop, even if nothing awaits that task, and so the worker."""
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


def test_ctrl_c_costs_no_attempt_of_a_job_held_ready(dsn: str, queue: jobs.Queue) -> None:
    """`asyncio.run` cancels all tasks at once, and the consumer its own only once.

    Of two jobs that are held ready, one has its turn when Ctrl-C ends the handler. The other one is
    given back by a cancelled task, which a lock holds up until the server ends its session.
    """
    settings = {"idle_in_transaction_session_timeout": "1500"}
    # Lanes get jobs side by side, so these are not always the first ones.
    begun: list[int] = []
    with colonnade.sync.connect(dsn, server_settings=settings) as stranger:

        async def handler(batch: asyncio_jobs.Batch) -> None:
            begun.extend(batch.columns["a"].tolist())
            if len(begun) <= DONE:
                return
            if len(begun) > DONE + 1:
                await asyncio.Event().wait()
            while await leased(batch, begun[:DONE]) < HELD:
                pass
            stranger.execute("BEGIN")
            stranger.fetch("SELECT FROM jobs.work WHERE a <> ALL ($1) FOR UPDATE", begun)
            raise KeyboardInterrupt

        async def work() -> None:
            async with colonnade.create_pool(dsn, min_size=1, max_size=4) as pool:
                theirs = await asyncio_jobs.open_queue(pool, "work")
                await theirs.consume(handler, limit=1, prefetch=2).run()

        with pytest.raises(KeyboardInterrupt):
            asyncio.run(work())
    left = queue.peek()
    assert sorted(left["a"].tolist()) == sorted({*range(JOBS)}.difference(begun[:DONE]))
    assert set(left["job_attempts"].tolist()) == {0}


async def leased(batch: asyncio_jobs.Batch, done: list[int]) -> int:
    """How many jobs of the queue are leased that are not done."""
    jobs_there = await batch.queue.peek()
    return int(jobs_there["job_attempts"][~np.isin(jobs_there["a"], done)].sum())
