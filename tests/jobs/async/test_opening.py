"""Queues are made, opened, compared and dropped; names and types are hostile."""

from __future__ import annotations

import asyncio
import importlib
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade import jobs
from colonnade._driver.sql.quoting import quote_identifier

if TYPE_CHECKING:
    from colonnade.jobs.definition import LayoutName

PAYLOAD = {"a": "int8", "b": "numeric(12, 2)"}
HOSTILE = ['a"b', "a'b\\", "Ünï.cödé", "a; DROP TABLE x; --", "$$", "select", "%s{0}", " "]


async def test_create_is_idempotent_for_one_definition(pool: colonnade.Pool) -> None:
    options: dict[str, Any] = {"retry": jobs.Retry(max_attempts=3), "ttl": 60.0, "max_length": 10}
    queue = await jobs.create_queue(pool, "q", PAYLOAD, **options)
    await queue.add({"a": [1]})
    again = await jobs.create_queue(pool, "q", {"a": "bigint", "b": "decimal(12,2)"}, **options)
    assert await again.length() == 1
    opened = await jobs.open_queue(pool, "q")
    assert opened.definition.retry.max_attempts == 3
    assert (opened.definition.ttl, opened.definition.max_length) == (60.0, 10)
    assert opened.definition.payload == {"a": "bigint", "b": "numeric(12,2)"}


@pytest.mark.parametrize(
    ("payload", "options", "difference"),
    [
        ({"a": "int4", "b": "numeric(12, 2)"}, {}, '"a" is bigint, not integer'),
        ({"a": "int8"}, {}, r'it has a column "b", numeric\(12,2\), too'),
        ({**PAYLOAD, "c": "text"}, {}, 'it has no column "c"'),
        (PAYLOAD, {"ttl": 5}, r"5\. open_queue opens it as it is"),
        ({"a": "int8 NOT NULL", "b": "numeric(12, 2)"}, {}, "not bigint NOT NULL"),
        ({"b": "numeric(12, 2)", "a": "int8"}, {}, "in the order a, b"),
        (PAYLOAD, {"ttl": 5}, "ttl is None, not 5"),
        (PAYLOAD, {"layout": "segments"}, "layout is rows, not segments"),
        (PAYLOAD, {"retry": jobs.Retry(delay=7)}, "retry is Retry"),
    ],
)
async def test_another_definition_is_refused_with_the_difference(
    pool: colonnade.Pool, payload: dict[str, str], options: dict[str, Any], difference: str
) -> None:
    await jobs.create_queue(pool, "q", PAYLOAD)
    with pytest.raises(jobs.QueueDefinitionError, match=difference):
        await jobs.create_queue(pool, "q", payload, **options)


async def test_what_is_no_pool_and_no_queue_is_refused(pool: colonnade.Pool, dsn: str) -> None:
    for verb in (jobs.open_queue, jobs.drop_queue):
        with pytest.raises(TypeError, match=r"pool must be one of colonnade\..*, not str"):
            await verb(dsn, "q")  # type: ignore[arg-type]
    async with pool.acquire() as connection:
        with pytest.raises(TypeError, match=r"one of .*create_pool, not PoolConnectionProxy"):
            await jobs.create_queue(connection, "q", PAYLOAD)  # type: ignore[arg-type]
    queue = await jobs.create_queue(pool, "q", PAYLOAD)
    with pytest.raises(TypeError, match=r"queues that create_queue or open_queue .*, not str"):
        await jobs.get(["q"])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="queues must be a sequence, not Queue"):
        await jobs.get(queue)  # type: ignore[arg-type]
    no_connection: Any = pool
    with pytest.raises(TypeError, match=r"add.* needs a connection, .*, not Pool"):
        await queue.add({"a": [1]}, connection=no_connection)
    await queue.add({"a": [1]})
    with pytest.raises(TypeError, match=r"commit.* needs a connection, .*, not Pool"):
        await (await queue.get()).commit(no_connection)


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (["a"], "such as {'user_id': .*, not list"),
        ({"a": int}, "in SQL, such as 'int8', not the class int"),
    ],
)
async def test_a_payload_of_the_wrong_kind(
    pool: colonnade.Pool, payload: Any, message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        await jobs.create_queue(pool, "q", payload)


@pytest.mark.parametrize("name", ["job_is_leased", "job_state", "job_"])
async def test_names_that_are_the_queues_own(
    pool: colonnade.Pool, layout: LayoutName, name: str
) -> None:
    payload = {"a": "int8", name: "text"}
    with pytest.raises(ValueError, match=rf"{name}: names that begin with job_ are"):
        await jobs.create_queue(pool, "q", payload, layout=layout)
    with pytest.raises(ValueError, match="names that begin with job_ are"):
        jobs.queue_ddl("q", payload, layout=layout)
    await jobs.create_queue(pool, "q", {"a": "int8", "Job_state": "text"}, layout=layout)


async def test_a_queue_that_had_such_a_name_before(
    pool: colonnade.Pool, layout: LayoutName
) -> None:
    ddl = jobs.queue_ddl("q", {"a": "int8", "former": "text"}, layout=layout)
    await pool.execute(ddl.replace("former", "job_state"))
    opened = await jobs.open_queue(pool, "q")
    again = await jobs.create_queue(pool, "q", {"a": "int8", "job_state": "text"}, layout=layout)
    for queue in (opened, again):
        assert await queue.add({"a": [1], "job_state": ["new"]}) == 1
        batch = await queue.get(timeout=0)
        assert batch.columns["job_state"].tolist() == ["new"]
        await batch.ack()


async def test_a_column_that_is_not_there(pool: colonnade.Pool, layout: LayoutName) -> None:
    queue = await jobs.create_queue(pool, "q", {"a": "int8", "b": "text"}, layout=layout)
    told = r"""no column 'c': its payload has "a", "b"$"""
    with pytest.raises(colonnade.InterfaceError, match=told):
        await queue.add({"a": [1], "c": [2]})


# async-only: begin
async def test_a_pool_of_the_other_kind_is_refused(dsn: str, pool: colonnade.Pool) -> None:
    with (
        colonnade.sync.create_pool(dsn, min_size=0) as other,
        pytest.raises(TypeError, match=r"of colonnade\.sync: colonnade\.jobs\.sync takes it"),
    ):
        await jobs.create_queue(other, "q", PAYLOAD)  # type: ignore[arg-type]
    blocking: Any = importlib.import_module("colonnade.jobs.sync")
    with pytest.raises(TypeError, match=r"pool is one of asyncio: colonnade\.jobs takes it"):
        blocking.create_queue(pool, "q", PAYLOAD)


# async-only: end


async def test_what_is_shown_is_what_is_run(pool: colonnade.Pool, layout: LayoutName) -> None:
    await pool.execute(jobs.queue_ddl("q", PAYLOAD, ttl=5, layout=layout))
    queue = await jobs.create_queue(pool, "q", PAYLOAD, ttl=5, layout=layout)
    assert await queue.add({"a": [1]}) == 1


async def test_a_failed_creation_leaves_nothing(pool: colonnade.Pool) -> None:
    with pytest.raises(colonnade.PostgresError):
        await jobs.create_queue(pool, "q", {"a": "no_such_type"})
    assert await pool.fetchval("SELECT to_regnamespace('jobs')") is None


async def test_a_queue_that_is_not_there(pool: colonnade.Pool) -> None:
    for _ in range(2):
        with pytest.raises(jobs.QueueDefinitionError, match="no queue 'q' in the schema 'jobs'"):
            await jobs.open_queue(pool, "q")
        with pytest.raises(jobs.QueueDefinitionError, match="no queue"):
            await jobs.drop_queue(pool, "q")
        await jobs.create_queue(pool, "other", PAYLOAD)


async def test_a_newer_layout_is_refused(pool: colonnade.Pool) -> None:
    await jobs.create_queue(pool, "q", PAYLOAD)
    await pool.execute("UPDATE jobs.colonnade_queues SET version = 99")
    with pytest.raises(jobs.QueueDefinitionError, match="layout rows 99"):
        await jobs.open_queue(pool, "q")


async def test_a_dropped_queue_can_be_made_anew(pool: colonnade.Pool) -> None:
    await jobs.create_queue(pool, "q", PAYLOAD)
    await jobs.drop_queue(pool, "q")
    queue = await jobs.create_queue(pool, "q", {"c": "text"})
    assert await queue.add({"c": ["x"]}) == 1


@pytest.mark.parametrize("name", HOSTILE)
async def test_any_name_is_only_a_name(pool: colonnade.Pool, layout: LayoutName, name: str) -> None:
    schema = f"s{name}"
    try:
        queue = await jobs.create_queue(pool, name, {name: "text"}, schema=schema, layout=layout)
        assert await queue.add({name: [name, None]}) == 2
        assert await queue.add({name: [name, "other"]}, priority=[1, 1]) == 2
        opened = await jobs.open_queue(pool, name, schema=schema)
        assert list(opened.definition.payload) == [name]
        batch = await opened.get(timeout=0)
        assert batch.columns.to_pydict()[name] == [name, None, name, "other"]
        await batch.nack(batch.ids[:1], reason=f"{name}\0\ud800")
        await batch.ack()
        assert await queue.length() == 1
        await jobs.drop_queue(pool, name, schema=schema)
    finally:
        await pool.execute(f"DROP SCHEMA IF EXISTS {quote_identifier(schema)} CASCADE")


@pytest.mark.parametrize(
    "kind",
    ["int8, b int8", "int8)", "int8; SELECT 1", "int8 DEFAULT 'x'", "int8 -- x", "", "$$", 'a"'],
)
def test_a_type_is_one_type(kind: str) -> None:
    with pytest.raises(ValueError, match="must be one SQL type"):
        jobs.queue_ddl("q", {"a": kind})


@pytest.mark.parametrize(
    ("name", "payload", "message"),
    [
        ("", PAYLOAD, "1 to 63 bytes"),
        ("ü" * 30, PAYLOAD, "at most 58 bytes"),
        ("q\0", PAYLOAD, "a NUL character"),
        ("colonnade_queues", PAYLOAD, "library's own"),
        ("q_dead", PAYLOAD, "library's own"),
        ("q", {}, "at least one column"),
        ("q", {"job_id": "int8"}, "queue's own"),
    ],
)
def test_names_that_cannot_be(name: str, payload: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        jobs.queue_ddl(name, payload)


async def test_a_worker_cannot_touch_another_queue(
    pool: colonnade.Pool, layout: LayoutName
) -> None:
    mine = await jobs.create_queue(pool, "mine", PAYLOAD, layout=layout)
    other = await jobs.create_queue(pool, "other", PAYLOAD, layout=layout)
    await mine.add({"a": [1, 2]})
    await other.add({"a": [3]})
    await pool.execute("DROP ROLE IF EXISTS jobs_worker")
    await pool.execute("CREATE ROLE jobs_worker")
    try:
        await jobs.grant_queue(pool, "mine", "jobs_worker")
        await _works_as_worker(pool)
        await _cannot_grant(pool)
    finally:
        await pool.execute("DROP OWNED BY jobs_worker; DROP ROLE jobs_worker")


async def _cannot_grant(pool: colonnade.Pool) -> None:
    """For a role that has rights but may not grant them, GRANT only warns."""
    await pool.execute("DROP ROLE IF EXISTS jobs_friend; CREATE ROLE jobs_friend")

    async def become(connection: colonnade.Connection) -> None:
        await connection.execute("SET ROLE jobs_worker")

    dsn = pool._connect_args[0]
    try:
        async with colonnade.create_pool(dsn, min_size=1, max_size=1, setup=become) as workers:
            with pytest.raises(jobs.QueueDefinitionError, match="may not grant"):
                await jobs.grant_queue(workers, "mine", "jobs_friend")
    finally:
        await pool.execute("DROP ROLE jobs_friend")


async def _works_as_worker(pool: colonnade.Pool) -> None:
    async def become(connection: colonnade.Connection) -> None:
        await connection.execute("SET ROLE jobs_worker")

    dsn = pool._connect_args[0]
    async with colonnade.create_pool(dsn, min_size=1, max_size=2, setup=become) as workers:
        queue = await jobs.open_queue(workers, "mine")
        await queue.add({"a": [5]}, priority=[2])
        batch = await queue.get(2)
        await batch.nack(batch.ids[:1], reason="no")
        await batch.extend(5)
        await batch.ack()
        assert (await queue.stats()).total == 2
        assert len(await queue.dead()) == 0
        other = await jobs.open_queue(workers, "other")
        for verb in (other.get, other.length, other.peek, other.dead, other.purge):
            with pytest.raises(colonnade.errors.InsufficientPrivilegeError):
                await verb()
        with pytest.raises(colonnade.errors.InsufficientPrivilegeError):
            await other.add({"a": [1]})
        with pytest.raises(colonnade.errors.InsufficientPrivilegeError):
            await jobs.drop_queue(workers, "mine")


# async-only: begin
async def test_many_creators_make_one_queue(pool: colonnade.Pool) -> None:
    queues = await asyncio.gather(*(jobs.create_queue(pool, "q", PAYLOAD) for _ in range(8)))
    await queues[0].add({"a": [1]})
    assert [await queue.length() for queue in queues] == [1] * 8


# async-only: end
