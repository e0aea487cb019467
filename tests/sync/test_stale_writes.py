# Generated from tests/async/test_stale_writes.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Errors that resemble those of a stale statement: statements that have run are not repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade.errors import (
    FeatureNotSupportedError,
    InvalidCachedStatementError,
    InvalidSQLStatementNameError,
)
from tests.support.elsewhere import elsewhere

if TYPE_CHECKING:
    from collections.abc import Iterator

CALL = "CALL written_and_refused($1, $2)"
ADD = "INSERT INTO written_widely VALUES ($1) RETURNING *"


@pytest.fixture
def procedure(connection: colonnade.sync.Connection) -> Iterator[colonnade.sync.Connection]:
    """A procedure that commits before it fails, and whose CALL is a cached statement."""
    connection.execute(
        """
        CREATE TABLE written (a int);
        CREATE PROCEDURE written_and_refused(a int, refuse bool) LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO written VALUES (a);
            COMMIT;
            IF refuse THEN RAISE feature_not_supported; END IF;
        END $$
        """
    )
    try:
        connection.execute(CALL, 1, False)
        yield connection
    finally:
        connection.execute("DROP PROCEDURE written_and_refused; DROP TABLE written")


def written(connection: colonnade.sync.Connection) -> list[int]:
    rows = connection.fetch("SELECT a FROM written ORDER BY a")
    return [row["a"] for row in rows]


def test_a_procedure_that_commits_runs_once(procedure: colonnade.sync.Connection) -> None:
    with pytest.raises(FeatureNotSupportedError):
        procedure.execute(CALL, 2, True)
    assert written(procedure) == [1, 2]


@pytest.mark.parametrize("last", ["SELECT 1 UNION SELECT 2 FOR UPDATE", "DEALLOCATE nowhere"])
def test_a_script_that_commits_runs_once(procedure: colonnade.sync.Connection, last: str) -> None:
    with pytest.raises((FeatureNotSupportedError, InvalidSQLStatementNameError)):
        procedure.execute(f"INSERT INTO written VALUES (2); COMMIT; {last}")
    assert written(procedure) == [1, 2]


def test_in_a_pipeline_too(procedure: colonnade.sync.Connection) -> None:
    with procedure.pipeline() as pipeline:
        refused = pipeline.execute(CALL, 2, True)
        with pytest.raises(FeatureNotSupportedError):
            refused.wait()
    assert written(procedure) == [1, 2]


def test_in_a_series_too(procedure: colonnade.sync.Connection) -> None:
    with pytest.raises(FeatureNotSupportedError):
        procedure.executemany(CALL, [(2, True)])
    assert written(procedure) == [1, 2]


def test_a_series_whose_rows_cannot_be_read(dsn: str) -> None:
    with colonnade.sync.connect(dsn, statement_cache_size=0) as connection:
        connection.execute("DROP TABLE IF EXISTS written_widely")
        connection.execute("CREATE TABLE written_widely (a int)")
        assert connection.fetchmany(ADD, [(1,)]) == [(1,)]
        elsewhere(dsn, "ALTER TABLE written_widely ADD b text")
        with pytest.raises(InvalidCachedStatementError, match="it has run"):
            connection.fetchmany(ADD, [(2,)])
        assert connection.fetchmany(ADD, [(3,)]) == [(3, None)]
        found = connection.fetchval("SELECT array_agg(a) FROM written_widely")
        assert found == [1, 2, 3]
        connection.execute("DROP TABLE written_widely")
