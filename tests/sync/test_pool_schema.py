# Generated from tests/async/test_pool_schema.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""A change of the schema that one connection of a pool discovers is known to the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade.errors import (
    FeatureNotSupportedError,
    InvalidCachedStatementError,
    UndefinedTableError,
)
from tests.support.elsewhere import elsewhere

if TYPE_CHECKING:
    from collections.abc import Iterator

_QUERY = "SELECT * FROM pool_schema AS t"


@pytest.fixture
def pool(dsn: str, nothing_left: None) -> Iterator[colonnade.sync.Pool]:
    del nothing_left
    with colonnade.sync.create_pool(dsn, min_size=2, max_size=2) as pool:
        pool.execute("DROP TABLE IF EXISTS pool_schema; CREATE TABLE pool_schema AS SELECT 1 AS a")
        with pool.acquire() as one, pool.acquire() as other:
            for connection in (one, other):
                assert connection.fetch(_QUERY) == [(1,)]
                assert connection.fetchval("SELECT t FROM pool_schema AS t") == (1,)
        yield pool
        pool.execute("DROP TABLE pool_schema")


def test_a_plan_that_one_has_found_stale_is_stale_for_all(
    pool: colonnade.sync.Pool, dsn: str
) -> None:
    with pool.acquire() as one:
        one.fetch(_QUERY)
        elsewhere(dsn, "ALTER TABLE pool_schema ADD COLUMN b text DEFAULT 'x'")
        # No connection knows of the change yet, and within a transaction a query cannot be
        # retried.
        with pytest.raises(InvalidCachedStatementError):
            with one.transaction():
                one.fetch(_QUERY)
        with pool.acquire() as other, other.transaction():
            assert other.fetch(_QUERY) == [(1, "x")]


def test_a_type_that_one_has_found_altered_is_altered_for_all(
    pool: colonnade.sync.Pool, dsn: str
) -> None:
    query = "SELECT t FROM pool_schema AS t"
    elsewhere(dsn, "ALTER TABLE pool_schema ADD COLUMN b text DEFAULT 'x'")
    with pool.acquire() as one:
        assert one.fetchval(query) == (1, "x")
        with pool.acquire() as other, other.transaction():
            assert other.fetchval(query) == (1, "x")


def test_a_reload_is_one_for_all(pool: colonnade.sync.Pool) -> None:
    statements = "SELECT name FROM pg_prepared_statements WHERE statement = $1"
    with pool.acquire() as one, pool.acquire() as other:
        (before,) = other.fetch(statements, _QUERY)
        one.reload_schema_state()
        other.fetch(_QUERY)
        (after,) = other.fetch(statements, _QUERY)
        assert before != after


def test_a_change_by_one_is_known_to_all(pool: colonnade.sync.Pool) -> None:
    query = "SELECT t FROM pool_schema AS t"
    with pool.acquire() as one, pool.acquire() as other:
        one.execute("ALTER TABLE pool_schema RENAME COLUMN a TO c")
        with other.transaction():
            assert dict((other.fetchval(query)).items()) == {"c": 1}
        with one.transaction():
            one.execute("CREATE TEMP TABLE unrelated (a int)")
            one.execute("ALTER TABLE pool_schema ADD d int")
            assert one.fetchval(query) == (1, None)
            raise_it = "SELECT 1 / 0"
            with pytest.raises(colonnade.PostgresError):
                one.execute(raise_it)
            one.execute("ROLLBACK")
            # What was rolled back was never seen by the other one.
            assert other.fetchval(query) == (1,)
            one.execute("BEGIN")
        assert one.fetchval(query) == (1,)


def test_other_errors_do_not_affect_other_connections(pool: colonnade.sync.Pool) -> None:
    statements = "SELECT count(*) FROM pg_prepared_statements WHERE statement = $1"
    with pool.acquire() as one:
        with pytest.raises(UndefinedTableError):
            one.fetch("SELECT * FROM no_such_table")
        with pytest.raises(FeatureNotSupportedError):
            one.fetch("SELECT a FROM pool_schema GROUP BY a FOR UPDATE")
        with pool.acquire() as other:
            assert other.fetchval(statements, _QUERY) == 1
