"""Objects that give a blocking connection, and the state of its transaction."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade import dbapi, read_sql, write_table
from colonnade.frames import connection_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from colonnade.sync import Connection

ONE = {"a": [1]}


class Lender:
    """Wraps a connection like a DB-API connection does: its use begins a transaction."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def __colonnade_connection__(self) -> Connection:
        if not self.connection.is_in_transaction():
            self.connection.execute("BEGIN")
        return self.connection


class SqlAlchemyConnection:
    """The used part of SQLAlchemy's Connection."""

    class dialect:  # noqa: N801 - an attribute there
        name, driver, is_async = "postgresql", "colonnade", False

    def __init__(self, lender: Lender) -> None:
        self.dbapi_connection = lender
        self.connection = self
        self.events: list[str] = []

    def in_transaction(self) -> bool:
        return "begin" in self.events

    @contextlib.contextmanager
    def begin(self) -> Iterator[SqlAlchemyConnection]:
        self.events.append("begin")
        try:
            yield self
        except BaseException:
            self.dbapi_connection.connection.execute("ROLLBACK")
            self.events.append("rollback")
            raise
        self.dbapi_connection.connection.execute("COMMIT")
        self.events.append("commit")


def exists(dsn: str, name: str) -> bool:
    """Whether another connection sees the table."""
    with colonnade.sync.connect(dsn) as other:
        return other.fetchval("SELECT to_regclass($1) IS NOT NULL", f'"{name}"') is True


@pytest.fixture
def own(dsn: str) -> Iterator[Connection]:
    with colonnade.sync.connect(dsn) as connection:
        yield connection
        if connection.is_in_transaction():
            connection.execute("ROLLBACK")
        connection.execute("DROP TABLE IF EXISTS lent")


def test_a_lender_ends_its_transaction_itself(own: Connection, dsn: str) -> None:
    lender = Lender(own)
    assert write_table(ONE, "lent", lender) == 1
    assert read_sql("SELECT a FROM lent", lender, into="numpy")["a"].tolist() == [1]
    assert own.is_in_transaction()
    assert not exists(dsn, "lent")
    own.execute("COMMIT")
    assert exists(dsn, "lent")


def test_a_failure_within_an_open_transaction_keeps_what_was_before(own: Connection) -> None:
    with own.transaction():
        assert write_table(ONE, "lent", own) == 1
        with pytest.raises(colonnade.EncodeError):
            write_table({"a": [1.5]}, "lent", own, if_exists="append")
        assert own.fetchval("SELECT count(*) FROM lent") == 1


def test_a_pool_of_threads(dsn: str) -> None:
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=1) as pool:
        assert write_table(ONE, "lent", pool) == 1
        assert exists(dsn, "lent")
        with pool.acquire() as connection:
            assert len(read_sql("SELECT a FROM lent", connection)) == 1
            assert write_table(ONE, "lent", connection, if_exists="append") == 1
        for frame in read_sql("SELECT a FROM lent", pool, batch_rows=1):
            assert len(frame) == 1
            break
        # Each of the threads has returned the only connection.
        assert read_sql("SELECT a FROM lent", pool, into="numpy")["a"].tolist() == [1, 1]
        pool.execute("DROP TABLE lent")


def test_a_connection_of_dbapi(dsn: str) -> None:
    with dbapi.connect(dsn) as connection:
        assert write_table(ONE, "lent", connection) == 1
        assert not exists(dsn, "lent")
        connection.commit()
        assert exists(dsn, "lent")
        assert write_table(ONE, "lent", connection, if_exists="append") == 1
        query = "SELECT count(*) AS n FROM lent"
        assert read_sql(query, connection, into="numpy")["n"].tolist() == [2]
        connection.rollback()
        assert read_sql(query, connection, into="numpy")["n"].tolist() == [1]
        connection.rollback()
        connection.autocommit = True
        assert write_table(ONE, "lent", connection, if_exists="replace") == 1
        assert len(read_sql("SELECT * FROM lent", dsn)) == 1
        connection.execute("DROP TABLE lent")
    with pytest.raises(dbapi.OperationalError, match="closed"):
        read_sql("SELECT 1", connection)


def test_sqlalchemy_connection_and_engine(own: Connection, dsn: str) -> None:
    connection = SqlAlchemyConnection(Lender(own))
    write_table(ONE, "lent", connection)
    assert connection.events == ["begin", "commit"]
    assert exists(dsn, "lent")
    with connection_of(connection) as lent:
        assert lent is own
    # The caller's transaction stays open.
    assert connection.events == ["begin", "commit"]


def test_a_dialect_of_another_driver_is_told_apart() -> None:
    class Other(SqlAlchemyConnection):
        class dialect:  # noqa: N801 - as above
            name, driver, is_async = "postgresql", "psycopg", False

    class Async(SqlAlchemyConnection):
        class dialect:  # noqa: N801 - as above
            name, driver, is_async = "postgresql", "colonnade", True

    for kind, word in ((Other, r"postgresql\+psycopg: make it"), (Async, "for asyncio")):
        con: Any = kind.__new__(kind)
        with pytest.raises(TypeError, match=word), connection_of(con):
            pass


async def test_what_leads_nowhere(dsn: str) -> None:
    async_connection = await colonnade.connect(dsn)
    with pytest.raises(TypeError, match=r"whose methods are asynchronous.*write_table"):
        read_sql("SELECT 1", async_connection)  # type: ignore[call-overload]
    await async_connection.close()
    async with colonnade.create_pool(dsn, min_size=1) as pool:
        with pytest.raises(TypeError, match="Pool, whose methods are asynchronous"):
            write_table(ONE, "lent", pool)  # type: ignore[arg-type]
        async with pool.acquire() as lent:
            with pytest.raises(TypeError, match="PoolConnectionProxy, whose methods are async"):
                write_table(ONE, "lent", lent)
            with pytest.raises(TypeError, match="PoolConnectionProxy, whose methods are async"):
                read_sql("SELECT 1", lent)
    with pytest.raises(TypeError, match=r"con is of the class int: pass a DSN, a connection"):
        read_sql("SELECT 1", 5)  # type: ignore[call-overload]
