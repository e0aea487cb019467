"""Prepared statements after each event that outdates a statement's description."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade.errors import (
    EncodeError,
    InvalidCachedStatementError,
    InvalidSQLStatementNameError,
    PostgresError,
    UndefinedTableError,
)
from colonnade.rkt import set_query_dtype
from tests.support.elsewhere import elsewhere

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    Event = Callable[[colonnade.Connection], Awaitable[None]]

SCHEMA, OTHER = "prepared_again", "prepared_again_other"
INSERT = "INSERT INTO t VALUES ($1) RETURNING x::text"
DAY, MOMENT = dt.date(2024, 2, 3), dt.datetime(2024, 2, 3, 4, 5, tzinfo=dt.UTC)
SETTINGS = {"search_path": SCHEMA, "timezone": "UTC"}
SCHEMAS = f"DROP SCHEMA IF EXISTS {SCHEMA}, {OTHER} CASCADE; "


@pytest.fixture
async def link(dsn: str) -> AsyncIterator[colonnade.Connection]:
    """A connection in a schema whose table `t` has a date, and before another with a moment."""
    elsewhere(
        dsn,
        f"{SCHEMAS} CREATE SCHEMA {SCHEMA}; CREATE TABLE {SCHEMA}.t (x date);"
        f"CREATE SCHEMA {OTHER}; CREATE TABLE {OTHER}.t (x timestamptz);",
    )
    async with await colonnade.connect(dsn, server_settings=SETTINGS) as made:
        yield made
    elsewhere(dsn, SCHEMAS)


async def fetch(statement: Any, value: Any) -> Any:
    ((text,),) = await statement.fetch(value)
    return text


async def fetchrow(statement: Any, value: Any) -> Any:
    row = await statement.fetchrow(value)
    return row and row[0]


async def fetchval(statement: Any, value: Any) -> Any:
    return await statement.fetchval(value)


async def fetchmany(statement: Any, value: Any) -> Any:
    ((text,),) = await statement.fetchmany([(value,)])
    return text


async def fetch_columns(statement: Any, value: Any) -> Any:
    return (await statement.fetch_columns(value)).to_pylist()[0]["x"]


async def iter_columns(statement: Any, value: Any) -> Any:
    async with statement.iter_columns(value) as batches:
        (found,) = [batch.to_pylist() async for batch in batches]
        return found[0]["x"]


DOORS = (fetch, fetchrow, fetchval, fetchmany, fetch_columns, iter_columns)


async def altered(link: colonnade.Connection) -> None:
    await link.execute("ALTER TABLE t ALTER x TYPE timestamptz")


async def made_again(link: colonnade.Connection) -> None:
    await link.execute("DROP TABLE t; CREATE TABLE t (x timestamptz)")


async def hidden(link: colonnade.Connection) -> None:
    await link.execute("CREATE TEMP TABLE t (x timestamptz)")


async def other_path(link: colonnade.Connection) -> None:
    await link.execute(f"SET search_path = {OTHER}")


EVENTS = (altered, made_again, hidden, other_path)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("name", [None, "", "mine"])
async def test_a_value_arrives_as_itself(
    link: colonnade.Connection, event: Event, door: Callable[..., Any], name: str | None
) -> None:
    statement = await link.prepare(INSERT, name=name)
    called = statement.get_name()
    assert await door(statement, DAY) == "2024-02-03"
    await event(link)
    assert await door(statement, MOMENT) == "2024-02-03 04:05:00+00"
    assert [parameter.name for parameter in statement.get_parameters()] == ["timestamptz"]
    assert statement.get_name() == called


async def test_a_change_that_is_rolled_back(link: colonnade.Connection) -> None:
    await altered(link)
    transaction = link.transaction()
    await transaction.start()
    await link.execute("ALTER TABLE t ALTER x TYPE date")
    statement = await link.prepare(INSERT)
    assert await statement.fetchval(DAY) == "2024-02-03"
    await transaction.rollback()
    assert await statement.fetchval(MOMENT) == "2024-02-03 04:05:00+00"
    async with link.transaction():
        await link.execute("SAVEPOINT s; ALTER TABLE t ALTER x TYPE text")
        assert await statement.fetchval("007") == "007"
        await link.execute("ROLLBACK TO s")
        assert await statement.fetchval(MOMENT) == "2024-02-03 04:05:00+00"


async def test_series_and_cursors(link: colonnade.Connection) -> None:
    many, piecewise = await link.prepare("INSERT INTO t VALUES ($1)"), await link.prepare(INSERT)
    await many.executemany([(DAY,)])
    await altered(link)
    await many.executemany([(MOMENT,)])
    async with link.transaction():
        assert [row async for row in piecewise.cursor(MOMENT)] == [("2024-02-03 04:05:00+00",)]
        await link.execute("ALTER TABLE t ALTER x TYPE date")
        cursor = await piecewise.cursor(DAY).open()
        assert await cursor.fetch(5) == [("2024-02-03",)]
    (plan,) = await many.explain(DAY)
    assert plan["Plan"]["Node Type"] == "ModifyTable"
    assert await link.fetchval("SELECT count(*) FROM t WHERE x = $1", DAY) == 4


async def test_a_statement_with_a_dtype(link: colonnade.Connection) -> None:
    statement = await link.prepare(set_query_dtype(INSERT, [("x", "U22")]))
    await altered(link)
    for array, _ in (await statement.fetch(MOMENT), await statement.fetchmany([(MOMENT,)])):
        assert array["x"].tolist() == ["2024-02-03 04:05:00+00"]


async def test_another_connection_of_the_pool(link: colonnade.Connection, dsn: str) -> None:
    del link
    async with (
        colonnade.create_pool(dsn, min_size=2, max_size=2, server_settings=SETTINGS) as pool,
        pool.acquire() as one,
        pool.acquire() as other,
    ):
        statement = await one.prepare(INSERT)
        async with one.transaction():
            await altered(other)
            assert await statement.fetchval(MOMENT) == "2024-02-03 04:05:00+00"


async def test_another_role(link: colonnade.Connection) -> None:
    await link.execute(f"GRANT ALL ON SCHEMA {OTHER} TO pg_monitor")
    await link.execute(f"GRANT ALL ON {OTHER}.t TO pg_monitor")
    statement = await link.prepare(INSERT)
    await link.execute(f"SET ROLE pg_monitor; SET search_path = {OTHER}")
    assert await statement.fetchval(MOMENT) == "2024-02-03 04:05:00+00"
    await link.execute(f"RESET ROLE; SET search_path = {SCHEMA}")
    assert await statement.fetchval(DAY) == "2024-02-03"


async def test_what_another_program_alters(link: colonnade.Connection, dsn: str) -> None:
    statement = await link.prepare(INSERT)
    assert await statement.fetchval(DAY) == "2024-02-03"
    # The argument does not fit.
    elsewhere(dsn, f"ALTER TABLE {SCHEMA}.t ALTER x TYPE text")
    assert await statement.fetchval("007") == "007"
    # The server refuses it.
    elsewhere(dsn, f"ALTER TABLE {SCHEMA}.t ALTER x TYPE int USING NULL")
    assert await statement.fetchmany([(7,)]) == [("7",)]
    elsewhere(dsn, f"ALTER TABLE {SCHEMA}.t ALTER x TYPE date USING NULL")
    await statement.executemany([(DAY,)])
    assert await statement.fetchval(DAY) == "2024-02-03"
    elsewhere(dsn, f"ALTER TABLE {SCHEMA}.t ALTER x TYPE text")
    with pytest.raises(EncodeError):
        async with link.transaction():
            await statement.fetchval("007")
    async with link.transaction():
        assert await statement.fetchval("007") == "007"


async def test_what_is_too_old(link: colonnade.Connection, dsn: str) -> None:
    del link
    async with await colonnade.connect(
        dsn, max_cached_statement_lifetime=1e-9, server_settings=SETTINGS
    ) as forgetful:
        statement = await forgetful.prepare("SELECT $1 = x FROM t")
        elsewhere(dsn, f"ALTER TABLE {SCHEMA}.t ALTER x TYPE timestamptz")
        assert await statement.fetch(MOMENT) == []
        assert [parameter.name for parameter in statement.get_parameters()] == ["timestamptz"]


@pytest.mark.parametrize("door", [fetch, fetchmany, fetch_columns, iter_columns])
async def test_other_columns(link: colonnade.Connection, door: Callable[..., Any]) -> None:
    statement = await link.prepare("SELECT *, $1::int AS n FROM t")
    await link.execute("ALTER TABLE t ADD y int")
    async with link.transaction():
        for _ in range(2):
            with pytest.raises(InvalidCachedStatementError, match="prepare it again") as caught:
                await door(statement, 1)
            assert caught.value.query == statement.get_query()
            assert caught.value.sqlstate == "0A000"
        assert await link.fetchval("SELECT 1") == 1, "the transaction goes on"
    await link.execute("ALTER TABLE t DROP y")
    assert await statement.fetch(1) == []


async def test_a_table_that_hides_another(link: colonnade.Connection) -> None:
    # The server's statement would not notice it.
    statement = await link.prepare("INSERT INTO t VALUES ($1)")
    await statement.fetch(DAY)
    async with link.transaction():
        await link.execute("CREATE TEMP TABLE t (x date) ON COMMIT DROP")
        await statement.fetch(DAY)
        assert await link.fetchval("SELECT count(*) FROM pg_temp.t") == 1
    await statement.fetch(DAY)
    assert await link.fetchval(f"SELECT count(*) FROM {SCHEMA}.t") == 2


async def test_once_for_each_event(link: colonnade.Connection) -> None:
    statement = await link.prepare(INSERT)
    name = statement.get_name()
    prepared = "SELECT prepare_time FROM pg_prepared_statements WHERE name = $1"
    times = {await link.fetchval(prepared, name)}
    for _ in range(2):
        await link.execute("CREATE TEMP TABLE unconcerned (x int); DROP TABLE unconcerned")
        for _ in range(3):
            assert await statement.fetchval(DAY) == "2024-02-03"
            times.add(await link.fetchval(prepared, name))
    assert len(times) == 3
    del statement
    await link.execute("SELECT 1")
    assert await link.fetchval(prepared, name) is None


async def test_a_table_that_is_gone_for_a_while(link: colonnade.Connection) -> None:
    statement = await link.prepare(INSERT, name="mine")
    await link.execute("DROP TABLE t")
    for _ in range(2):
        with pytest.raises(UndefinedTableError):
            await statement.fetchval(DAY)
    await link.execute("CREATE TABLE t (x timestamptz)")
    assert await statement.fetchval(MOMENT) == "2024-02-03 04:05:00+00"


async def test_declared_types_stay(link: colonnade.Connection) -> None:
    statement = await link.prepare(INSERT, parameter_types=[1082])
    await altered(link)
    assert await statement.fetchval(DAY) == "2024-02-03 00:00:00+00"
    with pytest.raises(EncodeError):
        await statement.fetchval("007")


async def test_a_statement_that_the_server_has_forgotten(link: colonnade.Connection) -> None:
    statement = await link.prepare(INSERT)
    await link.execute("DEALLOCATE ALL")
    for _ in range(2):
        with pytest.raises(InvalidSQLStatementNameError) as caught:
            await statement.fetchval(DAY)
        assert not caught.value.is_outdated
    await altered(link)
    assert await statement.fetchval(MOMENT) == "2024-02-03 04:05:00+00"


async def test_a_failed_transaction(link: colonnade.Connection) -> None:
    statement = await link.prepare(INSERT)
    transaction = link.transaction()
    await transaction.start()
    await altered(link)
    with pytest.raises(PostgresError):
        await link.execute("SELECT 1 / 0")
    with pytest.raises(PostgresError, match="aborted"):
        await statement.fetchval(MOMENT)
    await transaction.rollback()
    assert await statement.fetchval(DAY) == "2024-02-03"
