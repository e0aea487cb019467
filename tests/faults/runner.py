"""Runs many tries concurrently, because they mostly wait, and checks that none hangs."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from unittest import mock

from tests.faults.oracle import HANG_S, RECOVERY_S, Case, Outcome, is_hungry, judge
from tests.faults.subjects import Recorded, recorded
from tests.support.crowd import see

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from tests.faults.subjects import Subject
    from tests.support.fault_proxy import Door
    from tests.support.faults import Kind

TASKS_AT_ONCE = 32
THREADS_AT_ONCE = 16
_LIMITS = (
    "colonnade._driver.transport.asyncio.RECOVERY_TIMEOUT_S",
    "colonnade._driver.transport.threads.RECOVERY_TIMEOUT_S",
    "colonnade._driver._async.copy_in.RECOVERY_TIMEOUT_S",
    "colonnade._driver._sync.copy_in.RECOVERY_TIMEOUT_S",
    "colonnade._driver._async.transaction._ROLLBACK_SECONDS_MIN",
    "colonnade._driver._sync.transaction._ROLLBACK_SECONDS_MIN",
)


@dataclass
class Report:
    """The outcomes of many tries."""

    complaints: list[str] = field(default_factory=list)
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How many tries had which outcome, by the fault."""
    exchanges: set[str] = field(default_factory=set)
    missed: int = 0
    """Faults that found no message to strike at."""
    longest: tuple[float, str] = (0.0, "")

    def add(self, recording: Recorded, case: Case, outcome: Outcome, door: Door) -> None:
        """Judge an outcome, and count it."""
        starts = recording.subject.starts
        self.complaints += judge(case, outcome, recording.expected, starts=starts)
        self.exchanges.add(case.exchange)
        self.counts[case.what, outcome.name] += 1
        if case.fault is not None and not door.has_struck:
            self.missed += 1
        self.longest = max(self.longest, (outcome.seconds, str(case)))

    @property
    def tries(self) -> int:
        """The number of tries."""
        return self.counts.total()


@contextlib.contextmanager
def impatient(kind: Kind) -> Iterator[None]:
    """Shorten the limits for recovering a connection, whose server may no longer answer."""
    with contextlib.ExitStack() as patches:
        for name in _LIMITS if is_hungry(kind) else ():
            patches.enter_context(mock.patch(name, RECOVERY_S))
        yield


@contextlib.asynccontextmanager
async def watched() -> AsyncIterator[None]:
    """Check that a block leaves no task and no unhandled exception."""
    loop = asyncio.get_running_loop()
    unseen: list[dict[str, Any]] = []
    before = asyncio.all_tasks()
    loop.set_exception_handler(lambda _, context: unseen.append(context))
    try:
        yield
        # Aborted transports finish in the next turns of the loop.
        async with asyncio.timeout(HANG_S):
            while left := asyncio.all_tasks() - before:
                await asyncio.wait(left)
    finally:
        loop.set_exception_handler(None)
    assert not unseen


async def run_tasks(tries: Iterable[tuple[Recorded, Case]], report: Report) -> None:
    """Run all tries in tasks."""
    turns = asyncio.Semaphore(TASKS_AT_ONCE)

    async def one(recording: Recorded, case: Case) -> None:
        async with turns:
            subject = recording.subject
            with subject.proxy.door(case.chunks, to_cancels=subject.to_cancels) as door:
                limit = asyncio.timeout(HANG_S)
                try:
                    async with limit:
                        outcome = await subject.attempt(door, case)
                except Exception as error:  # noqa: BLE001 - reported with its case
                    what = "hangs" if limit.expired() else f"around it: {error!r}"
                    outcome = Outcome(complaints=[what])
                report.add(recording, case, outcome, door)

    async with asyncio.TaskGroup() as group:
        for recording, case in tries:
            group.create_task(one(recording, case))


def run_threads(tries: Iterable[tuple[Recorded, Case]], report: Report) -> None:
    """Run all tries in threads."""

    def one(recording: Recorded, case: Case) -> tuple[Outcome, Door]:
        subject = recording.subject
        with subject.proxy.door(case.chunks, to_cancels=subject.to_cancels) as door:
            return subject.attempt(door, case), door

    with ThreadPoolExecutor(THREADS_AT_ONCE) as threads:
        running = [(*one_try, threads.submit(one, *one_try)) for one_try in tries]
        limit_s = HANG_S * (1 + len(running) // THREADS_AT_ONCE)
        for recording, case, future in running:
            outcome, door = future.result(limit_s)
            report.add(recording, case, outcome, door)


def record_thread(subject: Subject) -> Recorded:
    """Run a try without a fault in this thread."""
    with subject.proxy.door() as door:
        outcome = subject.attempt(door, Case(subject.name))
        see(lambda: any(door.said.values()))
    return recorded(subject, outcome, door)
