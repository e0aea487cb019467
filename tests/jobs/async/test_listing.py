"""The list of a schema's queues."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from colonnade import jobs

if TYPE_CHECKING:
    import colonnade


async def test_queues_are_listed_by_name(pool: colonnade.Pool) -> None:
    retry = jobs.Retry(max_attempts=2, delay=0.5)
    await jobs.create_queue(pool, "zulu", {"a": "int8"}, retry=retry, ttl=60, max_length=10)
    await jobs.create_queue(pool, 'odd "name"', {"a": "int8"})
    odd, zulu = await jobs.list_queues(pool)
    assert (odd.schema, odd.name, odd.layout) == ("jobs", 'odd "name"', "rows")
    assert (zulu.retry, zulu.ttl, zulu.max_length) == (retry, 60, 10)
    assert (odd.retry, odd.ttl, odd.max_length) == (jobs.Retry(), None, None)
    assert zulu.created_at.tzinfo is not None
    await jobs.drop_queue(pool, "zulu")
    assert [each.name for each in await jobs.list_queues(pool)] == ['odd "name"']


async def test_a_schema_without_queues_has_none(pool: colonnade.Pool) -> None:
    assert await jobs.list_queues(pool) == []
    assert await jobs.list_queues(pool, schema="nothing here") == []
    with pytest.raises(ValueError, match="schema"):
        await jobs.list_queues(pool, schema="")


async def test_rules_of_newer_versions_are_listed_and_broken_ones_are_told(
    pool: colonnade.Pool,
) -> None:
    await jobs.create_queue(pool, "later", {"a": "int8"})
    write = "UPDATE jobs.colonnade_queues SET version = 99, settings = $1::text::jsonb"
    await pool.execute(write, '{"retry": {"max_attempts": 5, "new": 1}, "ttl": null, "more": 2}')
    (later,) = await jobs.list_queues(pool)
    assert later.retry.max_attempts == 5
    for broken in ("{}", "null", '{"retry": 5}', '{"retry": {"max_attempts": "x"}}'):
        await pool.execute(write, broken)
        with pytest.raises(jobs.QueueDefinitionError, match="no rules of a queue"):
            await jobs.list_queues(pool)
