"""Small calls of `add` leave the catalogs as they are, whatever comes beside the jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from colonnade import jobs
from colonnade.errors import CheckViolationError, EncodeError, InterfaceError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import colonnade
    from colonnade.jobs.definition import LayoutName

# The catalogs of CREATE TABLE. A row that is gone leaves its place, and the next lies behind it.
CATALOGS = ("pg_class", "pg_attribute", "pg_type", "pg_depend", "pg_constraint", "pg_index")


class Stream:
    """A source whose names are not known before it is read."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """One batch."""
        yield {"a": np.array([1, 2]), "b": ["x", "y"]}


OPTIONS: dict[str, dict[str, Any]] = {
    "delay": {"delay": 3600},
    "priority and ttl": {"priority": 2, "ttl": 60.0},
    "delays": {"delay": [3600.0, None]},
    "priorities": {"priority": np.array([1, 2], np.int16)},
    "ttls": {"ttl": [60, 0.5], "trace": "t"},
    "key": {"key": "a"},
    "keys": {"key": ["k", None], "on_conflict": "replace"},
}


async def written(pool: colonnade.Pool) -> list[Any]:
    """The newest row of each catalog."""
    return [
        await pool.fetchval(f"SELECT max(xmin::text::bigint) FROM pg_catalog.{name}")
        for name in CATALOGS
    ]


@pytest.mark.parametrize("option", OPTIONS)
async def test_the_catalogs_stay_as_they_are(
    pool: colonnade.Pool, queue: jobs.Queue, layout: LayoutName, option: str
) -> None:
    if "key" in option and layout == "segments":
        pytest.skip("segments have no keys")
    before = await written(pool)
    async with pool.acquire() as connection, connection.transaction():
        count = await queue.add(
            {"a": [1, 2], "b": ["x", "y"]}, connection=connection, **OPTIONS[option]
        )
        # Temporary tables would still be there.
        assert await connection.fetchval("SELECT pg_my_temp_schema()") == 0
    assert count == 2
    assert await queue.length() == 2
    assert await written(pool) == before
    assert await pool.fetchval("SELECT count(*) FROM jobs.work_stg") == 0


async def test_names_that_are_not_evident(pool: colonnade.Pool, queue: jobs.Queue) -> None:
    before = await written(pool)
    assert await queue.add(Stream()) == 2
    assert await written(pool) == before
    batch = await queue.get(timeout=0)
    assert batch.columns["b"].tolist() == ["x", "y"]


@pytest.mark.parametrize("name", ["job_call", "job_id"])
async def test_own_columns_that_are_not_evident(queue: jobs.Queue, name: str) -> None:
    class Hidden:
        def __iter__(self) -> Iterator[dict[str, Any]]:
            yield {"a": np.array([1]), name: np.array([5])}

    with pytest.raises((CheckViolationError, InterfaceError), match=name):
        await queue.add(Hidden())
    assert await queue.length() == 0


@pytest.mark.parametrize("count", [3, 20_000])
async def test_values_stay_with_their_jobs(queue: jobs.Queue, count: int) -> None:
    numbers = np.arange(count)
    priorities = (numbers % 3).astype(np.int16)
    async with queue.pool.acquire() as connection, connection.transaction():
        await queue.add({"a": numbers}, priority=priorities, connection=connection)
        await queue.add({"a": numbers + count}, priority=priorities, connection=connection)
    batch = await queue.get(2 * count, timeout=0)
    a, got = batch.columns["a"], batch.columns["job_priority"]
    assert len(a) == 2 * count
    assert (got == a % count % 3).all()
    assert [a[got == n].tolist() for n in range(3)] == [
        [*numbers[n::3], *(numbers[n::3] + count)] for n in range(3)
    ]


async def test_odd_arrays_are_refused_with_their_row(queue: jobs.Queue) -> None:
    refused: list[dict[str, Any]] = [
        *({"delay": [0, -1.0]}, {"delay": [0, float("nan")]}),
        {"ttl": [1.0, 0]},
    ]
    for options in refused:
        with pytest.raises(CheckViolationError, match="must be"):
            await queue.add({"a": [1, 2]}, **options)
    with pytest.raises(EncodeError, match="row 1"):
        await queue.add({"a": [1, 2]}, priority=[1, "soon"])
    assert await queue.length() == 0


async def test_two_adders_at_once_see_their_own_rows(pool: colonnade.Pool) -> None:
    queue = await jobs.create_queue(pool, "rows", {"a": "int8"})
    async with pool.acquire() as one, pool.acquire() as two, one.transaction(), two.transaction():
        for number in range(3):
            await queue.add({"a": [number]}, key="a", connection=one)
            await queue.add({"a": [number + 10]}, priority=[1], connection=two)
    batch = await queue.get(timeout=0)
    assert batch.columns["a"].tolist() == [0, 1, 2, 10, 11, 12]


async def test_a_worker_needs_no_temporary_tables(pool: colonnade.Pool) -> None:
    queue = await jobs.create_queue(pool, "work", {"a": "int8"})
    role = "jobs_small_adder"
    await pool.execute(f"DROP ROLE IF EXISTS {role}; CREATE ROLE {role}")
    try:
        await jobs.grant_queue(pool, "work", role)
        async with pool.acquire() as connection, connection.transaction():
            await connection.execute(f"SET LOCAL ROLE {role}")
            await queue.add({"a": [1]}, key=["k"], delay=1, connection=connection)
        assert await queue.length() == 1
    finally:
        await pool.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")
