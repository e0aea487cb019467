"""Queues that an older version of this package has made, with their jobs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade import jobs
from colonnade.jobs._layouts import LAYOUTS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

# The statements of earlier versions of the layouts for the queue "old", and of their workers.
DATA = Path(__file__).parents[1] / "data"
WORKERS = json.loads((DATA / "workers.json").read_text("utf-8"))
PRESENT = {layout.name: layout.version for layout in LAYOUTS.values()}
RETRY = jobs.Retry(max_attempts=3, delay=0)
PAYLOAD = {"a": "int8", "b": "text"}
# Six jobs: two are leased under a token, one for a past lease; one is delayed. And a dead letter.
LEASED = """
UPDATE jobs.{table} SET job_token = 7, job_attempts = 1, job_ready_at = now() + interval '1 hour'
 WHERE {first} = 1;
UPDATE jobs.{table} SET job_token = 8, job_attempts = 1, job_ready_at = now() - interval '1 hour'
 WHERE {first} = 2;
UPDATE jobs.{table} SET job_ready_at = now() + interval '1 hour' WHERE {first} = 6;
INSERT INTO jobs.old_dead (job_id, job_priority, job_attempts, job_reason, a)
 VALUES (100, 0, 3, 'no', 7);
"""
JOBS = {
    "rows": """
INSERT INTO jobs.old (a, b) SELECT i, 'b' || i FROM generate_series(1, 6) AS g (i);
"""
    + LEASED.format(table="old", first="a"),
    "segments": """
SELECT nextval('jobs.old_adds');
INSERT INTO jobs.old (job_slot, a, b) SELECT 0, i, 'b' || i FROM generate_series(1, 6) AS g (i);
INSERT INTO jobs.old_r (job_slot, job_place, job_add, job_first, job_last, job_count)
 SELECT 0, 1, 1, i, i, 1 FROM generate_series(1, 6) AS g (i);
"""
    + LEASED.format(table="old_r", first="job_first"),
}


@pytest.fixture(params=sorted(path.stem for path in DATA.glob("*_*.sql")))
def made(request: pytest.FixtureRequest) -> str:
    """The layout, and the version of it."""
    return str(request.param)


@pytest.fixture
async def old(pool: colonnade.Pool, made: str) -> AsyncIterator[colonnade.Pool]:
    """A pool whose database has the queue."""
    await pool.execute((DATA / f"{made}.sql").read_text("utf-8"))
    await pool.execute(JOBS[made[:-2]])
    await pool.execute("DROP ROLE IF EXISTS jobs_stranger; CREATE ROLE jobs_stranger")
    yield pool
    await pool.execute("DROP OWNED BY jobs_stranger; DROP ROLE jobs_stranger")


async def version(pool: colonnade.Pool) -> int:
    """The version that the table of queues names."""
    found = await pool.fetchval("SELECT version FROM jobs.colonnade_queues WHERE name = 'old'")
    assert isinstance(found, int)
    return found


async def shape(pool: colonnade.Pool) -> list[Any]:
    """Tables and indexes with their settings, and columns with types and defaults, by name."""
    return await pool.fetch_plain(
        "SELECT c.relname, c.relkind, c.relpersistence, c.relreplident, c.reloptions::text,"
        " t.reloptions::text, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,"
        " pg_get_expr(d.adbin, d.adrelid), pg_get_indexdef(c.oid)"
        " FROM pg_class AS c LEFT JOIN pg_class AS t ON t.oid = c.reltoastrelid"
        " JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
        " LEFT JOIN pg_attrdef AS d ON d.adrelid = c.oid AND d.adnum = a.attnum"
        " WHERE c.relnamespace = 'jobs'::regnamespace ORDER BY c.relname, a.attname"
    )


async def check_jobs(queue: jobs.Queue) -> None:
    """All of them are there, and so are the leases."""
    stats = await queue.stats()
    assert (stats.total, stats.ready, stats.leased, stats.dead) == (6, 4, 1, 1)
    assert stats.delayed == 1
    batch = await queue.get(timeout=0)
    assert batch.columns["a"].tolist() == [2, 3, 4, 5]
    assert batch.attempts.tolist() == [2, 1, 1, 1]
    await batch.ack()
    assert await queue.requeue() == 1


async def test_an_old_queue_is_not_opened(old: colonnade.Pool, made: str) -> None:
    layout, number = made.split("_")
    with pytest.raises(
        jobs.QueueDefinitionError, match=rf"layout {layout} {number}, .*migrate_queues"
    ):
        await jobs.open_queue(old, "old")
    assert [info.version for info in await jobs.list_queues(old)] == [int(number)]


async def test_migrate_runs_what_is_shown(old: colonnade.Pool, made: str) -> None:
    layout: Any = made[:-2]
    shown = await jobs.migration_ddl(old)
    assert f"SET version = {PRESENT[layout]}" in shown
    assert await version(old) == int(made[-1])
    assert await jobs.migrate_queues(old) == ["old"]
    assert await version(old) == PRESENT[layout]
    assert await jobs.migration_ddl(old) == ""
    assert await jobs.migrate_queues(old) == []
    await check_jobs(await jobs.open_queue(old, "old"))


async def test_the_tables_are_those_of_a_queue_made_anew(old: colonnade.Pool, made: str) -> None:
    layout: Any = made[:-2]
    await jobs.migrate_queues(old)
    migrated = await shape(old)
    await jobs.drop_queue(old, "old")
    await jobs.create_queue(old, "old", PAYLOAD, retry=RETRY, ttl=3600, layout=layout)
    assert migrated == await shape(old)


async def test_create_migrates_the_queue_it_is_asked_for(old: colonnade.Pool, made: str) -> None:
    layout: Any = made[:-2]
    queue = await jobs.create_queue(old, "old", PAYLOAD, retry=RETRY, ttl=3600, layout=layout)
    assert await version(old) == PRESENT[layout]
    await check_jobs(queue)


async def test_another_definition_is_refused_before_it_migrates(
    old: colonnade.Pool, made: str
) -> None:
    with pytest.raises(jobs.QueueDefinitionError, match="another definition"):
        await jobs.create_queue(old, "old", {"a": "int8"})
    assert await version(old) == int(made[-1])


async def test_the_shown_text_can_be_run_by_hand(old: colonnade.Pool) -> None:
    await old.execute(await jobs.migration_ddl(old))
    await check_jobs(await jobs.open_queue(old, "old"))


async def test_a_role_that_does_not_own_the_tables_is_told(old: colonnade.Pool, made: str) -> None:
    await old.execute("GRANT USAGE ON SCHEMA jobs TO jobs_stranger")
    await old.execute("GRANT SELECT ON jobs.colonnade_queues TO jobs_stranger")
    dsn = old._connect_args[0]

    async def become(connection: colonnade.Connection) -> None:
        await connection.execute("SET ROLE jobs_stranger")

    async with colonnade.create_pool(dsn, min_size=1, max_size=1, setup=become) as workers:
        with pytest.raises(jobs.QueueDefinitionError, match="let the role that owns its tables"):
            await jobs.migrate_queues(workers)
    assert await version(old) == int(made[-1])


async def test_who_may_add_may_add_with_a_key(old: colonnade.Pool) -> None:
    if await old.fetchval("SELECT to_regclass('jobs.old_stg') IS NOT NULL"):
        pytest.skip("this version has the table")
    rights = "SELECT has_table_privilege('jobs_stranger', 'jobs.old_stg', 'INSERT, DELETE')"
    await old.execute("GRANT SELECT, INSERT ON jobs.old TO jobs_stranger, PUBLIC")
    await jobs.migrate_queues(old)
    assert await old.fetchval(rights)
    grantees = "SELECT count(*) FROM pg_class, aclexplode(relacl) AS a WHERE relname = 'old_stg'"
    assert await old.fetchval(f"{grantees} AND a.grantee = 0 AND privilege_type = 'INSERT'") == 1


async def test_who_may_add_may_draw_ids(old: colonnade.Pool, made: str) -> None:
    if made.startswith("segments") or int(made[-1]) >= 7:
        pytest.skip("its sequence is granted when it is made")
    rights = "SELECT has_sequence_privilege('jobs_stranger', 'jobs.old_job_id_seq', 'USAGE')"
    await old.execute("GRANT SELECT, INSERT ON jobs.old TO jobs_stranger")
    assert not await old.fetchval(rights)
    await jobs.migrate_queues(old)
    assert await old.fetchval(rights)


async def test_a_newer_queue_stops_all_of_it(old: colonnade.Pool, made: str) -> None:
    await jobs.create_queue(old, "new", PAYLOAD)
    await old.execute("UPDATE jobs.colonnade_queues SET version = 99 WHERE name = 'new'")
    with pytest.raises(jobs.QueueDefinitionError, match="rows 99"):
        await jobs.migrate_queues(old)
    assert await version(old) == int(made[-1])


@pytest.mark.parametrize("made", sorted(WORKERS), indirect=True)
async def test_workers_that_are_not_restarted_go_on(old: colonnade.Pool, made: str) -> None:
    await jobs.migrate_queues(old)
    statements = WORKERS[made]
    got = await old.fetch_columns(statements["lease"], 10, 60.0, 99)
    assert got["a"].tolist() == [2, 3, 4, 5]
    keys: list[Any] = [got["job_priority"], got["job_id"], [99]]
    if "job_place" in got.names:
        bounds = ("job_place", "job_add", "job_first", "job_id")
        keys = [got["job_priority"], *(got[name] for name in bounds), [99] * len(got)]
    assert len(await old.fetch_plain(statements["ack"], *keys)) == 4
    queue = await jobs.open_queue(old, "old")
    stats = await queue.stats()
    assert (stats.total, stats.leased, stats.delayed) == (2, 1, 1)
    table = "old_r" if "job_place" in got.names else "old"
    await old.execute(
        f"UPDATE jobs.{table} SET job_ready_at = now(),"
        " job_waits_until = least(job_waits_until, now())"
    )
    assert (await queue.get(timeout=0)).columns["a"].tolist() == [1, 6]


async def test_a_schema_without_queues(pool: colonnade.Pool) -> None:
    assert await jobs.migrate_queues(pool) == []
    assert await jobs.migration_ddl(pool, schema="nowhere") == ""
