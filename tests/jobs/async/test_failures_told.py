"""A failure tells where: in the reason of its jobs, and in the log, with the jobs as fields."""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from colonnade import jobs

if TYPE_CHECKING:
    import pytest

USERS: dict[int, str] = {}
FILE = "/".join(Path(__file__).parts[-2:])


class Mailer:
    """An object that a handler calls."""

    def send(self, user_id: int) -> None:
        try:
            USERS[user_id]
        except KeyError as error:
            failure = ValueError("no such user")
            failure.add_note(f"of {user_id}")
            raise failure from error


def records(caplog: pytest.LogCaptureFixture, words: str) -> list[Any]:
    return [each for each in caplog.records if words in each.getMessage()]


async def test_a_reason_says_where_and_because_of_what(queue: jobs.Queue) -> None:
    await queue.add({"a": [7]})

    async def handler(batch: jobs.Batch) -> None:
        Mailer().send(int(batch.columns["a"][0]))

    await queue.consume(handler).drain()
    dead = (await queue.dead()).to_pydict()
    parts = dead["job_reason"][0].split(" | ")
    assert [part.split(":")[0] for part in parts] == [
        "ValueError",
        *(f"at {FILE}", f"at {FILE}"),
        "note",
        "caused by KeyError",
        f"at {FILE}",
    ]
    assert parts[0] == "ValueError: no such user"
    assert parts[1].endswith(" in Mailer.send")
    assert parts[2].endswith("<locals>.handler")
    assert parts[3] == "note: of 7"
    assert dead["job_errors"] == [[dead["job_reason"][0]]]


async def test_the_log_has_the_traceback_and_the_jobs(
    queue: jobs.Queue, caplog: pytest.LogCaptureFixture
) -> None:
    await queue.add({"a": np.arange(3)})

    async def handler(batch: jobs.Batch) -> None:
        await batch.ack(batch.ids[batch.columns["a"] == 0])
        raise ValueError("no good")

    caplog.set_level(logging.INFO, "colonnade.jobs")
    await queue.consume(handler).drain()
    ids = (await queue.dead())["job_id"].tolist()
    failed = records(caplog, "a handler failed")
    assert [each.levelno for each in failed] == [logging.WARNING] * 2
    assert failed[0].getMessage() == (
        'a handler failed with 2 jobs of the queue "jobs.work": ValueError: no good'
    )
    assert failed[0].exc_info[1].args == ("no good",)
    assert [(each.job_schema, each.job_queue, each.job_ids) for each in failed] == [
        ("jobs", "work", ids)
    ] * 2
    assert [each.job_attempts for each in failed] == [[1, 1], [2, 2]]
    again, last = records(caplog, "tried again"), records(caplog, "for the last time")
    assert [(each.levelno, each.job_ids, each.job_attempts) for each in again] == [
        (logging.INFO, ids, [1, 1])
    ]
    assert [(each.levelno, each.job_ids, each.job_attempts) for each in last] == [
        (logging.ERROR, ids, [2, 2])
    ]
    assert "no good" in last[0].getMessage()


async def test_a_nack_of_a_handler_is_logged(
    queue: jobs.Queue, caplog: pytest.LogCaptureFixture
) -> None:
    await queue.add({"a": np.arange(3)})
    caplog.set_level(logging.INFO, "colonnade.jobs")
    batch = await queue.get()
    await batch.nack(batch.ids[1:], reason=["first", "second"])
    (record,) = records(caplog, "tried again")
    assert record.job_ids == batch.ids[1:].tolist()
    assert record.getMessage().endswith(": first")


async def test_dead_letters_of_ended_leases_are_logged(
    queue: jobs.Queue, caplog: pytest.LogCaptureFixture
) -> None:
    await queue.add({"a": np.arange(3)}, ttl=0.05)
    await asyncio.sleep(0.1)
    queue._next_sweep = time.monotonic()
    assert not await queue.get(timeout=0)
    (record,) = records(caplog, "dead letters")
    assert (record.levelno, record.job_queue) == (logging.ERROR, "work")
    assert record.getMessage().startswith("3 jobs")


# async-only: begin
async def test_a_reason_names_the_errors_of_a_group(queue: jobs.Queue) -> None:
    await queue.add({"a": [1]})

    async def fails() -> None:
        raise ValueError("the first")

    async def handler(_batch: jobs.Batch) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fails())
            group.create_task(fails())

    await queue.consume(handler).drain()
    reason = (await queue.dead()).to_pydict()["job_reason"][0]
    assert reason.startswith("ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)")
    assert reason.count(f" | one is ValueError: the first | at {FILE}:") == 2


# async-only: end
