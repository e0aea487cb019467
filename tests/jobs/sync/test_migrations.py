# Generated from tests/jobs/async/test_migrations.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Queues that an older version of this package has made, with their jobs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade.jobs import sync as jobs

if TYPE_CHECKING:
    from collections.abc import Iterator

# What version 1 of the layout rows ran for the queue "old".
ROWS_1 = (Path(__file__).parents[1] / "data" / "rows_1.sql").read_text("utf-8")
RETRY = jobs.Retry(max_attempts=3, delay=0)
PAYLOAD = {"a": "int8", "b": "text"}
# Five jobs, of which two are leased under a token, one for a past lease; and a dead letter.
JOBS = """
INSERT INTO jobs.old (a, b) SELECT i, 'b' || i FROM generate_series(1, 5) AS g (i);
UPDATE jobs.old SET job_token = 7, job_attempts = 1, job_ready_at = now() + interval '1 hour'
 WHERE a = 1;
UPDATE jobs.old SET job_token = 8, job_attempts = 1, job_ready_at = now() - interval '1 hour'
 WHERE a = 2;
INSERT INTO jobs.old_dead (job_id, job_priority, job_attempts, job_reason, a)
 VALUES (100, 0, 3, 'no', 6);
"""


@pytest.fixture
def old(pool: colonnade.sync.Pool) -> Iterator[colonnade.sync.Pool]:
    """A pool whose database has the queue."""
    pool.execute(ROWS_1)
    pool.execute(JOBS)
    pool.execute("DROP ROLE IF EXISTS jobs_stranger; CREATE ROLE jobs_stranger")
    yield pool
    pool.execute("DROP OWNED BY jobs_stranger; DROP ROLE jobs_stranger")


def version(pool: colonnade.sync.Pool) -> int:
    """The version that the table of queues names."""
    found = pool.fetchval("SELECT version FROM jobs.colonnade_queues WHERE name = 'old'")
    assert isinstance(found, int)
    return found


def check_jobs(queue: jobs.Queue) -> None:
    """All of them are there, and so are the leases."""
    stats = queue.stats()
    assert (stats.total, stats.ready, stats.leased, stats.dead) == (5, 4, 1, 1)
    batch = queue.get(timeout=0)
    assert batch.columns["a"].tolist() == [2, 3, 4, 5]
    assert batch.attempts.tolist() == [2, 1, 1, 1]
    batch.ack()
    assert queue.requeue() == 1


def test_an_old_queue_is_not_opened(old: colonnade.sync.Pool) -> None:
    with pytest.raises(jobs.QueueDefinitionError, match=r"layout rows 1, .*migrate_queues"):
        jobs.open_queue(old, "old")
    assert [info.version for info in jobs.list_queues(old)] == [1]


def test_migrate_runs_what_is_shown(old: colonnade.sync.Pool) -> None:
    shown = jobs.migration_ddl(old)
    assert "SET version = 2" in shown
    assert version(old) == 1
    assert jobs.migrate_queues(old) == ["old"]
    assert version(old) == 2
    assert jobs.migration_ddl(old) == ""
    assert jobs.migrate_queues(old) == []
    # The same settings as those of a queue that is made anew.
    jobs.create_queue(old, "new", PAYLOAD)
    options = old.fetch(
        "SELECT t.reloptions FROM pg_class AS c JOIN pg_class AS t ON t.oid = c.reltoastrelid"
        " WHERE c.oid IN ('jobs.old'::regclass, 'jobs.new'::regclass)"
    )
    assert len(options) == 2
    assert sorted(options[0][0]) == sorted(options[1][0])
    check_jobs(jobs.open_queue(old, "old"))


def test_create_migrates_the_queue_it_is_asked_for(old: colonnade.sync.Pool) -> None:
    queue = jobs.create_queue(old, "old", PAYLOAD, retry=RETRY, ttl=3600)
    assert version(old) == 2
    check_jobs(queue)


def test_another_definition_is_refused_before_it_migrates(old: colonnade.sync.Pool) -> None:
    with pytest.raises(jobs.QueueDefinitionError, match="another definition"):
        jobs.create_queue(old, "old", {"a": "int8"})
    assert version(old) == 1


def test_the_shown_text_can_be_run_by_hand(old: colonnade.sync.Pool) -> None:
    old.execute(jobs.migration_ddl(old))
    check_jobs(jobs.open_queue(old, "old"))


def test_a_role_that_does_not_own_the_tables_is_told(old: colonnade.sync.Pool) -> None:
    old.execute(jobs.rights_ddl("old", "jobs_stranger"))
    dsn = old._connect_args[0]

    def become(connection: colonnade.sync.Connection) -> None:
        connection.execute("SET ROLE jobs_stranger")

    with colonnade.sync.create_pool(dsn, min_size=1, max_size=1, setup=become) as workers:
        with pytest.raises(jobs.QueueDefinitionError, match="let the role that owns its tables"):
            jobs.migrate_queues(workers)
    assert version(old) == 1


def test_a_newer_queue_stops_all_of_it(old: colonnade.sync.Pool) -> None:
    jobs.create_queue(old, "new", PAYLOAD)
    old.execute("UPDATE jobs.colonnade_queues SET version = 99 WHERE name = 'new'")
    with pytest.raises(jobs.QueueDefinitionError, match="rows 99"):
        jobs.migrate_queues(old)
    assert version(old) == 1


def test_a_schema_without_queues(pool: colonnade.sync.Pool) -> None:
    assert jobs.migrate_queues(pool) == []
    assert jobs.migration_ddl(pool, schema="nowhere") == ""
