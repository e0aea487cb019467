"""When transactions begin and end, their options, and blocks of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from colonnade import dbapi
from tests.support.proxy import Proxy

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def table(dsn: str) -> Iterator[str]:
    """A table that other connections see, too."""
    with dbapi.connect(dsn, autocommit=True) as setup:
        setup.execute("DROP TABLE IF EXISTS dbapi_t; CREATE TABLE dbapi_t (n int)")
        yield "dbapi_t"
        setup.execute("DROP TABLE dbapi_t")


def rows(dsn: str) -> list[int]:
    with dbapi.connect(dsn) as other:
        return [n for (n,) in other.execute("SELECT n FROM dbapi_t ORDER BY n")]


def test_a_transaction_begins_with_the_first_statement(conn: dbapi.Connection) -> None:
    assert conn.info.transaction_status == "idle"
    first = conn.execute("SELECT now(), pg_backend_pid()").fetchone()
    assert conn.info.transaction_status == "in transaction"
    assert conn.execute("SELECT now(), pg_backend_pid()").fetchone() == first
    conn.commit()
    assert conn.info.transaction_status == "idle"
    conn.commit()
    conn.rollback()


def test_commit_and_rollback(conn: dbapi.Connection, table: str, dsn: str) -> None:
    conn.execute(f"INSERT INTO {table} VALUES (1)")
    assert rows(dsn) == []
    conn.commit()
    assert rows(dsn) == [1]
    conn.execute(f"DELETE FROM {table}")
    conn.rollback()
    assert rows(dsn) == [1]


def test_the_block_of_a_connection(dsn: str, table: str) -> None:
    with dbapi.connect(dsn) as conn:
        conn.execute(f"INSERT INTO {table} VALUES (1)")
    assert conn.closed
    assert rows(dsn) == [1]
    conn = dbapi.connect(dsn)

    def fail() -> None:
        with conn:
            conn.execute(f"INSERT INTO {table} VALUES (2)")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert conn.closed
    assert rows(dsn) == [1]


def test_autocommit(dsn: str, table: str) -> None:
    with dbapi.connect(dsn, autocommit=True) as conn:
        conn.execute(f"INSERT INTO {table} VALUES (1)")
        assert rows(dsn) == [1]
        assert conn.info.transaction_status == "idle"
        conn.autocommit = False
        conn.execute("SELECT 1")
        with pytest.raises(dbapi.ProgrammingError, match="commit or roll back"):
            conn.autocommit = True
        conn.rollback()


def test_a_failed_transaction_waits_for_its_end(conn: dbapi.Connection) -> None:
    with pytest.raises(dbapi.DataError):
        conn.execute("SELECT 1/0")
    assert conn.info.transaction_status == "failed"
    with pytest.raises(dbapi.InternalError):
        conn.execute("SELECT 1")
    conn.rollback()
    assert conn.execute("SELECT 1").fetchone() == (1,)


def test_options(conn: dbapi.Connection) -> None:
    query = (
        "SELECT current_setting('transaction_isolation'), "
        "current_setting('transaction_read_only'), current_setting('transaction_deferrable')"
    )
    assert conn.execute(query).fetchone() == ("read committed", "off", "off")
    for name, value in [("isolation_level", 4), ("read_only", True), ("deferrable", True)]:
        with pytest.raises(dbapi.ProgrammingError):
            setattr(conn, name, value)
    conn.rollback()
    conn.isolation_level = dbapi.IsolationLevel.REPEATABLE_READ
    conn.read_only = True
    assert conn.execute(query).fetchone() == ("repeatable read", "on", "off")
    with pytest.raises(dbapi.InternalError):
        conn.execute("CREATE TABLE never (n int)")
    conn.rollback()
    conn.isolation_level = 4
    conn.deferrable = True
    assert conn.execute(query).fetchone() == ("serializable", "on", "on")
    conn.rollback()
    conn.isolation_level = conn.deferrable = None
    conn.read_only = False
    assert conn.execute(query).fetchone() == ("read committed", "off", "off")
    conn.rollback()
    with pytest.raises(dbapi.ProgrammingError, match="SERIALIZABLE"):
        conn.isolation_level = 5


def test_blocks_nest_as_savepoints(conn: dbapi.Connection, table: str, dsn: str) -> None:
    with conn.transaction() as outer:
        assert outer.savepoint_name is None
        conn.execute(f"INSERT INTO {table} VALUES (1)")
        with pytest.raises(dbapi.DataError), conn.transaction():
            conn.execute(f"INSERT INTO {table} VALUES (2); SELECT 1/0")
        with conn.transaction('it\'s "mine"'):
            conn.execute(f"INSERT INTO {table} VALUES (3)")
        with conn.transaction(force_rollback=True):
            conn.execute(f"INSERT INTO {table} VALUES (4)")
        for action in (conn.commit, conn.rollback):
            with pytest.raises(dbapi.ProgrammingError, match="transaction\\(\\) block"):
                action()
        assert rows(dsn) == []
    assert rows(dsn) == [1, 3]
    assert conn.info.transaction_status == "idle"


def test_a_block_within_a_transaction_commits_nothing(
    conn: dbapi.Connection, table: str, dsn: str
) -> None:
    conn.execute(f"INSERT INTO {table} VALUES (1)")
    with conn.transaction():
        conn.execute(f"INSERT INTO {table} VALUES (2)")
    assert rows(dsn) == []
    conn.commit()
    assert rows(dsn) == [1, 2]


def test_a_connection_that_is_lost_within_a_block(dsn: str) -> None:
    with Proxy(dsn) as proxy:
        conn = dbapi.connect(proxy.dsn)
        with pytest.raises(dbapi.OperationalError), conn.transaction():
            conn.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        assert conn.closed
        with pytest.raises(dbapi.OperationalError, match="closed"):
            conn.execute("SELECT 1")
        conn.close()


def test_a_refused_series_leaves_the_connection(conn: dbapi.Connection) -> None:
    cursor = conn.cursor()
    for _ in range(3):
        with pytest.raises(dbapi.DataError, match="expected an int"):
            cursor.executemany("SELECT %s::int4", [[object()]])
        assert conn.info.transaction_status == "in transaction"
        conn.rollback()
    cursor.executemany("SELECT %s::int4", [[1]])
    assert conn.info.transaction_status == "in transaction"


def test_a_refused_series_behind_a_refused_statement(conn: dbapi.Connection) -> None:
    cursor = conn.cursor()
    with pytest.raises(dbapi.DataError):
        cursor.execute("SELECT %s::int4", [object()])
    conn.rollback()
    with pytest.raises(dbapi.DataError, match="expected an int"):
        cursor.executemany("SELECT %s::int4", [[object()]])
    conn.rollback()
    assert cursor.execute("SELECT %s::int4", [1]).fetchall() == [(1,)]


def test_a_block_whose_connection_is_closed_commits_nothing(table: str, dsn: str) -> None:
    def close_within(conn: dbapi.Connection) -> None:
        with conn.transaction():
            conn.execute(f"INSERT INTO {table} VALUES (1)")
            conn.close()

    with pytest.raises(dbapi.OperationalError, match="closed within the transaction"):
        close_within(dbapi.connect(dsn))
    assert rows(dsn) == []


def test_a_rollback_that_fails_is_a_note_of_the_error(dsn: str) -> None:
    conn = dbapi.connect(dsn)

    def fail() -> None:
        with conn, dbapi.connect(dsn, autocommit=True) as other:
            (pid,) = conn.execute("SELECT pg_backend_pid()").fetchone()
            other.execute("SELECT pg_terminate_backend(%s, 60000)", (pid,))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        fail()
    assert caught.value.__notes__[0].startswith("The rollback failed, too: ")
    assert conn.closed
