"""A handler that blocks its loop for longer than its lease: a loss is told once, and truly."""

from __future__ import annotations

import logging
import threading
from itertools import chain
from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade import jobs
from colonnade.jobs import sync as blocking

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from colonnade.jobs.definition import LayoutName

LEASE_S = 0.5
WAIT_S = 30.0


@pytest.fixture(params=["rows", "segments"])
async def queue(dsn: str, request: pytest.FixtureRequest) -> AsyncIterator[jobs.Queue]:
    layout: LayoutName = request.param
    async with colonnade.create_pool(dsn, min_size=1, max_size=3) as pool:
        yield await jobs.create_queue(pool, "work", {"a": "int8"}, layout=layout)
        await pool.execute("DROP SCHEMA jobs CASCADE")


class Rival:
    """A worker in a thread that takes the jobs when their lease has ended, and does them."""

    def __init__(self, dsn: str, least: int = 1) -> None:
        self.may_begin, self.has_taken, self.has_done = (threading.Event() for _ in range(3))
        self.attempts: list[int] = []
        self.jobs: list[int] = []
        self._dsn, self._least = dsn, least
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        with colonnade.sync.create_pool(self._dsn, min_size=1, max_size=2) as pool:
            queue = blocking.open_queue(pool, "work")
            assert self.may_begin.wait(WAIT_S)
            while len(self.jobs) < self._least:
                # Jobs whose leases have ended come in small batches.
                batch = queue.get(timeout=WAIT_S)
                self.attempts += batch.attempts.tolist()
                self.jobs += batch.columns["a"].tolist()
                self.has_taken.set()
                batch.ack()
            self.has_done.set()

    def join(self) -> None:
        self._thread.join()


def lost(caplog: pytest.LogCaptureFixture) -> list[list[int]]:
    """The ids in what was told."""
    told = [record for record in caplog.records if "any more" in record.getMessage()]
    return [record.job_ids for record in told]  # type: ignore[attr-defined]


@pytest.mark.parametrize("wait_for", ["has_taken", "has_done"])
async def test_a_loss_is_told_once_and_truly(
    dsn: str, queue: jobs.Queue, caplog: pytest.LogCaptureFixture, wait_for: str
) -> None:
    rival = Rival(dsn)
    await queue.add({"a": [1, 2, 3]})
    ids: list[int] = []
    events: list[tuple[str, int]] = []

    def note(_schema: str, _name: str, event: str, count: int) -> None:
        events.append((event, count))

    async def handler(batch: jobs.Batch) -> None:
        ids.extend(batch.ids.tolist())
        rival.may_begin.set()
        # The loop is blocked: nobody extends the lease.
        assert getattr(rival, wait_for).wait(WAIT_S)

    jobs.add_observer(note)
    try:
        with caplog.at_level(logging.WARNING, logger="colonnade.jobs"):
            await queue.consume(handler, lease=LEASE_S).drain()
    finally:
        jobs.remove_observer(note)
        rival.join()
    assert rival.attempts == [2, 2, 2]
    assert lost(caplog) == [ids]
    assert sum(count for event, count in events if event == "lost") == 3
    assert await queue.length() == 0
    assert len(await queue.dead()) == 0


async def test_nothing_is_told_if_nobody_took_them(
    queue: jobs.Queue, caplog: pytest.LogCaptureFixture
) -> None:
    await queue.add({"a": [1, 2, 3]})
    seen: list[int] = []

    async def handler(batch: jobs.Batch) -> None:
        seen.extend(batch.columns["a"].tolist())
        threading.Event().wait(2 * LEASE_S)

    with caplog.at_level(logging.WARNING, logger="colonnade.jobs"):
        await queue.consume(handler, lease=LEASE_S).drain()
    assert sorted(seen) == [1, 2, 3]
    assert lost(caplog) == []
    assert await queue.length() == 0


async def test_a_lost_job_that_is_held_ready_is_not_begun(dsn: str, queue: jobs.Queue) -> None:
    rival = Rival(dsn)
    await queue.add({"a": [1, 2]})
    seen: list[int] = []

    async def handler(batch: jobs.Batch) -> None:
        seen.extend(batch.columns["a"].tolist())
        threading.Event().wait(2 * LEASE_S)
        rival.may_begin.set()
        assert rival.has_done.wait(WAIT_S)

    try:
        await queue.consume(handler, limit=1, lease=LEASE_S, prefetch=1).drain()
    finally:
        rival.may_begin.set()
        rival.join()
    assert len(seen) == 1
    assert len(rival.attempts) == 2
    assert await queue.length() == 0


async def test_a_batch_with_a_lost_job_is_not_begun(dsn: str, queue: jobs.Queue) -> None:
    rival = Rival(dsn, least=3)
    await queue.add({"a": [1, 2, 3, 4]})
    seen: list[list[int]] = []

    async def handler(batch: jobs.Batch) -> None:
        seen.append(batch.columns["a"].tolist())
        if len(seen) == 1:
            threading.Event().wait(2 * LEASE_S)
            rival.may_begin.set()
            assert rival.has_done.wait(WAIT_S)

    try:
        await queue.consume(handler, limit=2, lease=LEASE_S, prefetch=1).drain()
    finally:
        rival.may_begin.set()
        rival.join()
    assert len(rival.jobs) in {3, 4}
    assert [batch for batch in seen[1:] if set(batch) & set(rival.jobs)] == []
    assert {*rival.jobs, *chain(*seen)} == {1, 2, 3, 4}
    assert await queue.length() == 0
