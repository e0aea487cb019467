# Generated from tests/jobs/async/test_outboxes.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Jobs that are part of the caller's transaction, by whom and however it was begun."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade.embedded import start
from colonnade.jobs import sync as jobs

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
def test_a_transaction_that_was_begun_by_hand(
    pool: colonnade.sync.Pool, queue: jobs.Queue, begin: str, way: dict[str, Any]
) -> None:
    with pool.acquire() as connection:
        for end, count in (("ROLLBACK", 0), ("COMMIT", 2)):
            connection.execute(begin)
            connection.execute("SELECT 1")
            assert queue.add({"a": [1, 2]}, connection=connection, **way) == 2
            assert queue.length() == 0
            connection.execute(end)
            assert queue.length() == count


def test_a_transaction_that_is_begun_with_the_next_query(
    pool: colonnade.sync.Pool, queue: jobs.Queue
) -> None:
    with pool.acquire() as connection:
        connection.begin_ahead()
        assert queue.add({"a": [1, 2]}, connection=connection) == 2
        connection.execute("ROLLBACK")
        assert queue.length() == 0


def test_what_fails_keeps_the_transaction_usable(
    pool: colonnade.sync.Pool, queue: jobs.Queue, way: dict[str, Any]
) -> None:
    with pool.acquire() as connection:
        connection.execute("BEGIN; CREATE TEMPORARY TABLE kept (n int8) ON COMMIT DROP")
        queue.add({"a": [1, 2]}, connection=connection, **way)
        for _ in range(2):
            with pytest.raises(colonnade.EncodeError):
                queue.add({"a": [3, "x"]}, connection=connection, **way)
            connection.execute("INSERT INTO kept VALUES (1)")
        with pytest.raises(colonnade.InterfaceError, match="1 jobs, and 2 values"):
            queue.add({"a": [3]}, priority=[1, 2], connection=connection)
        assert connection.fetchval("SELECT count(*) FROM kept") == 2
        connection.execute("COMMIT")
    assert sorted((queue.peek()).to_pydict()["a"]) == [1, 2]


def test_a_job_is_done_in_a_transaction_that_was_begun_by_hand(
    pool: colonnade.sync.Pool, queue: jobs.Queue
) -> None:
    queue.add({"a": [1, 2]})
    batch = queue.get()
    with pool.acquire() as connection:
        connection.execute("BEGIN")
        batch.commit(connection)
        connection.execute("ROLLBACK")
        assert queue.length() == 2
        connection.execute("BEGIN")
        batch.commit(connection, batch.ids)
        connection.execute("COMMIT")
    assert queue.length() == 0


def test_without_a_transaction_it_is_refused(pool: colonnade.sync.Pool, queue: jobs.Queue) -> None:
    with pool.acquire() as connection:
        with pytest.raises(colonnade.InterfaceError, match=r"add\(.*needs .*open transaction"):
            queue.add({"a": [1]}, connection=connection)
        connection.execute("BEGIN")
        with pytest.raises(colonnade.UndefinedTableError):
            connection.execute("SELECT FROM no_such_table")
        # It has failed before.
        with pytest.raises(colonnade.InFailedSQLTransactionError):
            queue.add({"a": [1]}, connection=connection)
        connection.execute("ROLLBACK")
    with pytest.raises(TypeError, match="needs a connection"):
        queue.add({"a": [1]}, connection=pool)
    assert queue.length() == 0


@pytest.fixture(scope="module")
def preparing() -> Iterator[str]:
    """A server with two-phase commit."""
    with start(settings={"max_prepared_transactions": "5"}) as server:
        yield server.dsn


def test_a_transaction_that_is_prepared_for_two_phases(preparing: str, layout: LayoutName) -> None:
    with colonnade.sync.create_pool(preparing, min_size=1, max_size=2) as pool:
        queue = jobs.create_queue(pool, "work", {"a": "int8"}, layout=layout)
        with pool.acquire() as connection:
            for end, count in (("ROLLBACK", 0), ("COMMIT", 2)):
                connection.execute("BEGIN")
                queue.add({"a": [1, 2]}, connection=connection)
                connection.execute("PREPARE TRANSACTION 'of jobs'")
                assert queue.length() == 0
                connection.execute(f"{end} PREPARED 'of jobs'")
                assert queue.length() == count
        # Whoever waits for jobs of a prepared transaction looks by the clock.
        assert len(queue.get(timeout=5)) == 2
        jobs.drop_queue(pool, "work")


def test_times_count_from_the_adding(pool: colonnade.sync.Pool, layout: LayoutName) -> None:
    """Not from the begin of a transaction that is old by then."""
    queue = jobs.create_queue(pool, "short", {"a": "int8"}, ttl=0.5, layout=layout)
    with pool.acquire() as connection, connection.transaction():
        connection.fetchval("SELECT pg_sleep(1)")
        queue.add({"a": [1]}, connection=connection)
        queue.add({"a": [2]}, priority=1, connection=connection)
    assert (queue.stats()).oldest_ready_s < 0.9
    assert (queue.get(timeout=0)).columns["a"].tolist() == [1, 2]
    assert (queue.stats()).dead == 0
