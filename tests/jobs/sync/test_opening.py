# Generated from tests/jobs/async/test_opening.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Queues are made, opened, compared and dropped; names and types are hostile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade._driver.sql.quoting import quote_identifier
from colonnade.jobs import sync as jobs

if TYPE_CHECKING:
    from colonnade.jobs.definition import LayoutName

PAYLOAD = {"a": "int8", "b": "numeric(12, 2)"}
HOSTILE = ['a"b', "a'b\\", "Ünï.cödé", "a; DROP TABLE x; --", "$$", "select", "%s{0}", " "]


def test_create_is_idempotent_for_one_definition(pool: colonnade.sync.Pool) -> None:
    options: dict[str, Any] = {"retry": jobs.Retry(max_attempts=3), "ttl": 60.0, "max_length": 10}
    queue = jobs.create_queue(pool, "q", PAYLOAD, **options)
    queue.add({"a": [1]})
    again = jobs.create_queue(pool, "q", {"a": "bigint", "b": "decimal(12,2)"}, **options)
    assert again.length() == 1
    opened = jobs.open_queue(pool, "q")
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
def test_another_definition_is_refused_with_the_difference(
    pool: colonnade.sync.Pool, payload: dict[str, str], options: dict[str, Any], difference: str
) -> None:
    jobs.create_queue(pool, "q", PAYLOAD)
    with pytest.raises(jobs.QueueDefinitionError, match=difference):
        jobs.create_queue(pool, "q", payload, **options)


def test_what_is_no_pool_and_no_queue_is_refused(pool: colonnade.sync.Pool, dsn: str) -> None:
    for verb in (jobs.open_queue, jobs.drop_queue):
        with pytest.raises(TypeError, match=r"pool must be one of colonnade\..*, not str"):
            verb(dsn, "q")  # type: ignore[arg-type]
    with pool.acquire() as connection:
        with pytest.raises(TypeError, match=r"one of .*create_pool, not PoolConnectionProxy"):
            jobs.create_queue(connection, "q", PAYLOAD)  # type: ignore[arg-type]
    queue = jobs.create_queue(pool, "q", PAYLOAD)
    with pytest.raises(TypeError, match=r"queues that create_queue or open_queue .*, not str"):
        jobs.get(["q"])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="queues must be a sequence, not Queue"):
        jobs.get(queue)  # type: ignore[arg-type]
    no_connection: Any = pool
    with pytest.raises(TypeError, match=r"add.* needs a connection, .*, not Pool"):
        queue.add({"a": [1]}, connection=no_connection)
    queue.add({"a": [1]})
    with pytest.raises(TypeError, match=r"commit.* needs a connection, .*, not Pool"):
        (queue.get()).commit(no_connection)


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (["a"], "such as {'user_id': .*, not list"),
        ({"a": int}, "in SQL, such as 'int8', not the class int"),
    ],
)
def test_a_payload_of_the_wrong_kind(pool: colonnade.sync.Pool, payload: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        jobs.create_queue(pool, "q", payload)


def test_what_is_shown_is_what_is_run(pool: colonnade.sync.Pool, layout: LayoutName) -> None:
    pool.execute(jobs.queue_ddl("q", PAYLOAD, ttl=5, layout=layout))
    queue = jobs.create_queue(pool, "q", PAYLOAD, ttl=5, layout=layout)
    assert queue.add({"a": [1]}) == 1


def test_a_failed_creation_leaves_nothing(pool: colonnade.sync.Pool) -> None:
    with pytest.raises(colonnade.PostgresError):
        jobs.create_queue(pool, "q", {"a": "no_such_type"})
    assert pool.fetchval("SELECT to_regnamespace('jobs')") is None


def test_a_queue_that_is_not_there(pool: colonnade.sync.Pool) -> None:
    for _ in range(2):
        with pytest.raises(jobs.QueueDefinitionError, match="no queue 'q' in the schema 'jobs'"):
            jobs.open_queue(pool, "q")
        with pytest.raises(jobs.QueueDefinitionError, match="no queue"):
            jobs.drop_queue(pool, "q")
        jobs.create_queue(pool, "other", PAYLOAD)


def test_a_newer_layout_is_refused(pool: colonnade.sync.Pool) -> None:
    jobs.create_queue(pool, "q", PAYLOAD)
    pool.execute("UPDATE jobs.colonnade_queues SET version = 99")
    with pytest.raises(jobs.QueueDefinitionError, match="layout rows 99"):
        jobs.open_queue(pool, "q")


def test_a_dropped_queue_can_be_made_anew(pool: colonnade.sync.Pool) -> None:
    jobs.create_queue(pool, "q", PAYLOAD)
    jobs.drop_queue(pool, "q")
    queue = jobs.create_queue(pool, "q", {"c": "text"})
    assert queue.add({"c": ["x"]}) == 1


@pytest.mark.parametrize("name", HOSTILE)
def test_any_name_is_only_a_name(pool: colonnade.sync.Pool, layout: LayoutName, name: str) -> None:
    schema = f"s{name}"
    try:
        queue = jobs.create_queue(pool, name, {name: "text"}, schema=schema, layout=layout)
        assert queue.add({name: [name, None]}) == 2
        assert queue.add({name: [name, "other"]}, priority=[1, 1]) == 2
        opened = jobs.open_queue(pool, name, schema=schema)
        assert list(opened.definition.payload) == [name]
        batch = opened.get(timeout=0)
        assert batch.columns.to_pydict()[name] == [name, None, name, "other"]
        batch.nack(batch.ids[:1], reason=f"{name}\0\ud800")
        batch.ack()
        assert queue.length() == 1
        jobs.drop_queue(pool, name, schema=schema)
    finally:
        pool.execute(f"DROP SCHEMA IF EXISTS {quote_identifier(schema)} CASCADE")


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


def test_a_worker_cannot_touch_another_queue(pool: colonnade.sync.Pool, layout: LayoutName) -> None:
    mine = jobs.create_queue(pool, "mine", PAYLOAD, layout=layout)
    other = jobs.create_queue(pool, "other", PAYLOAD, layout=layout)
    mine.add({"a": [1, 2]})
    other.add({"a": [3]})
    pool.execute("DROP ROLE IF EXISTS jobs_worker")
    pool.execute("CREATE ROLE jobs_worker")
    try:
        jobs.grant_queue(pool, "mine", "jobs_worker")
        _works_as_worker(pool)
        _cannot_grant(pool)
    finally:
        pool.execute("DROP OWNED BY jobs_worker; DROP ROLE jobs_worker")


def _cannot_grant(pool: colonnade.sync.Pool) -> None:
    """For a role that has rights but may not grant them, GRANT only warns."""
    pool.execute("DROP ROLE IF EXISTS jobs_friend; CREATE ROLE jobs_friend")

    def become(connection: colonnade.sync.Connection) -> None:
        connection.execute("SET ROLE jobs_worker")

    dsn = pool._connect_args[0]
    try:
        with colonnade.sync.create_pool(dsn, min_size=1, max_size=1, setup=become) as workers:
            with pytest.raises(jobs.QueueDefinitionError, match="may not grant"):
                jobs.grant_queue(workers, "mine", "jobs_friend")
    finally:
        pool.execute("DROP ROLE jobs_friend")


def _works_as_worker(pool: colonnade.sync.Pool) -> None:
    def become(connection: colonnade.sync.Connection) -> None:
        connection.execute("SET ROLE jobs_worker")

    dsn = pool._connect_args[0]
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=2, setup=become) as workers:
        queue = jobs.open_queue(workers, "mine")
        queue.add({"a": [5]}, priority=[2])
        batch = queue.get(2)
        batch.nack(batch.ids[:1], reason="no")
        batch.extend(5)
        batch.ack()
        assert (queue.stats()).total == 2
        assert len(queue.dead()) == 0
        other = jobs.open_queue(workers, "other")
        for verb in (other.get, other.length, other.peek, other.dead, other.purge):
            with pytest.raises(colonnade.errors.InsufficientPrivilegeError):
                verb()
        with pytest.raises(colonnade.errors.InsufficientPrivilegeError):
            other.add({"a": [1]})
        with pytest.raises(colonnade.errors.InsufficientPrivilegeError):
            jobs.drop_queue(workers, "mine")
