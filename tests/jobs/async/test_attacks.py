"""Orders of calls, values and options that nobody intended: no job is lost, and none blocks."""

from __future__ import annotations

# async-only: begin
import asyncio

# async-only: end
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import colonnade
from colonnade import jobs
from colonnade.errors import DecodeError, InterfaceError

if TYPE_CHECKING:
    from colonnade.jobs.definition import LayoutName


@pytest.mark.parametrize("verb", ["ack", "nack", "release", "extend"])
async def test_settled_ids_do_not_stand_for_others(queue: jobs.Queue, verb: str) -> None:
    """Two of three jobs are named, and two are held: the third is not meant."""
    await queue.add({"a": [1, 2, 3]})
    batch = await queue.get()
    await batch.ack(batch.ids[:1])
    options: dict[str, Any] = {"delay": 60} if verb == "nack" else {}
    with pytest.raises(jobs.LeaseLostError) as caught:
        await getattr(batch, verb)(ids=batch.ids[:2], **options)
    assert caught.value.lost.tolist() == batch.ids[:1].tolist()
    assert batch.ids[2] in batch.held
    stats = await queue.stats()
    assert stats.leased == (2 if verb == "extend" else 1)
    await batch.ack(batch.ids[2:])


async def test_settled_ids_do_not_stand_for_others_in_a_transaction(
    pool: colonnade.Pool, queue: jobs.Queue
) -> None:
    await queue.add({"a": [1, 2, 3]})
    batch = await queue.get()
    await batch.ack(batch.ids[:1])
    async with pool.acquire() as connection, connection.transaction():
        with pytest.raises(jobs.LeaseLostError):
            await batch.commit(connection, batch.ids[:2])
    assert await queue.length() == 1
    await batch.ack(batch.ids[2:])


# async-only: begin
async def test_parts_of_a_batch_are_settled_at_the_same_time(queue: jobs.Queue) -> None:
    await queue.add({"a": np.arange(900)})
    batch = await queue.get()
    parts = [batch.ids[at::9] for at in range(9)]
    await asyncio.gather(
        *(batch.ack(part) if at % 3 else batch.nack(part, delay=0) for at, part in enumerate(parts))
    )
    assert len(batch.held) == 0
    again = await queue.get(timeout=0)
    assert sorted(again.ids.tolist()) == sorted(np.concatenate(parts[::3]).tolist())


# async-only: end
@pytest.mark.parametrize(
    "keys",
    [
        pd.Series(["x", np.nan, None]),
        pd.Series(["x", None, None], dtype="string"),
        pd.Series(pd.to_datetime(["2026-01-01", None, None])),
        np.array([1.0, np.nan, np.nan]),
        ["x", float("nan"), None],
    ],
)
async def test_a_missing_key_is_no_key(rows_queue: jobs.Queue, keys: Any) -> None:
    assert await rows_queue.add({"a": [1, 2, 3]}, key=keys) == 3
    assert len(await rows_queue.get()) == 3


async def test_absent_columns_have_their_defaults_whatever_comes_beside(
    pool: colonnade.Pool, layout: LayoutName
) -> None:
    payload = {"a": "int8 NOT NULL DEFAULT 5", "b": "text"}
    queue = await jobs.create_queue(pool, "work", payload, layout=layout)
    await queue.add({"b": ["x"]})
    await queue.add({"b": ["y"]}, delay=[0.0])
    assert (await queue.get()).columns["a"].tolist() == [5, 5]


@pytest.mark.parametrize(
    "kind",
    [
        "int8 GENERATED ALWAYS AS IDENTITY",
        "int8 UNIQUE",
        "int8 primary key",
        "int8 REFERENCES users",
    ],
)
def test_what_dead_letters_could_not_keep_is_refused(kind: str) -> None:
    with pytest.raises(ValueError, match="dead letters"):
        jobs.queue_ddl("work", {"a": kind})


@pytest.mark.parametrize("name", ["job_ordinal", "job_place"])
def test_names_that_add_needs_are_refused(layout: LayoutName, name: str) -> None:
    with pytest.raises(ValueError, match="the queue's own"):
        jobs.queue_ddl("work", {name: "int8"}, layout=layout)


@pytest.mark.parametrize("isolation", ["repeatable_read", "serializable"])
async def test_an_old_snapshot_cannot_count_a_queue_of_limited_length(
    pool: colonnade.Pool, layout: LayoutName, isolation: Any
) -> None:
    queue = await jobs.create_queue(pool, "short", {"a": "int8"}, max_length=3, layout=layout)
    async with pool.acquire() as connection, connection.transaction(isolation=isolation):
        await connection.fetchval("SELECT 1")
        await queue.add({"a": [1, 2]})
        with pytest.raises(InterfaceError, match="READ COMMITTED"):
            await queue.add({"a": [3, 4]}, connection=connection)
    assert await queue.length() == 2


@pytest.mark.parametrize("lease", [60.0, None])
async def test_a_caller_that_can_read_no_job_does_not_use_up_the_queue(
    pool: colonnade.Pool, layout: LayoutName, lease: float | None
) -> None:
    queue = await jobs.create_queue(pool, "work", {"n": "numeric"}, layout=layout)
    await queue.add([(Decimal("NaN"),)] * 25 + [(Decimal(5),)])
    for put_away in (10, 20):
        with pytest.raises(DecodeError):
            await queue.get(lease=lease, timeout=0)
        assert (await queue.stats()).leased == put_away
    batch = await queue.get(lease=lease, timeout=0)
    assert batch.columns.to_pydict()["n"] == [Decimal(5)]


@pytest.mark.parametrize("lease", [60.0, None])
async def test_jobs_that_cannot_be_read_keep_no_others_away(
    pool: colonnade.Pool, layout: LayoutName, lease: float | None
) -> None:
    """They are out of the way while they are leased, and then dead letters."""
    retry = jobs.Retry(max_attempts=1)
    payload = {"a": "int8", "day": "date", "n": "numeric"}
    queue = await jobs.create_queue(pool, "work", payload, retry=retry, layout=layout)
    records: list[tuple[Any, ...]] = [(number, None, None) for number in range(40)]
    records[0] = (0, None, Decimal("NaN"))
    records[17] = (17, None, Decimal("NaN"))
    await queue.add(records)
    got: list[int] = []
    while batch := await queue.get(lease=lease, timeout=0):
        got += batch.columns["a"].tolist()
    assert got == [number for number in range(40) if number not in {0, 17}]
    table = "work" if layout == "rows" else "work_r"
    await pool.execute(f"UPDATE jobs.{table} SET job_ready_at = '-infinity'")
    queue._next_sweep = 0.0
    await queue.sweep()
    dead = await pool.fetchval("SELECT array_agg(a ORDER BY a) FROM jobs.work_dead")
    assert dead[:1] == [0]
    assert 17 in dead
