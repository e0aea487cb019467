# Generated from tests/jobs/async/test_attacks.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Orders of calls, values and options that nobody intended: no job is lost, and none blocks."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import colonnade
from colonnade.errors import DecodeError, InterfaceError
from colonnade.jobs import sync as jobs

if TYPE_CHECKING:
    from colonnade.jobs.definition import LayoutName


@pytest.mark.parametrize("verb", ["ack", "nack", "release", "extend"])
def test_settled_ids_do_not_stand_for_others(queue: jobs.Queue, verb: str) -> None:
    """Two of three jobs are named, and two are held: the third is not meant."""
    queue.add({"a": [1, 2, 3]})
    batch = queue.get()
    batch.ack(batch.ids[:1])
    options: dict[str, Any] = {"delay": 60} if verb == "nack" else {}
    with pytest.raises(jobs.LeaseLostError) as caught:
        getattr(batch, verb)(ids=batch.ids[:2], **options)
    assert caught.value.lost.tolist() == batch.ids[:1].tolist()
    assert batch.ids[2] in batch.held
    stats = queue.stats()
    assert stats.leased == (2 if verb == "extend" else 1)
    batch.ack(batch.ids[2:])


def test_settled_ids_do_not_stand_for_others_in_a_transaction(
    pool: colonnade.sync.Pool, queue: jobs.Queue
) -> None:
    queue.add({"a": [1, 2, 3]})
    batch = queue.get()
    batch.ack(batch.ids[:1])
    with pool.acquire() as connection, connection.transaction():
        with pytest.raises(jobs.LeaseLostError):
            batch.commit(connection, batch.ids[:2])
    assert queue.length() == 1
    batch.ack(batch.ids[2:])


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
def test_a_missing_key_is_no_key(rows_queue: jobs.Queue, keys: Any) -> None:
    assert rows_queue.add({"a": [1, 2, 3]}, key=keys) == 3
    assert len(rows_queue.get()) == 3


def test_absent_columns_have_their_defaults_whatever_comes_beside(
    pool: colonnade.sync.Pool, layout: LayoutName
) -> None:
    payload = {"a": "int8 NOT NULL DEFAULT 5", "b": "text"}
    queue = jobs.create_queue(pool, "work", payload, layout=layout)
    queue.add({"b": ["x"]})
    queue.add({"b": ["y"]}, delay=[0.0])
    assert (queue.get()).columns["a"].tolist() == [5, 5]


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
def test_an_old_snapshot_cannot_count_a_queue_of_limited_length(
    pool: colonnade.sync.Pool, layout: LayoutName, isolation: Any
) -> None:
    queue = jobs.create_queue(pool, "short", {"a": "int8"}, max_length=3, layout=layout)
    with pool.acquire() as connection, connection.transaction(isolation=isolation):
        connection.fetchval("SELECT 1")
        queue.add({"a": [1, 2]})
        with pytest.raises(InterfaceError, match="READ COMMITTED"):
            queue.add({"a": [3, 4]}, connection=connection)
    assert queue.length() == 2


@pytest.mark.parametrize("lease", [60.0, None])
def test_a_caller_that_can_read_no_job_does_not_use_up_the_queue(
    pool: colonnade.sync.Pool, layout: LayoutName, lease: float | None
) -> None:
    queue = jobs.create_queue(pool, "work", {"n": "numeric"}, layout=layout)
    queue.add([(Decimal("NaN"),)] * 25 + [(Decimal(5),)])
    for put_away in (10, 20):
        with pytest.raises(DecodeError):
            queue.get(lease=lease, timeout=0)
        assert (queue.stats()).leased == put_away
    batch = queue.get(lease=lease, timeout=0)
    assert batch.columns.to_pydict()["n"] == [Decimal(5)]


@pytest.mark.parametrize("lease", [60.0, None])
def test_jobs_that_cannot_be_read_keep_no_others_away(
    pool: colonnade.sync.Pool, layout: LayoutName, lease: float | None
) -> None:
    """They are out of the way while they are leased, and then dead letters."""
    retry = jobs.Retry(max_attempts=1)
    payload = {"a": "int8", "day": "date", "n": "numeric"}
    queue = jobs.create_queue(pool, "work", payload, retry=retry, layout=layout)
    records: list[tuple[Any, ...]] = [(number, None, None) for number in range(40)]
    records[0] = (0, None, Decimal("NaN"))
    records[17] = (17, None, Decimal("NaN"))
    queue.add(records)
    got: list[int] = []
    while batch := queue.get(lease=lease, timeout=0):
        got += batch.columns["a"].tolist()
    assert got == [number for number in range(40) if number not in {0, 17}]
    table = "work" if layout == "rows" else "work_r"
    pool.execute(f"UPDATE jobs.{table} SET job_ready_at = '-infinity'")
    queue._next_sweep = 0.0
    queue.sweep()
    dead = pool.fetchval("SELECT array_agg(a ORDER BY a) FROM jobs.work_dead")
    assert dead[:1] == [0]
    assert 17 in dead
