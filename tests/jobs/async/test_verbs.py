"""The effect of each verb on jobs, alone."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import colonnade
from colonnade import jobs

if TYPE_CHECKING:
    from collections.abc import Callable

    from colonnade.jobs.definition import LayoutName

A = [1, 2, 3]
B = ["x", "y", None]


async def values(queue: jobs.Queue, column: str = "a") -> list[Any]:
    """A column of the jobs in the queue."""
    return (await queue.peek(100)).to_pydict()[column]


async def added(queue: jobs.Queue, count: int) -> None:
    assert await queue.add({"a": np.arange(count)}) == count


TABLES: dict[str, Callable[[], Any]] = {
    "arrays": lambda: {"a": np.array(A), "b": B},
    "pandas": lambda: pd.DataFrame({"a": A, "b": B}),
    "polars": lambda: pl.DataFrame({"a": A, "b": B}),
    "pyarrow": lambda: pa.table({"a": A, "b": B}),
    "stream": lambda: pa.table({"a": A, "b": B}).to_reader(),
    "batches": lambda: [{"a": A[:1], "b": B[:1]}, {"a": A[1:], "b": B[1:]}],
    "records": lambda: list(zip(A, B, strict=True)),
}


@pytest.mark.parametrize("kind", TABLES)
async def test_any_table_goes_in_and_comes_out_in_columns(queue: jobs.Queue, kind: str) -> None:
    table = TABLES[kind]()
    assert await queue.add(table) == 3
    batch = await queue.get()
    assert batch.columns.names[:2] == ("a", "b")
    assert batch.columns.to_pydict()["a"] == A
    assert batch.columns.to_pydict()["b"] == B
    assert batch.ids.tolist() == sorted(batch.ids.tolist())
    assert batch.attempts.tolist() == [1, 1, 1]
    await batch.ack()
    assert await queue.length() == 0


async def test_columns_of_a_query_are_jobs(pool: colonnade.Pool, queue: jobs.Queue) -> None:
    columns = await pool.fetch_columns("SELECT 5::int8 AS a, 'q' AS b")
    assert await queue.add(columns) == 1
    assert await values(queue, "b") == ["q"]


@pytest.mark.parametrize("options", [{}, {"priority": 3}], ids=["plain", "staged"])
async def test_what_does_not_fit_is_refused_whole(
    queue: jobs.Queue, options: dict[str, Any]
) -> None:
    with pytest.raises(colonnade.EncodeError, match=r'column "a", row 2'):
        await queue.add({"a": [1, 2, "three"]}, **options)
    assert await queue.length() == 0
    assert await queue.add({"a": [1]}, **options) == 1


async def test_an_own_column_is_refused(queue: jobs.Queue) -> None:
    with pytest.raises(colonnade.InterfaceError, match="job_token"):
        await queue.add({"a": [1], "job_token": [7]})
    with pytest.raises(colonnade.InterfaceError, match="job_token"):
        await queue.add(pa.table({"a": [1], "job_token": [7]}).to_reader())
    assert await queue.length() == 0


async def test_an_empty_table_adds_nothing(queue: jobs.Queue) -> None:
    assert await queue.add({"a": np.empty(0, np.int64)}) == 0
    assert not await queue.get(timeout=0)


async def test_order_is_priority_then_id(queue: jobs.Queue) -> None:
    await queue.add({"a": [1, 2]})
    await queue.add({"a": [3]}, priority=-1)
    await queue.add({"a": [4, 5, 6]}, priority=[1, -2, 0])
    batch = await queue.get()
    assert batch.columns["a"].tolist() == [5, 3, 1, 2, 6, 4]
    await batch.ack()
    assert await queue.length() == 0


async def test_a_delayed_job_is_got_at_its_time(queue: jobs.Queue) -> None:
    # No look by the clock alone: the job's own time wakes the waiting `get`.
    queue.poll = 30.0
    began = time.monotonic()
    await queue.add({"a": [1, 2]}, delay=[60, 0.3])
    batch = await queue.get(timeout=30)
    assert batch.columns["a"].tolist() == [2]
    assert 0.3 <= time.monotonic() - began < 15
    stats = await queue.stats()
    assert (stats.total, stats.ready, stats.delayed, stats.leased) == (2, 0, 1, 1)


async def test_a_trace_context_travels_with_the_job(queue: jobs.Queue) -> None:
    await queue.add({"a": [1]}, trace="00-abc-def-01")
    batch = await queue.get()
    assert batch.columns.to_pydict()["job_trace"] == ["00-abc-def-01"]


async def test_a_key_is_in_the_queue_once(rows_queue: jobs.Queue) -> None:
    assert await rows_queue.add({"a": [1, 2, 3], "b": ["k", "k", "l"]}, key="b") == 2
    assert await rows_queue.add({"a": [4, 5], "b": ["k", "m"]}, key="b") == 1
    assert await values(rows_queue) == [1, 3, 5]
    assert await rows_queue.add({"a": [6, 7], "b": ["k", "k"]}, key="b", on_conflict="replace") == 1
    assert await values(rows_queue) == [7, 3, 5]
    # NULL is no key, and an array of keys need not be in the payload.
    assert await rows_queue.add({"a": [8, 9, 9]}, key=[None, "k", "n"]) == 2
    assert await values(rows_queue) == [7, 3, 5, 8, 9]
    assert await values(rows_queue, "job_key") == ["k", "l", "m", None, "n"]


async def test_a_key_that_was_done_can_be_added_again(rows_queue: jobs.Queue) -> None:
    await rows_queue.add({"a": [1], "b": ["k"]}, key="b")
    await (await rows_queue.get()).ack()
    assert await rows_queue.add({"a": [2], "b": ["k"]}, key="b") == 1


async def test_a_replaced_job_is_taken_from_its_worker(rows_queue: jobs.Queue) -> None:
    await rows_queue.add({"a": [1], "b": ["k"]}, key="b")
    batch = await rows_queue.get()
    await rows_queue.add({"a": [2], "b": ["k"]}, key="b", on_conflict="replace")
    with pytest.raises(jobs.LeaseLostError):
        await batch.ack()
    again = await rows_queue.get(timeout=0)
    assert again.columns["a"].tolist() == [2]
    assert again.attempts.tolist() == [1]


async def test_segments_have_no_keys(pool: colonnade.Pool) -> None:
    queue = await jobs.create_queue(pool, "work", {"a": "int8"}, layout="segments")
    with pytest.raises(colonnade.InterfaceError, match=r'no unique keys.*layout="rows"'):
        await queue.add({"a": [1]}, key="a")
    async with pool.acquire() as connection, connection.transaction():
        with pytest.raises(colonnade.InterfaceError, match="no unique keys"):
            await queue.add({"a": [1]}, key=["x"], connection=connection)
        await queue.add({"a": [2]}, connection=connection)
    assert await values(queue) == [2]


async def test_arrays_of_another_length_add_nothing(queue: jobs.Queue) -> None:
    with pytest.raises(colonnade.InterfaceError, match="2 jobs, and 3 values"):
        await queue.add({"a": [1, 2]}, priority=[1, 2, 3])
    assert await queue.length() == 0


async def test_a_full_queue_takes_nothing_more(pool: colonnade.Pool, layout: LayoutName) -> None:
    queue = await jobs.create_queue(pool, "small", {"a": "int8"}, max_length=3, layout=layout)
    await added(queue, 2)
    with pytest.raises(jobs.QueueFullError, match="max_length of 3"):
        await added(queue, 2)
    assert await queue.length() == 2
    await added(queue, 1)
    async with pool.acquire() as connection, connection.transaction():
        with pytest.raises(jobs.QueueFullError):
            await queue.add({"a": [1]}, connection=connection)
        # The caller's transaction goes on.
        assert await connection.fetchval("SELECT 1") == 1
    assert await queue.length() == 3


async def test_an_expired_job_becomes_a_dead_letter(
    pool: colonnade.Pool, layout: LayoutName
) -> None:
    queue = await jobs.create_queue(pool, "short", {"a": "int8"}, ttl=3600, layout=layout)
    await queue.add({"a": [1, 2]}, ttl=[0.01, 60])
    await asyncio.sleep(0.05)
    batch = await queue.get(timeout=0)
    assert batch.columns["a"].tolist() == [2]
    dead = (await queue.dead()).to_pydict()
    assert (dead["a"], dead["job_reason"]) == ([1], ["expired"])


async def test_ack_of_some_rows_and_nack_of_others(queue: jobs.Queue) -> None:
    await added(queue, 5)
    batch = await queue.get()
    await batch.ack(batch.ids[:2])
    await batch.nack(batch.ids[2:4], reason=["bad", "worse"])
    assert batch.held.tolist() == batch.ids[4:].tolist()
    await batch.ack()
    again = await queue.get(timeout=0)
    assert again.columns["a"].tolist() == [2, 3]
    assert again.attempts.tolist() == [2, 2]
    await again.nack(reason="still")
    assert not await queue.get(timeout=0)
    dead = (await queue.dead()).to_pydict()
    assert dead["job_reason"] == ["still", "still"]
    assert dead["job_errors"] == [["bad"], ["worse"]]
    assert dead["job_attempts"] == [2, 2]


async def test_each_reason_belongs_to_its_id(queue: jobs.Queue) -> None:
    await added(queue, 3)
    batch = await queue.get()
    await batch.nack(batch.ids[[2, 0, 1]], reason=["two", "zero", "one"], delay=0)
    errors = (await queue.peek()).to_pydict()["job_errors"]
    assert errors == [["zero"], ["one"], ["two"]]


async def test_one_id_is_enough(queue: jobs.Queue) -> None:
    await added(queue, 3)
    batch = await queue.get()
    first, second, third = batch.ids
    await batch.extend(60, first)
    await batch.nack(first, reason="no")
    await batch.ack(second)
    await batch.nack(int(third), reason=["never"])
    await (await queue.get(timeout=0)).nack(reason="no")
    assert await queue.requeue(first) == 1
    assert (await queue.dead()).to_pydict()["job_errors"] == [["never"]]


async def test_ids_and_reasons_of_the_wrong_kind(queue: jobs.Queue) -> None:
    await added(queue, 2)
    batch = await queue.get()
    with pytest.raises(TypeError, match=r"not True and False: batch\.ids\[mask\]"):
        await batch.nack(batch.columns["a"] > 0)
    with pytest.raises(TypeError, match=r"such as batch\.ids, not list"):
        await batch.ack(["x"])
    with pytest.raises(TypeError, match=r"ids must be whole numbers, .* not str"):
        await queue.requeue("x")
    with pytest.raises(TypeError, match=r"such as str\(error\), not ValueError"):
        await batch.nack(reason=ValueError("no"))
    assert len(batch.held) == 2


async def test_rows_as_mappings_and_replace_without_a_key(queue: jobs.Queue) -> None:
    rows: Any
    for rows in ({"a": 1}, [{"a": 1, "b": "x"}]):
        with pytest.raises(TypeError, match=r"not int: a mapping has the values of all rows"):
            await queue.add(rows)
    with pytest.raises(ValueError, match='on_conflict="replace" needs a key'):
        await queue.add({"a": [1]}, on_conflict="replace")
    assert await queue.length() == 0


async def test_dead_letters_are_requeued(queue: jobs.Queue) -> None:
    await added(queue, 3)
    for _ in range(2):
        await (await queue.get(timeout=0)).nack(reason="no")
    assert (await queue.stats()).dead == 3
    first = (await queue.dead())["job_id"][:1]
    assert await queue.requeue(first) == 1
    assert await queue.requeue() == 2
    assert (await queue.peek()).to_pydict()["job_errors"] == [["no", "no"]] * 3
    batch = await queue.get(timeout=0)
    assert batch.columns["a"].tolist() == [0, 1, 2]
    assert batch.attempts.tolist() == [1, 1, 1]


async def test_purge(queue: jobs.Queue) -> None:
    await added(queue, 3)
    for _ in range(2):
        await (await queue.get(1, timeout=0)).nack(reason="no")
    await queue.get(1)
    assert await queue.purge() == 2
    assert await queue.purge_dead() == 1
    assert (await queue.stats()).total == 0


async def test_release_counts_no_attempt(queue: jobs.Queue) -> None:
    await added(queue, 1)
    for _ in range(5):
        batch = await queue.get(timeout=0)
        assert batch.attempts.tolist() == [1]
        await batch.release()


async def test_without_a_lease_the_jobs_are_gone(queue: jobs.Queue) -> None:
    await added(queue, 3)
    batch = await queue.get(2, lease=None)
    assert batch.columns["a"].tolist() == [0, 1]
    assert await queue.length() == 1
    with pytest.raises(colonnade.InterfaceError, match="no lease"):
        await batch.ack()


async def test_several_queues_from_left_to_right(pool: colonnade.Pool, queue: jobs.Queue) -> None:
    urgent = await jobs.create_queue(pool, "urgent", {"c": "text"})
    await added(queue, 1)
    assert (await jobs.get([urgent, queue])).queue is queue
    await urgent.add({"c": ["now"]})
    await added(queue, 1)
    assert (await jobs.get([urgent, queue])).queue is urgent
    assert (await jobs.get([urgent, queue])).queue is queue
    nothing = await jobs.get([urgent, queue], timeout=0)
    assert nothing.queue is urgent
    assert not nothing


async def test_get_waits_no_longer_than_asked(queue: jobs.Queue) -> None:
    began = time.monotonic()
    assert not await queue.get(timeout=0.2)
    assert 0.2 <= time.monotonic() - began < 10


async def test_retry_pauses(pool: colonnade.Pool) -> None:
    retry = jobs.Retry(delay=100, factor=3, delay_max=250, jitter=0.5)
    queue = await jobs.create_queue(pool, "slow", {"a": "int8"}, retry=retry)
    await added(queue, 50)
    await (await queue.get()).nack(reason="no")
    pauses = await pool.fetchval(
        "SELECT array_agg(extract(epoch FROM job_ready_at - now())::float8) FROM jobs.slow"
    )
    assert all(49 < pause <= 100 for pause in pauses)
    assert len(set(pauses)) > 40
    assert 125 <= retry.pause(2) <= 250
    assert retry.pause(32_000) <= 250


async def test_ids_of_other_jobs_are_refused(queue: jobs.Queue) -> None:
    await added(queue, 2)
    batch = await queue.get(1)
    with pytest.raises(colonnade.InterfaceError, match="not of this batch"):
        await batch.ack([int(batch.ids[0]), 999])
    with pytest.raises(TypeError, match="whole numbers"):
        await batch.nack(["x"])
    await batch.ack([])
    assert len(batch.held) == 1
