# Generated from tests/async/test_stale_pipelines.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Pipelines whose prepared statements the server no longer accepts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade.errors import FeatureNotSupportedError, InvalidSQLStatementNameError
from tests.support.elsewhere import elsewhere

if TYPE_CHECKING:
    from collections.abc import Iterator

ALL = "SELECT * FROM changing ORDER BY 1"


@pytest.fixture
def table(connection: colonnade.sync.Connection) -> Iterator[colonnade.sync.Connection]:
    connection.execute("DROP TABLE IF EXISTS changing; CREATE TABLE changing (a int)")
    connection.execute("INSERT INTO changing VALUES ($1)", 1)
    assert connection.fetch(ALL) == [(1,)]
    yield connection
    connection.execute("DROP TABLE changing")


def test_reads_are_repeated(table: colonnade.sync.Connection, dsn: str) -> None:
    elsewhere(dsn, "ALTER TABLE changing ADD b text")
    with table.pipeline() as pipeline:
        first = pipeline.fetch(ALL)
        between = pipeline.fetchval("SELECT 7")
        second = pipeline.fetch(ALL)
        columns = pipeline.fetch_columns(ALL)
    assert first.result() == second.result() == [(1, None)]
    assert between.result() == 7
    assert columns.result().to_pylist() == [{"a": 1, "b": None}]


def test_statements_that_were_deallocated(table: colonnade.sync.Connection) -> None:
    insert = "INSERT INTO changing VALUES ($1)"
    table.execute("DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$")
    # All later queries fail as well and are repeated too, so the order is kept.
    with table.pipeline() as pipeline:
        for number in (2, 3):
            pipeline.execute(insert, number)
    assert table.fetchval("SELECT array_agg(a) FROM changing") == [1, 2, 3]


def test_a_write_is_not_put_behind_another(table: colonnade.sync.Connection, dsn: str) -> None:
    returning = "INSERT INTO changing SELECT max(a) + 1 FROM changing RETURNING *"
    table.fetch(returning)
    elsewhere(dsn, "ALTER TABLE changing ADD b text")
    with table.pipeline() as pipeline:
        overtaken = pipeline.fetch(returning)
        doubled = pipeline.execute("UPDATE changing SET a = a * $1", 10)
        with pytest.raises(FeatureNotSupportedError) as caught:
            overtaken.wait()
    assert "run it once more" in (caught.value.hint or "")
    assert doubled.result() == "UPDATE 2"
    assert table.fetch(returning) == [(21, None)]
    with table.pipeline() as pipeline:
        again = pipeline.fetch(returning)
    assert again.result() == [(22, None)]


def test_within_a_transaction_it_is_an_error(table: colonnade.sync.Connection, dsn: str) -> None:
    elsewhere(dsn, "ALTER TABLE changing ADD b text")
    with pytest.raises(FeatureNotSupportedError):
        with table.transaction(), table.pipeline() as pipeline:
            pipeline.fetch(ALL)
    assert table.fetch(ALL) == [(1, None)]


def test_a_transaction_that_the_pipeline_began(table: colonnade.sync.Connection, dsn: str) -> None:
    elsewhere(dsn, "ALTER TABLE changing ADD b text")
    with table.pipeline() as pipeline:
        pipeline.execute("BEGIN")
        stale = pipeline.fetch(ALL)
        pipeline.execute("ROLLBACK")
        with pytest.raises(FeatureNotSupportedError):
            stale.wait()
    assert not table.is_in_transaction()


def test_what_fails_again_is_an_error(connection: colonnade.sync.Connection) -> None:
    with connection.pipeline() as pipeline:
        failing = pipeline.execute("EXECUTE nobody_has_prepared_it")
        refused = pipeline.fetch("EXECUTE nor_this")
        for result in (failing, refused):
            with pytest.raises(InvalidSQLStatementNameError):
                result.wait()
