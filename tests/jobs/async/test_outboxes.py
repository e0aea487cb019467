"""Jobs that are part of the caller's transaction, begun by any library or by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade import jobs
from colonnade.embedded import start

if TYPE_CHECKING:
    from collections.abc import Iterator

    from colonnade.jobs.definition import LayoutName

BEGINS = (
    "BEGIN",
    "START TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "BEGIN ISOLATION LEVEL SERIALIZABLE",
)
# Each of them takes another way into the queue.
WAYS: dict[str, dict[str, Any]] = {
    "plain": {},
    "for all": {"priority": 1, "delay": 0.0, "ttl": 60},
    "for each": {"priority": [1, 2]},
    "keys": {"key": "a"},
}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, layout: LayoutName) -> dict[str, Any]:
    """Options of add."""
    if request.param == "keys" and layout == "segments":
        pytest.skip("segments have no keys")
    return WAYS[request.param]


@pytest.mark.parametrize("begin", BEGINS)
async def test_a_transaction_that_was_begun_by_hand(
    pool: colonnade.Pool, queue: jobs.Queue, begin: str, way: dict[str, Any]
) -> None:
    async with pool.acquire() as connection:
        for end, count in (("ROLLBACK", 0), ("COMMIT", 2)):
            await connection.execute(begin)
            await connection.execute("SELECT 1")
            assert await queue.add({"a": [1, 2]}, connection=connection, **way) == 2
            assert await queue.length() == 0
            await connection.execute(end)
            assert await queue.length() == count


async def test_a_transaction_that_is_begun_with_the_next_query(
    pool: colonnade.Pool, queue: jobs.Queue
) -> None:
    async with pool.acquire() as connection:
        await connection.begin_ahead()
        assert await queue.add({"a": [1, 2]}, connection=connection) == 2
        await connection.execute("ROLLBACK")
        assert await queue.length() == 0


async def test_what_fails_keeps_the_transaction_usable(
    pool: colonnade.Pool, queue: jobs.Queue, way: dict[str, Any]
) -> None:
    async with pool.acquire() as connection:
        await connection.execute("BEGIN; CREATE TEMPORARY TABLE kept (n int8) ON COMMIT DROP")
        await queue.add({"a": [1, 2]}, connection=connection, **way)
        for _ in range(2):
            with pytest.raises(colonnade.EncodeError):
                await queue.add({"a": [3, "x"]}, connection=connection, **way)
            await connection.execute("INSERT INTO kept VALUES (1)")
        with pytest.raises(colonnade.InterfaceError, match="1 jobs, and 2 values"):
            await queue.add({"a": [3]}, priority=[1, 2], connection=connection)
        assert await connection.fetchval("SELECT count(*) FROM kept") == 2
        await connection.execute("COMMIT")
    assert sorted((await queue.peek()).to_pydict()["a"]) == [1, 2]


async def test_a_job_is_done_in_a_transaction_that_was_begun_by_hand(
    pool: colonnade.Pool, queue: jobs.Queue
) -> None:
    await queue.add({"a": [1, 2]})
    batch = await queue.get()
    async with pool.acquire() as connection:
        await connection.execute("BEGIN")
        await batch.commit(connection)
        await connection.execute("ROLLBACK")
        assert await queue.length() == 2
        await connection.execute("BEGIN")
        await batch.commit(connection, batch.ids)
        await connection.execute("COMMIT")
    assert await queue.length() == 0


async def test_without_a_transaction_it_is_refused(pool: colonnade.Pool, queue: jobs.Queue) -> None:
    async with pool.acquire() as connection:
        with pytest.raises(colonnade.InterfaceError, match=r"add\(.*needs .*open transaction"):
            await queue.add({"a": [1]}, connection=connection)
        await connection.execute("BEGIN")
        with pytest.raises(colonnade.UndefinedTableError):
            await connection.execute("SELECT FROM no_such_table")
        # It has failed before.
        with pytest.raises(colonnade.InFailedSQLTransactionError):
            await queue.add({"a": [1]}, connection=connection)
        await connection.execute("ROLLBACK")
    with pytest.raises(TypeError, match="needs a connection"):
        await queue.add({"a": [1]}, connection=pool)
    assert await queue.length() == 0


@pytest.fixture(scope="module")
def preparing() -> Iterator[str]:
    """A server with two-phase commit."""
    with start(settings={"max_prepared_transactions": "5"}) as server:
        yield server.dsn


async def test_a_transaction_that_is_prepared_for_two_phases(
    preparing: str, layout: LayoutName
) -> None:
    async with colonnade.create_pool(preparing, min_size=1, max_size=2) as pool:
        queue = await jobs.create_queue(pool, "work", {"a": "int8"}, layout=layout)
        async with pool.acquire() as connection:
            for end, count in (("ROLLBACK", 0), ("COMMIT", 2)):
                await connection.execute("BEGIN")
                await queue.add({"a": [1, 2]}, connection=connection)
                await connection.execute("PREPARE TRANSACTION 'of jobs'")
                assert await queue.length() == 0
                await connection.execute(f"{end} PREPARED 'of jobs'")
                assert await queue.length() == count
        # A worker that waits for jobs of a prepared transaction looks by the clock.
        assert len(await queue.get(timeout=5)) == 2
        await jobs.drop_queue(pool, "work")


async def test_times_count_from_the_adding(pool: colonnade.Pool, layout: LayoutName) -> None:
    """Not from the begin of a transaction that is old by then."""
    queue = await jobs.create_queue(pool, "short", {"a": "int8"}, ttl=0.5, layout=layout)
    async with pool.acquire() as connection, connection.transaction():
        await connection.fetchval("SELECT pg_sleep(1)")
        await queue.add({"a": [1]}, connection=connection)
        await queue.add({"a": [2]}, priority=1, connection=connection)
    assert (await queue.stats()).oldest_ready_s < 0.9
    assert (await queue.get(timeout=0)).columns["a"].tolist() == [1, 2]
    assert (await queue.stats()).dead == 0
