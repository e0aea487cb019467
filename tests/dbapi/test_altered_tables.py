"""Cached statements whose tables change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from colonnade import dbapi

if TYPE_CHECKING:
    from collections.abc import Iterator

QUERY = "SELECT * FROM dbapi_altered"


@pytest.fixture
def table(dsn: str) -> Iterator[None]:
    """A table of one column, and a row."""
    with dbapi.connect(dsn, autocommit=True) as setup:
        setup.execute("DROP TABLE IF EXISTS dbapi_altered; CREATE TABLE dbapi_altered (n int)")
        setup.execute("INSERT INTO dbapi_altered VALUES (1)")
        yield
        setup.execute("DROP TABLE dbapi_altered")


@pytest.mark.usefixtures("table")
def test_altered_in_the_same_transaction(conn: dbapi.Connection) -> None:
    assert conn.execute(QUERY).fetchall() == [(1,)]
    conn.execute("ALTER TABLE dbapi_altered ADD t text DEFAULT 'x'")
    assert conn.execute(QUERY).fetchall() == [(1, "x")]
    conn.rollback()
    assert conn.execute(QUERY).fetchall() == [(1,)]
    with conn.transaction(force_rollback=True):
        conn.execute("SELECT 1; ALTER TABLE dbapi_altered ADD t text DEFAULT 'y'")
        assert conn.execute(QUERY).fetchall() == [(1, "y")]
    assert conn.execute(QUERY).fetchall() == [(1,)]
    conn.rollback()


@pytest.mark.usefixtures("table")
def test_a_commit_that_the_server_makes_a_rollback(conn: dbapi.Connection) -> None:
    conn.execute("ALTER TABLE dbapi_altered ADD t text DEFAULT 'x'")
    assert conn.execute(QUERY).fetchall() == [(1, "x")]
    with pytest.raises(dbapi.DataError):
        conn.execute("SELECT 1/0")
    conn.commit()
    # A transaction's first statement would be retried, so a later one shows what the client knows.
    conn.execute("SELECT 1")
    assert conn.execute(QUERY).fetchall() == [(1,)]


@pytest.mark.usefixtures("table")
def test_altered_by_another_connection(conn: dbapi.Connection, dsn: str) -> None:
    assert conn.execute(QUERY).fetchall() == [(1,)]
    conn.commit()
    with dbapi.connect(dsn) as other:
        other.execute("ALTER TABLE dbapi_altered ADD t text DEFAULT 'x'")
    assert conn.execute(QUERY).fetchall() == [(1, "x")]
    assert conn.info.transaction_status == "in transaction"
    conn.rollback()
    with dbapi.connect(dsn) as other:
        other.execute("ALTER TABLE dbapi_altered ADD u text DEFAULT 'y'")
    # Earlier statements of the transaction cannot be repeated.
    conn.execute("SELECT 1")
    with pytest.raises(dbapi.NotSupportedError):
        conn.execute(QUERY)
    conn.rollback()
    assert conn.execute(QUERY).fetchall() == [(1, "x", "y")]


def test_a_type_that_another_connection_made_anew(conn: dbapi.Connection, dsn: str) -> None:
    query = "SELECT %s::dbapi_mood"
    with dbapi.connect(dsn, autocommit=True) as other:
        other.execute("CREATE TYPE dbapi_mood AS ENUM ('sad')")
        try:
            assert conn.execute(query, ("sad",)).fetchall() == [("sad",)]
            conn.commit()
            other.execute("DROP TYPE dbapi_mood; CREATE TYPE dbapi_mood AS ENUM ('ok')")
            assert conn.execute(query, ("ok",)).fetchall() == [("ok",)]
            assert conn.info.transaction_status == "in transaction"
            conn.commit()
            other.execute("DROP TYPE dbapi_mood; CREATE TYPE dbapi_mood AS ENUM ('glad')")
            conn.execute("SELECT 1")
            with pytest.raises(dbapi.InternalError, match="cache lookup failed"):
                conn.execute(query, ("glad",))
            conn.rollback()
        finally:
            other.execute("DROP TYPE dbapi_mood")
