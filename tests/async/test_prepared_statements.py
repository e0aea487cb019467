"""Prepared statements of `Connection.prepare`."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade.errors import (
    DuplicatePreparedStatementError,
    EncodeError,
    InterfaceError,
    InvalidCachedStatementError,
    InvalidSQLStatementNameError,
    PostgresSyntaxError,
    QueryCanceledError,
    UniqueViolationError,
)
from colonnade.types import Attribute, Type

if TYPE_CHECKING:
    from tests.support.proxy import Proxy

INT4 = Type(23, "int4", "scalar", "pg_catalog")
SERIES = "SELECT generate_series(1, $1::int) AS n"


async def names_on_server(connection: colonnade.Connection) -> list[str]:
    """The connection's prepared statements on the server, without this query's own."""
    rows = await connection.fetch("SELECT name, statement FROM pg_prepared_statements")
    return sorted(name for name, statement in rows if "pg_prepared" not in statement)


async def test_what_a_statement_is(connection: colonnade.Connection) -> None:
    statement = await connection.prepare(SERIES)
    assert statement.get_query() == SERIES
    assert await names_on_server(connection) == [statement.get_name()]
    assert statement.get_parameters() == (INT4,)
    assert statement.get_attributes() == (Attribute("n", INT4),)
    assert statement.get_statusmsg() is None


async def test_types(connection: colonnade.Connection) -> None:
    await connection.execute(
        "CREATE TYPE pg_temp.mood AS ENUM ('glad'); CREATE TYPE pg_temp.pair AS (a int, b text)"
    )
    statement = await connection.prepare(
        "SELECT $1::text[] AS a, int4range(1, 2) AS b, row(1, 2) AS c, null::pg_temp.mood AS d, "
        "null::pg_temp.pair AS e, null::pg_temp.pair[] AS f, null::int4multirange AS g, "
        "null::information_schema.cardinal_number AS h, null::varchar(3) AS i"
    )
    assert statement.get_parameters() == (Type(1009, "text[]", "array", "pg_catalog"),)
    found = [attribute.type for attribute in statement.get_attributes()]
    assert [(each.name, each.kind) for each in found] == [
        ("text[]", "array"),
        ("int4range", "range"),
        ("record", "scalar"),
        ("mood", "scalar"),
        ("pair", "composite"),
        ("pair[]", "array"),
        ("int4multirange", "multirange"),
        ("int4", "scalar"),
        ("varchar", "scalar"),
    ]
    assert {each.schema for each in found if each.name in {"mood", "pair", "pair[]"}} == {
        await connection.fetchval("SELECT pg_my_temp_schema()::regnamespace::text")
    }


async def test_rows(connection: colonnade.Connection) -> None:
    statement = await connection.prepare(SERIES)
    assert await statement.fetch(3) == [(1,), (2,), (3,)]
    assert statement.get_statusmsg() == "SELECT 3"
    assert await statement.fetchrow(3) == (1,)
    assert statement.get_statusmsg() is None
    assert await statement.fetchval(0) is None
    assert statement.get_statusmsg() == "SELECT 0"
    assert await statement.fetchval(3, column="n") == 1
    assert await statement.fetchrow(0) is None
    with pytest.raises(KeyError):
        await statement.fetchval(3, column="m")
    with pytest.raises(IndexError):
        await statement.fetchval(3, column=1)


async def test_columns(connection: colonnade.Connection) -> None:
    statement = await connection.prepare(SERIES)
    columns = await statement.fetch_columns(3, schema={"n": "int64"})
    assert columns["n"].tolist() == [1, 2, 3]
    assert columns["n"].dtype == "int64"
    assert statement.get_statusmsg() == "SELECT 3"
    batches = [batch["n"].tolist() async for batch in statement.iter_columns(5, batch_rows=2)]
    assert batches == [[1, 2], [3, 4], [5]]
    with pytest.raises(ValueError, match="batch_rows"):
        statement.iter_columns(5, batch_rows=0)


async def test_commands(connection: colonnade.Connection) -> None:
    create = await connection.prepare("CREATE TEMPORARY TABLE t (a int)")
    assert create.get_attributes() == ()
    assert await create.fetch() == []
    assert create.get_statusmsg() == "CREATE TABLE"
    insert = await connection.prepare("INSERT INTO t VALUES ($1) RETURNING a")
    assert await insert.fetchval(5) == 5
    assert await connection.fetchval("SELECT count(*) FROM t") == 1
    empty = await connection.prepare("")
    assert await empty.fetch() == []
    assert await empty.fetchval() is None


async def test_many_sets_of_arguments(connection: colonnade.Connection) -> None:
    await connection.execute("CREATE TEMPORARY TABLE t (a int UNIQUE)")
    insert = await connection.prepare("INSERT INTO t VALUES ($1) RETURNING a")
    assert await insert.fetchmany([(1,), (2,)]) == [(1,), (2,)]
    await insert.executemany([(3,), (4,)])
    with pytest.raises(UniqueViolationError):
        await insert.executemany([(5,), (1,)])
    assert await connection.fetchval("SELECT sum(a) FROM t") == 10


async def test_round_trips(proxy: Proxy) -> None:
    async with await colonnade.connect(f"{proxy.dsn}?sslmode=disable") as connection:
        sent = proxy.first
        statement = await connection.prepare(SERIES)
        assert sent.tags == "PDS"
        for _ in range(2):
            assert await statement.fetchval(3) == 1
        assert sent.tags == "PDS" + "BES" * 2
        await statement.fetch_columns(3)
        assert sent.tags == "PDS" + "BES" * 3


async def test_the_cache_is_not_asked(connection: colonnade.Connection) -> None:
    first = await connection.prepare("SELECT 1")
    second = await connection.prepare("SELECT 1")
    assert first.get_name() != second.get_name()
    assert connection.conversation.session.cached_statements == 0
    assert await connection.fetchval("SELECT 1") == 1
    assert connection.conversation.session.cached_statements == 1
    async with await colonnade.connect(dsn_of(connection), statement_cache_size=0) as without_cache:
        statement = await without_cache.prepare("SELECT 1")
        assert statement.get_name()
        assert await without_cache.fetchval("SELECT 2") == 2
        assert await statement.fetchval() == 1


def dsn_of(connection: colonnade.Connection) -> str:
    address = connection.conversation.transport.address
    return f"postgresql://{connection.user}@{address}/{connection.database}"


async def test_a_dropped_statement_is_closed(connection: colonnade.Connection) -> None:
    statements = [await connection.prepare(f"SELECT {number}") for number in range(3)]
    assert len(await names_on_server(connection)) == 3
    kept = statements.pop()
    statements.clear()
    gc.collect()
    assert await names_on_server(connection) == [kept.get_name()]
    assert await kept.fetchval() == 2


async def test_dropped_in_a_failed_transaction(connection: colonnade.Connection) -> None:
    statement = await connection.prepare("SELECT 1")
    await connection.execute("BEGIN")
    with pytest.raises(PostgresSyntaxError):
        await connection.execute("nonsense")
    del statement
    await connection.execute("ROLLBACK")
    assert await names_on_server(connection) == []


async def test_names(connection: colonnade.Connection) -> None:
    mine = await connection.prepare("SELECT 1", name="mine")
    assert mine.get_name() == "mine"
    with pytest.raises(DuplicatePreparedStatementError):
        await connection.prepare("SELECT 2", name="mine")
    assert await mine.fetchval() == 1
    del mine
    assert await (await connection.prepare("SELECT 3", name="mine")).fetchval() == 3


async def test_the_unnamed_statement(connection: colonnade.Connection) -> None:
    one = await connection.prepare("SELECT 1", name="")
    two = await connection.prepare("SELECT 2", name="")
    assert one.get_name() == ""
    assert (await one.fetchval(), await two.fetchval(), await one.fetchval()) == (1, 2, 1)
    assert (await two.fetch_columns()).to_pylist() == [{"?column?": 2}]
    assert [batch.to_pylist() async for batch in one.iter_columns()] == [[{"?column?": 1}]]
    async with connection.transaction():
        assert [row async for row in two.cursor()] == [(2,)]
        assert await (await one.cursor().open()).fetch(5) == [(1,)]


async def test_a_refused_text(connection: colonnade.Connection) -> None:
    with pytest.raises(PostgresSyntaxError):
        await connection.prepare("SELECT nonsense nonsense nonsense")
    with pytest.raises(PostgresSyntaxError):
        await connection.prepare("SELECT 1; SELECT 2")
    assert await names_on_server(connection) == []


async def test_wrong_arguments(connection: colonnade.Connection) -> None:
    statement = await connection.prepare(SERIES)
    with pytest.raises(InterfaceError, match="expects 1 argument"):
        await statement.fetch()
    with pytest.raises(EncodeError, match=r"\$1"):
        await statement.fetchval("x")
    assert await statement.fetchval(1) == 1


async def test_plans(connection: colonnade.Connection) -> None:
    await connection.execute("CREATE TEMPORARY TABLE t (a int)")
    statement = await connection.prepare("INSERT INTO t VALUES ($1)")
    (plan,) = await statement.explain(5)
    assert plan["Plan"]["Node Type"] == "ModifyTable"
    assert "Execution Time" not in plan
    (plan,) = await statement.explain(5, analyze=True)
    assert plan["Execution Time"] >= 0
    async with connection.transaction():
        await statement.explain(5, analyze=True)
    assert await connection.fetchval("SELECT count(*) FROM t") == 0


@pytest.mark.parametrize("command", ["DISCARD ALL", "DEALLOCATE ALL"])
async def test_the_server_forgets_all(connection: colonnade.Connection, command: str) -> None:
    statement = await connection.prepare("SELECT 1")
    await connection.execute(command)
    for _ in range(2):
        with pytest.raises(InvalidSQLStatementNameError, match="does not exist") as caught:
            await statement.fetch()
        assert "statement_cache_size=0" in str(caught.value.hint)
    assert await connection.fetchval("SELECT 1") == 1


async def test_a_table_that_changes(connection: colonnade.Connection) -> None:
    await connection.execute("CREATE TEMPORARY TABLE t (a int); INSERT INTO t VALUES (1)")
    statement = await connection.prepare("SELECT * FROM t")
    await connection.execute("ALTER TABLE t ADD b text")
    for _ in range(2):
        with pytest.raises(InvalidCachedStatementError, match="cached statement plan is invalid"):
            await statement.fetch()
    assert await connection.fetch("SELECT * FROM t") == [(1, None)]
    assert await (await connection.prepare("SELECT * FROM t")).fetch() == [(1, None)]


async def test_a_composite_that_changes(connection: colonnade.Connection) -> None:
    await connection.execute("CREATE TYPE pg_temp.pair AS (a int)")
    statement = await connection.prepare("SELECT $1::pg_temp.pair AS p")
    assert await statement.fetchval((1,)) == (1,)
    await connection.execute("ALTER TYPE pg_temp.pair ADD ATTRIBUTE b int")
    assert await statement.fetchval((1, 2)) == (1, 2)
    await connection.execute("ALTER TYPE pg_temp.pair RENAME ATTRIBUTE a TO c")
    value = await statement.fetchval({"c": 1, "b": 2})
    assert dict(value.items()) == {"c": 1, "b": 2}
    async with connection.transaction():
        async for (value,) in statement.cursor({"c": 1, "b": 2}):
            assert dict(value.items()) == {"c": 1, "b": 2}
    with pytest.raises(EncodeError, match="no field"):
        await statement.fetchval({"a": 1, "b": 2})


METHODS: list[tuple[str, tuple[Any, ...]]] = [
    ("get_name", ()),
    ("get_query", ()),
    ("get_statusmsg", ()),
    ("get_parameters", ()),
    ("get_attributes", ()),
    ("fetch", ()),
    ("fetchrow", ()),
    ("fetchval", ()),
    ("fetch_columns", ()),
    ("iter_columns", ()),
    ("fetchmany", ([()],)),
    ("executemany", ([()],)),
    ("cursor", ()),
    ("explain", ()),
]


@pytest.mark.parametrize(("method", "args"), METHODS)
async def test_after_the_end(dsn: str, method: str, args: tuple[Any, ...]) -> None:
    connection = await colonnade.connect(dsn)
    statement = await connection.prepare("SELECT 1")
    text = rf"cannot call PreparedStatement.{method}\(\): the underlying connection "
    connection.conversation.generation += 1
    # This is not awaited: the call itself raises.
    with pytest.raises(InterfaceError, match=text + "has been released back to the pool"):
        getattr(statement, method)(*args)
    connection.conversation.generation -= 1
    await connection.close()
    with pytest.raises(InterfaceError, match=text + "is closed"):
        getattr(statement, method)(*args)


async def test_a_closed_connection_prepares_nothing(dsn: str) -> None:
    connection = await colonnade.connect(dsn)
    await connection.close()
    with pytest.raises(InterfaceError, match="connection is closed"):
        await connection.prepare("SELECT 1")
    with pytest.raises(InterfaceError, match="connection is closed"):
        connection.cursor("SELECT 1")


async def test_time_is_up(connection: colonnade.Connection) -> None:
    statement = await connection.prepare("SELECT pg_sleep($1)")
    with pytest.raises(TimeoutError):
        await statement.fetchval(10, timeout=0.05)
    assert await statement.fetchval(0) is None
    await connection.execute("SET statement_timeout = 50")
    with pytest.raises(QueryCanceledError):
        await statement.fetchval(10)


# async-only: begin
async def test_one_operation_at_a_time(connection: colonnade.Connection) -> None:
    statement = await connection.prepare("SELECT pg_sleep(0.05)")
    running = asyncio.create_task(statement.fetchval())
    await asyncio.sleep(0)
    with pytest.raises(InterfaceError, match="another operation is in progress"):
        await statement.fetchval()
    await running


async def test_a_cancelled_task(connection: colonnade.Connection) -> None:
    statement = await connection.prepare("SELECT pg_sleep($1)")
    running = asyncio.create_task(statement.fetchval(10))
    await asyncio.sleep(0.02)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await statement.fetchval(0) is None


# async-only: end


async def test_a_name_that_was_given_anew(connection: colonnade.Connection) -> None:
    first = await connection.prepare("SELECT 1", name="mine")
    await connection.execute("DEALLOCATE mine")
    second = await connection.prepare("SELECT 2", name="mine")
    del first
    gc.collect()
    await connection.execute("SELECT 1")
    assert await second.fetchval() == 2
    del second
    gc.collect()
    third = await connection.prepare("SELECT 3", name="mine")
    assert await third.fetchval() == 3
