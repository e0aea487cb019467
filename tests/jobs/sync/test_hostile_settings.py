# Generated from tests/jobs/async/test_hostile_settings.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Defaults of role and database that no statement of a queue expects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade.jobs import sync as jobs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from colonnade.jobs.definition import LayoutName

SETTINGS = {
    "serializable": {"default_transaction_isolation": "serializable"},
    "repeatable read": {"default_transaction_isolation": "repeatable read"},
    "read only": {"default_transaction_read_only": "on"},
    "idle": {"idle_in_transaction_session_timeout": "300"},
    "locks": {"lock_timeout": "1"},
    "statements": {"statement_timeout": "10000"},
    "deadlocks": {"deadlock_timeout": "1"},
}


@pytest.fixture(params=SETTINGS)
def hostile(dsn: str, request: pytest.FixtureRequest) -> Iterator[colonnade.sync.Pool]:
    """A pool of a role that has such settings."""
    changes = "; ".join(
        f"ALTER ROLE jobs_hostile SET {name} = '{value}'"
        for name, value in SETTINGS[request.param].items()
    )
    with colonnade.sync.connect(dsn) as owner:
        owner.execute(
            "DROP ROLE IF EXISTS jobs_hostile; CREATE ROLE jobs_hostile LOGIN SUPERUSER"
            f" PASSWORD 'hostile'; {changes}"
        )
        try:
            with colonnade.sync.create_pool(
                dsn, user="jobs_hostile", password="hostile", min_size=1, max_size=8
            ) as pool:
                yield pool
        finally:
            owner.execute("DROP SCHEMA IF EXISTS jobs CASCADE; DROP ROLE jobs_hostile")


def made(pool: colonnade.sync.Pool, layout: LayoutName, **options: Any) -> jobs.Queue:
    return jobs.create_queue(
        pool, "work", {"a": "int8"}, layout=layout, retry=jobs.Retry(delay=0), **options
    )


def test_every_verb(hostile: colonnade.sync.Pool, layout: LayoutName) -> None:
    queue = made(hostile, layout, max_length=1000)
    assert queue.add({"a": [1, 2, 3, 4, 5, 6]}) == 6
    assert queue.add({"a": [7]}, priority=1, delay=0.0, ttl=60) == 1
    batch = queue.get()
    batch.extend(60.0)
    batch.nack(batch.ids[:1], reason="no")
    batch.release(batch.ids[1:2])
    batch.ack(batch.ids[2:3])
    with hostile.acquire() as connection, connection.transaction():
        connection.execute("SET TRANSACTION READ WRITE")
        batch.commit(connection, batch.ids[3:4])
    batch.ack()
    assert (queue.get(1, lease=None)).columns["a"].tolist() == [1]
    assert (queue.get(10, lease=None)).columns["a"].tolist() == [2]
    assert (queue.stats()).total == queue.length() == queue.purge() == 0
    assert queue.requeue() == queue.purge_dead() == 0
    assert jobs.migrate_queues(hostile) == []
    jobs.drop_queue(hostile, "work")
