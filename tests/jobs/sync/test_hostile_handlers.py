# Generated from tests/jobs/async/test_hostile_handlers.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""What a handler raises is the failure of its jobs alone: an attempt, and then a dead letter."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest

from colonnade.jobs import sync as jobs

if TYPE_CHECKING:
    from collections.abc import Callable

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


def check_one_dead_letter(queue: jobs.Queue, done: Counter[int], reason: str) -> None:
    """The poison has had its two attempts, and all others were done once."""
    assert done == Counter({number: 2 if number == POISON else 1 for number in range(JOBS)})
    assert queue.length() == 0
    dead = (queue.dead()).to_pydict()
    assert (dead["a"], dead["job_attempts"]) == ([POISON], [2])
    assert dead["job_reason"][0].startswith(reason)
    assert [text.startswith(reason) for text in dead["job_errors"][0]] == [True]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_what_a_handler_raises_counts_for_its_job_alone(
    queue: jobs.Queue, hostile: Callable[[], None]
) -> None:
    queue.add({"a": np.arange(JOBS)})
    done: Counter[int] = Counter()

    def handler(batch: jobs.Batch) -> None:
        number = int(batch.columns["a"][0])
        done[number] += 1
        if number == POISON:
            hostile()

    queue.consume(handler, limit=1).drain()
    check_one_dead_letter(queue, done, HOSTILE[hostile])


def test_a_worker_goes_on_until_it_is_stopped(queue: jobs.Queue) -> None:
    queue.add({"a": np.arange(JOBS)})
    done: Counter[int] = Counter()

    def handler(batch: jobs.Batch) -> None:
        number = int(batch.columns["a"][0])
        done[number] += 1
        if done.total() == JOBS + 1:
            consumer.stop()
        if number == POISON:
            exits()

    consumer = queue.consume(handler, limit=1)
    consumer.run()
    assert done.total() >= JOBS + 1
    assert set(done) == set(range(JOBS))
