"""Counts too large for the protocol are the caller's fault; the connection stays usable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa

import colonnade
from colonnade import dbapi
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from colonnade.sync import Connection

MOST = 65_535


def query(count: int) -> str:
    values = ",".join(f"(${n}::int)" for n in range(1, count + 1))
    return f"SELECT count(*) FROM (VALUES {values}) AS v (n)"


@pytest.fixture(params=[100, 0], ids=["kept", "not kept"])
def connection(dsn: str, request: pytest.FixtureRequest) -> Iterator[Connection]:
    with colonnade.sync.connect(dsn, statement_cache_size=request.param) as opened:
        yield opened


ROADS: dict[str, Callable[[Connection, str, range], Any]] = {
    "fetch": lambda link, sql, args: link.fetch(sql, *args),
    "fetchval": lambda link, sql, args: link.fetchval(sql, *args),
    "execute": lambda link, sql, args: link.execute(sql, *args),
    "columns": lambda link, sql, args: link.fetch_columns(sql, *args),
    "prepare": lambda link, sql, _: link.prepare(sql),
    "executemany": lambda link, sql, args: link.executemany(sql, [args]),
}


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("count", [MOST + 1, MOST + 9])
def test_too_many_parameters(connection: Connection, road: str, count: int) -> None:
    for _ in range(2):
        with pytest.raises(InterfaceError, match=f"{count} parameters.*at most {MOST}"):
            ROADS[road](connection, query(count), range(count))
        assert connection.fetchval("SELECT 1") == 1
    assert connection.fetchval("SELECT count(*) FROM pg_prepared_statements") <= 2


def test_as_many_as_there_can_be(connection: Connection) -> None:
    assert connection.fetchval(query(MOST), *range(MOST)) == MOST


def test_too_few_arguments_for_too_many_parameters(connection: Connection) -> None:
    with pytest.raises(InterfaceError, match=f"at most {MOST}"):
        connection.fetchval(query(MOST + 1))
    assert connection.fetchval("SELECT 1") == 1


def test_too_many_arguments_of_a_cursor(dsn: str) -> None:
    with dbapi.connect(dsn) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE counted (a int)")
        text = f"this is no SQL: {', '.join(['%s'] * (MOST + 1))}"
        given = tuple(range(MOST + 1))
        with pytest.raises(dbapi.InterfaceError, match=f"at most {MOST}"):
            cursor.execute(text, given)
        with pytest.raises(dbapi.InterfaceError, match=f"at most {MOST}"):
            cursor.executemany(text, [given])
        cursor.execute("SELECT count(*) FROM counted")
        assert cursor.fetchall() == [(0,)]


def test_too_many_arguments_of_an_engine(dsn: str) -> None:
    engine = sa.create_engine(dsn.replace("postgresql://", "postgresql+colonnade://"))
    with engine.connect() as connection:
        connection.exec_driver_sql("CREATE TEMP TABLE counted (a int)")
        numbers = tuple(range(MOST + 1))
        with pytest.raises(sa.exc.InterfaceError, match=f"at most {MOST}"):
            connection.exec_driver_sql("this is no SQL", numbers)
        table = sa.table("counted", sa.column("a", sa.Integer))
        wanted = table.c.a.in_(range(80_000))
        with pytest.raises(sa.exc.InterfaceError, match=f"80000 parameters.*at most {MOST}"):
            connection.execute(sa.select(table).where(wanted))
        assert connection.execute(sa.select(sa.func.count()).select_from(table)).scalar() == 0
    engine.dispose()
