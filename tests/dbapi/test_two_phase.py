"""Transactions in two phases."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import pytest

from colonnade import dbapi
from colonnade.dbapi._xid import Xid

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def conn(two_phase_dsn: str) -> Iterator[dbapi.Connection]:
    """A connection to a server that allows prepared transactions, with an empty table `t`."""
    with dbapi.connect(two_phase_dsn, autocommit=True) as setup:
        setup.execute("DROP TABLE IF EXISTS t; CREATE TABLE t (n int)")
        for xid in setup.tpc_recover():
            setup.tpc_rollback(xid)
    connection = dbapi.connect(two_phase_dsn)
    yield connection
    connection.close()


def count(dsn: str) -> Any:
    with dbapi.connect(dsn) as other:
        return other.execute("SELECT count(*) FROM t").fetchone()[0]


def made(conn: dbapi.Connection) -> Xid:
    return conn.xid(42, f"global {uuid.uuid4()}", "branch 'q_1'")


def test_commit_in_one_phase(conn: dbapi.Connection, two_phase_dsn: str) -> None:
    conn.tpc_begin(made(conn))
    conn.execute("INSERT INTO t VALUES (1)")
    assert count(two_phase_dsn) == 0
    conn.tpc_commit()
    assert count(two_phase_dsn) == 1
    assert conn.info.transaction_status == "idle"


def test_roll_back_in_one_phase(conn: dbapi.Connection, two_phase_dsn: str) -> None:
    conn.tpc_begin(made(conn))
    conn.execute("INSERT INTO t VALUES (1)")
    conn.tpc_rollback()
    assert count(two_phase_dsn) == 0
    conn.execute("SELECT 1")
    conn.commit()


@pytest.mark.parametrize(("action", "rows"), [("tpc_commit", 1), ("tpc_rollback", 0)])
def test_two_phases(conn: dbapi.Connection, two_phase_dsn: str, action: str, rows: int) -> None:
    xid = made(conn)
    conn.tpc_begin(xid)
    conn.execute("INSERT INTO t VALUES (1)")
    conn.tpc_prepare()
    assert [str(found) for found in conn.tpc_recover()] == [str(xid)]
    for use in (lambda: conn.execute("SELECT 1"), conn.commit, conn.rollback, conn.tpc_prepare):
        with pytest.raises(dbapi.ProgrammingError):
            use()
    getattr(conn, action)()
    assert count(two_phase_dsn) == rows
    assert conn.tpc_recover() == []
    conn.execute("SELECT 1")
    conn.commit()


@pytest.mark.parametrize(("action", "rows"), [("tpc_commit", 1), ("tpc_rollback", 0)])
def test_recovered_by_another_connection(
    conn: dbapi.Connection, two_phase_dsn: str, action: str, rows: int
) -> None:
    xid = made(conn)
    conn.tpc_begin(xid)
    conn.execute("INSERT INTO t VALUES (1)")
    conn.tpc_prepare()
    conn.close()
    with dbapi.connect(two_phase_dsn) as other:
        (found,) = other.tpc_recover()
        assert found == xid
        assert (found.database, found.owner) == ("postgres", "postgres")
        assert found.prepared is not None
        assert (found[0], found[1], found[2]) == (42, xid.gtrid, "branch 'q_1'")
        getattr(other, action)(found)
        assert other.tpc_recover() == []
    assert count(two_phase_dsn) == rows


def test_a_name_of_another_program(conn: dbapi.Connection) -> None:
    for text in ("it's mine", "1_2_3", "x_eA==_eA=="):
        conn.tpc_begin(text)
        conn.execute("INSERT INTO t VALUES (1)")
        conn.tpc_prepare()
        (found,) = conn.tpc_recover()
        assert str(found) == text
        assert (found.format_id, found.gtrid, found.bqual) == (None, text, None)
        conn.tpc_rollback()


def test_only_between_transactions(conn: dbapi.Connection) -> None:
    conn.execute("SELECT 1")
    with pytest.raises(dbapi.ProgrammingError):
        conn.tpc_begin(made(conn))
    with pytest.raises(dbapi.ProgrammingError):
        conn.tpc_commit("whatever")
    conn.rollback()
    for action in (conn.tpc_prepare, conn.tpc_commit, conn.tpc_rollback):
        with pytest.raises(dbapi.ProgrammingError, match="tpc_begin"):
            action()
    conn.tpc_begin(made(conn))
    with pytest.raises(dbapi.ProgrammingError, match="tpc_commit"):
        conn.commit()
    with pytest.raises(dbapi.ProgrammingError):
        conn.tpc_begin(made(conn))
    with pytest.raises(dbapi.ProgrammingError):
        conn.autocommit = True
    conn.tpc_rollback()
    conn.autocommit = True
    with pytest.raises(dbapi.ProgrammingError, match="autocommit"):
        conn.tpc_begin(made(conn))


def test_what_has_failed_is_not_prepared(conn: dbapi.Connection, two_phase_dsn: str) -> None:
    conn.tpc_begin(made(conn))
    conn.execute("INSERT INTO t VALUES (1)")
    with pytest.raises(dbapi.DataError):
        conn.execute("SELECT 1/0")
    with pytest.raises(dbapi.InternalError, match="instead of preparing it"):
        conn.tpc_prepare()
    with pytest.raises(dbapi.ProgrammingError, match="tpc_begin"):
        conn.tpc_commit()
    assert conn.tpc_recover() == []
    assert count(two_phase_dsn) == 0
    conn.execute("INSERT INTO t VALUES (2)")
    conn.commit()
    assert count(two_phase_dsn) == 1


def test_recovering_begins_no_transaction(conn: dbapi.Connection) -> None:
    assert conn.tpc_recover() == []
    assert conn.info.transaction_status == "idle"


def test_an_unknown_transaction(conn: dbapi.Connection) -> None:
    with pytest.raises(dbapi.ProgrammingError) as caught:
        conn.tpc_rollback("nobody's")
    assert caught.value.sqlstate == "42704"


def test_a_server_that_keeps_none(dsn: str) -> None:
    with dbapi.connect(dsn) as conn:
        conn.tpc_begin("x")
        with pytest.raises(dbapi.OperationalError):
            conn.tpc_prepare()
        assert conn.info.transaction_status == "idle"
        assert conn.execute("SELECT 1").fetchone() == (1,)
