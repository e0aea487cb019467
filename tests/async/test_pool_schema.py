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
    from collections.abc import AsyncIterator

_QUERY = "SELECT * FROM pool_schema AS t"


@pytest.fixture
async def pool(dsn: str, nothing_left: None) -> AsyncIterator[colonnade.Pool]:
    del nothing_left
    async with colonnade.create_pool(dsn, min_size=2, max_size=2) as pool:
        await pool.execute(
            "DROP TABLE IF EXISTS pool_schema; CREATE TABLE pool_schema AS SELECT 1 AS a"
        )
        async with pool.acquire() as one, pool.acquire() as other:
            for connection in (one, other):
                assert await connection.fetch(_QUERY) == [(1,)]
                assert await connection.fetchval("SELECT t FROM pool_schema AS t") == (1,)
        yield pool
        await pool.execute("DROP TABLE pool_schema")


async def test_a_plan_that_one_has_found_stale_is_stale_for_all(
    pool: colonnade.Pool, dsn: str
) -> None:
    async with pool.acquire() as one:
        await one.fetch(_QUERY)
        elsewhere(dsn, "ALTER TABLE pool_schema ADD COLUMN b text DEFAULT 'x'")
        # No connection knows of the change yet, and within a transaction a query cannot be
        # retried.
        with pytest.raises(InvalidCachedStatementError):
            async with one.transaction():
                await one.fetch(_QUERY)
        async with pool.acquire() as other, other.transaction():
            assert await other.fetch(_QUERY) == [(1, "x")]


async def test_a_type_that_one_has_found_altered_is_altered_for_all(
    pool: colonnade.Pool, dsn: str
) -> None:
    query = "SELECT t FROM pool_schema AS t"
    elsewhere(dsn, "ALTER TABLE pool_schema ADD COLUMN b text DEFAULT 'x'")
    async with pool.acquire() as one:
        assert await one.fetchval(query) == (1, "x")
        async with pool.acquire() as other, other.transaction():
            assert await other.fetchval(query) == (1, "x")


async def test_a_reload_is_one_for_all(pool: colonnade.Pool) -> None:
    statements = "SELECT name FROM pg_prepared_statements WHERE statement = $1"
    async with pool.acquire() as one, pool.acquire() as other:
        (before,) = await other.fetch(statements, _QUERY)
        await one.reload_schema_state()
        await other.fetch(_QUERY)
        (after,) = await other.fetch(statements, _QUERY)
        assert before != after


async def test_a_change_by_one_is_known_to_all(pool: colonnade.Pool) -> None:
    query = "SELECT t FROM pool_schema AS t"
    async with pool.acquire() as one, pool.acquire() as other:
        await one.execute("ALTER TABLE pool_schema RENAME COLUMN a TO c")
        async with other.transaction():
            assert dict((await other.fetchval(query)).items()) == {"c": 1}
        async with one.transaction():
            await one.execute("CREATE TEMP TABLE unrelated (a int)")
            await one.execute("ALTER TABLE pool_schema ADD d int")
            assert await one.fetchval(query) == (1, None)
            raise_it = "SELECT 1 / 0"
            with pytest.raises(colonnade.PostgresError):
                await one.execute(raise_it)
            await one.execute("ROLLBACK")
            # The other one never saw the change that was rolled back.
            assert await other.fetchval(query) == (1,)
            await one.execute("BEGIN")
        assert await one.fetchval(query) == (1,)


async def test_other_errors_do_not_affect_other_connections(pool: colonnade.Pool) -> None:
    statements = "SELECT count(*) FROM pg_prepared_statements WHERE statement = $1"
    async with pool.acquire() as one:
        with pytest.raises(UndefinedTableError):
            await one.fetch("SELECT * FROM no_such_table")
        with pytest.raises(FeatureNotSupportedError):
            await one.fetch("SELECT a FROM pool_schema GROUP BY a FOR UPDATE")
        async with pool.acquire() as other:
            assert await other.fetchval(statements, _QUERY) == 1
