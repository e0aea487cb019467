"""A handler's exception is the failure of its jobs alone: an attempt, and then a dead letter."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest

from colonnade import jobs
from tests.support.until import until

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

# Handlers are cancelled in one colour, and interrupted in the other.
pytestmark = pytest.mark.every_pair

POISON = 3
JOBS = 8


class OwnError(BaseException):
    """No Exception, so that `except Exception` lets it through."""


class UntoldError(Exception):
    """An error whose texts are errors."""

    def __str__(self) -> str:
        raise ValueError("no text")

    def __repr__(self) -> str:
        raise SystemExit("no text either")


def exits() -> None:
    sys.exit("this job ends")


def raises_its_own() -> None:
    raise OwnError("not an Exception")


def raises_a_group() -> None:
    raise BaseExceptionGroup("several", [SystemExit(1), ValueError("two")])


def raises_without_a_text() -> None:
    raise UntoldError


def ends_a_generator() -> None:
    raise GeneratorExit


def recurses() -> None:
    recurses()


def has_no_memory() -> None:
    raise MemoryError


HOSTILE = {
    exits: "SystemExit: this job ends",
    raises_its_own: "OwnError: not an Exception",
    raises_a_group: "BaseExceptionGroup: several",
    raises_without_a_text: "UntoldError",
    ends_a_generator: "GeneratorExit",
    recurses: "RecursionError: maximum recursion depth exceeded",
    has_no_memory: "MemoryError",
}


async def check_one_dead_letter(queue: jobs.Queue, done: Counter[int], reason: str) -> None:
    """The poison has had its two attempts, and all others were done once."""
    assert done == Counter({number: 2 if number == POISON else 1 for number in range(JOBS)})
    assert await queue.length() == 0
    dead = (await queue.dead()).to_pydict()
    assert (dead["a"], dead["job_attempts"]) == ([POISON], [2])
    assert dead["job_reason"][0].startswith(reason)
    assert [text.startswith(reason) for text in dead["job_errors"][0]] == [True]


@pytest.mark.parametrize("hostile", HOSTILE)
async def test_what_a_handler_raises_counts_for_its_job_alone(
    queue: jobs.Queue, hostile: Callable[[], None]
) -> None:
    await queue.add({"a": np.arange(JOBS)})
    done: Counter[int] = Counter()

    async def handler(batch: jobs.Batch) -> None:
        number = int(batch.columns["a"][0])
        done[number] += 1
        if number == POISON:
            hostile()

    await queue.consume(handler, limit=1).drain()
    await check_one_dead_letter(queue, done, HOSTILE[hostile])


async def test_a_worker_goes_on_until_it_is_stopped(queue: jobs.Queue) -> None:
    await queue.add({"a": np.arange(JOBS)})
    done: Counter[int] = Counter()

    async def handler(batch: jobs.Batch) -> None:
        number = int(batch.columns["a"][0])
        done[number] += 1
        if done.total() == JOBS + 1:
            consumer.stop()
        if number == POISON:
            exits()

    consumer = queue.consume(handler, limit=1)
    await consumer.run()
    assert done.total() >= JOBS + 1
    assert set(done) == set(range(JOBS))


# async-only: begin
async def cancelled_within() -> None:
    inner = asyncio.ensure_future(asyncio.Event().wait())
    asyncio.get_running_loop().call_soon(inner.cancel)
    await inner


async def cancels_itself() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.Event().wait()


async def raises_cancelled() -> None:
    raise asyncio.CancelledError("library")


async def raises_a_group_of_cancellations() -> None:
    raise BaseExceptionGroup("several", [asyncio.CancelledError()])


CANCELLED = {
    cancelled_within: "CancelledError",
    cancels_itself: "CancelledError",
    raises_cancelled: "CancelledError: library",
    raises_a_group_of_cancellations: "BaseExceptionGroup: several",
}


@pytest.mark.parametrize("hostile", CANCELLED)
async def test_a_cancellation_that_is_not_the_workers_is_a_failure(
    queue: jobs.Queue, hostile: Callable[[], Coroutine[None, None, None]]
) -> None:
    await queue.add({"a": np.arange(JOBS)})
    done: Counter[int] = Counter()

    async def handler(batch: jobs.Batch) -> None:
        number = int(batch.columns["a"][0])
        done[number] += 1
        if number == POISON:
            await hostile()

    await queue.consume(handler, limit=1).drain()
    await check_one_dead_letter(queue, done, CANCELLED[hostile])


@pytest.mark.parametrize("verb", ["run", "drain"])
async def test_a_worker_whose_tasks_others_cancel_does_not_look_done(
    queue: jobs.Queue, verb: str
) -> None:
    await queue.add({"a": np.arange(JOBS)})
    before = asyncio.all_tasks()

    async def handler(_batch: jobs.Batch) -> None:
        for task in asyncio.all_tasks() - before:
            task.cancel()
        await asyncio.sleep(0)

    with pytest.raises(jobs.BrokenConsumerError, match="other code has cancelled a task"):
        await getattr(queue.consume(handler, limit=1), verb)()
    # A `get` that was cancelled gives back what it may have leased, in a task of its own.
    await until(lambda: asyncio.all_tasks() <= before)
    stats = await queue.stats()
    assert (stats.ready, stats.leased, stats.dead) == (JOBS, 0, 0)


async def test_a_handler_that_heeds_no_cancellation_is_acknowledged(queue: jobs.Queue) -> None:
    await queue.add({"a": np.arange(JOBS)})
    begun, goes_on = asyncio.Event(), asyncio.Event()

    async def handler(_batch: jobs.Batch) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await goes_on.wait()

    running = asyncio.ensure_future(queue.consume(handler, limit=1, prefetch=0).run())
    await begun.wait()
    running.cancel()
    asyncio.get_running_loop().call_later(0.05, goes_on.set)
    with pytest.raises(asyncio.CancelledError):
        await running
    # It has done its job, and begun no other one.
    assert await queue.length() == JOBS - 1


# async-only: end
