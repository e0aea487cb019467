# Generated from tests/jobs/async/test_listing.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""The list of a schema's queues."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from colonnade.jobs import sync as jobs

if TYPE_CHECKING:
    import colonnade


def test_queues_are_listed_by_name(pool: colonnade.sync.Pool) -> None:
    retry = jobs.Retry(max_attempts=2, delay=0.5)
    jobs.create_queue(pool, "zulu", {"a": "int8"}, retry=retry, ttl=60, max_length=10)
    jobs.create_queue(pool, 'odd "name"', {"a": "int8"})
    odd, zulu = jobs.list_queues(pool)
    assert (odd.schema, odd.name, odd.layout) == ("jobs", 'odd "name"', "rows")
    assert (zulu.retry, zulu.ttl, zulu.max_length) == (retry, 60, 10)
    assert (odd.retry, odd.ttl, odd.max_length) == (jobs.Retry(), None, None)
    assert zulu.created_at.tzinfo is not None
    jobs.drop_queue(pool, "zulu")
    assert [each.name for each in jobs.list_queues(pool)] == ['odd "name"']


def test_a_schema_without_queues_has_none(pool: colonnade.sync.Pool) -> None:
    assert jobs.list_queues(pool) == []
    assert jobs.list_queues(pool, schema="nothing here") == []
    with pytest.raises(ValueError, match="schema"):
        jobs.list_queues(pool, schema="")


def test_rules_of_newer_versions_are_listed_and_broken_ones_are_told(
    pool: colonnade.sync.Pool,
) -> None:
    jobs.create_queue(pool, "later", {"a": "int8"})
    write = "UPDATE jobs.colonnade_queues SET version = 99, settings = $1::text::jsonb"
    pool.execute(write, '{"retry": {"max_attempts": 5, "new": 1}, "ttl": null, "more": 2}')
    (later,) = jobs.list_queues(pool)
    assert later.retry.max_attempts == 5
    for broken in ("{}", "null", '{"retry": 5}', '{"retry": {"max_attempts": "x"}}'):
        pool.execute(write, broken)
        with pytest.raises(jobs.QueueDefinitionError, match="no rules of a queue"):
            jobs.list_queues(pool)
