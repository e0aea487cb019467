"""Pipelines whose prepared statements the server no longer accepts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade.errors import FeatureNotSupportedError, InvalidSQLStatementNameError
from tests.support.elsewhere import elsewhere

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ALL = "SELECT * FROM changing ORDER BY 1"


@pytest.fixture
async def table(connection: colonnade.Connection) -> AsyncIterator[colonnade.Connection]:
    await connection.execute("DROP TABLE IF EXISTS changing; CREATE TABLE changing (a int)")
    await connection.execute("INSERT INTO changing VALUES ($1)", 1)
    assert await connection.fetch(ALL) == [(1,)]
    yield connection
    await connection.execute("DROP TABLE changing")


async def test_reads_are_repeated(table: colonnade.Connection, dsn: str) -> None:
    elsewhere(dsn, "ALTER TABLE changing ADD b text")
    async with table.pipeline() as pipeline:
        first = pipeline.fetch(ALL)
        between = pipeline.fetchval("SELECT 7")
        second = pipeline.fetch(ALL)
        columns = pipeline.fetch_columns(ALL)
    assert first.result() == second.result() == [(1, None)]
    assert between.result() == 7
    assert columns.result().to_pylist() == [{"a": 1, "b": None}]


async def test_statements_that_were_deallocated(table: colonnade.Connection) -> None:
    insert = "INSERT INTO changing VALUES ($1)"
    await table.execute("DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$")
    # All later queries fail as well and are repeated too, so the order is kept.
    async with table.pipeline() as pipeline:
        for number in (2, 3):
            pipeline.execute(insert, number)
    assert await table.fetchval("SELECT array_agg(a) FROM changing") == [1, 2, 3]


async def test_a_write_is_not_put_behind_another(table: colonnade.Connection, dsn: str) -> None:
    returning = "INSERT INTO changing SELECT max(a) + 1 FROM changing RETURNING *"
    await table.fetch(returning)
    elsewhere(dsn, "ALTER TABLE changing ADD b text")
    async with table.pipeline() as pipeline:
        overtaken = pipeline.fetch(returning)
        doubled = pipeline.execute("UPDATE changing SET a = a * $1", 10)
        with pytest.raises(FeatureNotSupportedError) as caught:
            await overtaken.wait()
    assert "run it once more" in (caught.value.hint or "")
    assert doubled.result() == "UPDATE 2"
    assert await table.fetch(returning) == [(21, None)]
    async with table.pipeline() as pipeline:
        again = pipeline.fetch(returning)
    assert again.result() == [(22, None)]


async def test_within_a_transaction_it_is_an_error(table: colonnade.Connection, dsn: str) -> None:
    elsewhere(dsn, "ALTER TABLE changing ADD b text")
    with pytest.raises(FeatureNotSupportedError):
        async with table.transaction(), table.pipeline() as pipeline:
            pipeline.fetch(ALL)
    assert await table.fetch(ALL) == [(1, None)]


async def test_a_transaction_that_the_pipeline_began(table: colonnade.Connection, dsn: str) -> None:
    elsewhere(dsn, "ALTER TABLE changing ADD b text")
    async with table.pipeline() as pipeline:
        pipeline.execute("BEGIN")
        stale = pipeline.fetch(ALL)
        pipeline.execute("ROLLBACK")
        with pytest.raises(FeatureNotSupportedError):
            await stale.wait()
    assert not table.is_in_transaction()


async def test_what_fails_again_is_an_error(connection: colonnade.Connection) -> None:
    async with connection.pipeline() as pipeline:
        failing = pipeline.execute("EXECUTE nobody_has_prepared_it")
        refused = pipeline.fetch("EXECUTE nor_this")
        for result in (failing, refused):
            with pytest.raises(InvalidSQLStatementNameError):
                await result.wait()
