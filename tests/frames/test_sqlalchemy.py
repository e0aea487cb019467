"""SQLAlchemy's engines, connections and sessions as the connection argument."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import Session

import colonnade
from colonnade import read_sql, write_table
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import Iterator

TABLE = sa.table("of_sqlalchemy", sa.column("a", sa.BigInteger), sa.column("b", sa.Text))
ROWS = {"a": [1, 2, 3], "b": ["x", None, "z"]}


@pytest.fixture
def engine(dsn: str) -> Iterator[sa.Engine]:
    made = sa.create_engine(dsn.replace("postgresql://", "postgresql+colonnade://", 1))
    yield made
    with made.begin() as connection:
        connection.exec_driver_sql("DROP TABLE IF EXISTS of_sqlalchemy")
    made.dispose()


def count(dsn: str) -> int | None:
    with colonnade.sync.connect(dsn) as other:
        if other.fetchval("SELECT to_regclass('of_sqlalchemy')::oid") is None:
            return None
        return int(other.fetchval("SELECT count(*) FROM of_sqlalchemy"))


def test_an_engine_commits(engine: sa.Engine, dsn: str) -> None:
    assert write_table(ROWS, "of_sqlalchemy", engine) == 3
    assert count(dsn) == 3
    with pytest.raises(colonnade.EncodeError):
        write_table({"a": [0.5]}, "of_sqlalchemy", engine, if_exists="append")
    assert count(dsn) == 3
    query = "SELECT a FROM of_sqlalchemy WHERE a > $1"
    assert read_sql(query, engine, params=[1], into="numpy")["a"].tolist() == [2, 3]
    # The connection is back in the pool.
    assert "Connections in pool: 1" in engine.pool.status()


def test_a_connection_keeps_its_transaction(engine: sa.Engine, dsn: str) -> None:
    with engine.connect() as connection:
        assert write_table(ROWS, "of_sqlalchemy", connection) == 3
        assert count(dsn) == 3
        with connection.begin():
            connection.execute(sa.delete(TABLE))
            assert write_table(ROWS, "of_sqlalchemy", connection, if_exists="append") == 3
            assert len(read_sql("SELECT * FROM of_sqlalchemy", connection)) == 3
            assert connection.in_transaction()
            write_table(ROWS, "of_sqlalchemy", connection, if_exists="append")
            assert count(dsn) == 3
        assert count(dsn) == 6
        connection.execute(sa.text("SELECT 1"))
        write_table(ROWS, "of_sqlalchemy", connection, if_exists="replace")
        connection.rollback()
        assert count(dsn) == 6


def test_a_session(engine: sa.Engine, dsn: str) -> None:
    with Session(engine) as session:
        assert write_table(ROWS, "of_sqlalchemy", session) == 3
        assert len(read_sql("SELECT * FROM of_sqlalchemy", session)) == 3
        assert count(dsn) is None
        session.commit()
        assert count(dsn) == 3
        select = sa.select(TABLE.c.b).where(TABLE.c.a == sa.bindparam("key"))
        frame = read_sql(select, session, params={"key": 3}, into="polars")
        assert frame["b"].to_list() == ["z"]


def test_statements(engine: sa.Engine) -> None:
    write_table(ROWS, "of_sqlalchemy", engine)
    select = sa.select(TABLE).where(TABLE.c.a.in_([1, 3])).order_by(TABLE.c.a)
    frame = read_sql(select, engine, index_col="a")
    assert frame.index.tolist() == [1, 3]
    with engine.connect() as connection:
        sizes = [len(part) for part in read_sql(select, connection, batch_rows=1)]
        assert sizes == [1, 1]
    with pytest.raises(InterfaceError, match="have names"):
        read_sql(select, engine, params=[1])
    with pytest.raises(TypeError, match="query must be a str, not Select"):
        read_sql(select, "postgresql://localhost")


async def test_other_engines_are_told_apart(dsn: str) -> None:
    engine = create_async_engine(dsn.replace("postgresql://", "postgresql+colonnade://", 1))
    with pytest.raises(TypeError, match="for asyncio"):
        read_sql("SELECT 1", engine.sync_engine)
    with pytest.raises(TypeError, match="for asyncio"):
        read_sql(sa.select(TABLE), engine.sync_engine)
    sqlite = sa.create_engine("sqlite://")
    with pytest.raises(TypeError, match=r"Engine uses the dialect sqlite\+pysqlite: make it"):
        read_sql("SELECT 1", sqlite)
    await engine.dispose()
