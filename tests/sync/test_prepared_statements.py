# Generated from tests/async/test_prepared_statements.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Prepared statements of `Connection.prepare`."""

from __future__ import annotations

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


def names_on_server(connection: colonnade.sync.Connection) -> list[str]:
    """The connection's prepared statements on the server, without this query's own."""
    rows = connection.fetch("SELECT name, statement FROM pg_prepared_statements")
    return sorted(name for name, statement in rows if "pg_prepared" not in statement)


def test_what_a_statement_is(connection: colonnade.sync.Connection) -> None:
    statement = connection.prepare(SERIES)
    assert statement.get_query() == SERIES
    assert names_on_server(connection) == [statement.get_name()]
    assert statement.get_parameters() == (INT4,)
    assert statement.get_attributes() == (Attribute("n", INT4),)
    assert statement.get_statusmsg() is None


def test_types(connection: colonnade.sync.Connection) -> None:
    connection.execute(
        "CREATE TYPE pg_temp.mood AS ENUM ('glad'); CREATE TYPE pg_temp.pair AS (a int, b text)"
    )
    statement = connection.prepare(
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
        connection.fetchval("SELECT pg_my_temp_schema()::regnamespace::text")
    }


def test_rows(connection: colonnade.sync.Connection) -> None:
    statement = connection.prepare(SERIES)
    assert statement.fetch(3) == [(1,), (2,), (3,)]
    assert statement.get_statusmsg() == "SELECT 3"
    assert statement.fetchrow(3) == (1,)
    assert statement.get_statusmsg() is None
    assert statement.fetchval(0) is None
    assert statement.get_statusmsg() == "SELECT 0"
    assert statement.fetchval(3, column="n") == 1
    assert statement.fetchrow(0) is None
    with pytest.raises(KeyError):
        statement.fetchval(3, column="m")
    with pytest.raises(IndexError):
        statement.fetchval(3, column=1)


def test_columns(connection: colonnade.sync.Connection) -> None:
    statement = connection.prepare(SERIES)
    columns = statement.fetch_columns(3, schema={"n": "int64"})
    assert columns["n"].tolist() == [1, 2, 3]
    assert columns["n"].dtype == "int64"
    assert statement.get_statusmsg() == "SELECT 3"
    batches = [batch["n"].tolist() for batch in statement.iter_columns(5, batch_rows=2)]
    assert batches == [[1, 2], [3, 4], [5]]
    with pytest.raises(ValueError, match="batch_rows"):
        statement.iter_columns(5, batch_rows=0)


def test_commands(connection: colonnade.sync.Connection) -> None:
    create = connection.prepare("CREATE TEMPORARY TABLE t (a int)")
    assert create.get_attributes() == ()
    assert create.fetch() == []
    assert create.get_statusmsg() == "CREATE TABLE"
    insert = connection.prepare("INSERT INTO t VALUES ($1) RETURNING a")
    assert insert.fetchval(5) == 5
    assert connection.fetchval("SELECT count(*) FROM t") == 1
    empty = connection.prepare("")
    assert empty.fetch() == []
    assert empty.fetchval() is None


def test_many_sets_of_arguments(connection: colonnade.sync.Connection) -> None:
    connection.execute("CREATE TEMPORARY TABLE t (a int UNIQUE)")
    insert = connection.prepare("INSERT INTO t VALUES ($1) RETURNING a")
    assert insert.fetchmany([(1,), (2,)]) == [(1,), (2,)]
    insert.executemany([(3,), (4,)])
    with pytest.raises(UniqueViolationError):
        insert.executemany([(5,), (1,)])
    assert connection.fetchval("SELECT sum(a) FROM t") == 10


def test_round_trips(proxy: Proxy) -> None:
    with colonnade.sync.connect(f"{proxy.dsn}?sslmode=disable") as connection:
        sent = proxy.first
        statement = connection.prepare(SERIES)
        assert sent.tags == "PDS"
        for _ in range(2):
            assert statement.fetchval(3) == 1
        assert sent.tags == "PDS" + "BES" * 2
        statement.fetch_columns(3)
        assert sent.tags == "PDS" + "BES" * 3


def test_the_cache_is_not_asked(connection: colonnade.sync.Connection) -> None:
    first = connection.prepare("SELECT 1")
    second = connection.prepare("SELECT 1")
    assert first.get_name() != second.get_name()
    assert connection.conversation.session.cached_statements == 0
    assert connection.fetchval("SELECT 1") == 1
    assert connection.conversation.session.cached_statements == 1
    with colonnade.sync.connect(dsn_of(connection), statement_cache_size=0) as without_cache:
        statement = without_cache.prepare("SELECT 1")
        assert statement.get_name()
        assert without_cache.fetchval("SELECT 2") == 2
        assert statement.fetchval() == 1


def dsn_of(connection: colonnade.sync.Connection) -> str:
    address = connection.conversation.transport.address
    return f"postgresql://{connection.user}@{address}/{connection.database}"


def test_a_dropped_statement_is_closed(connection: colonnade.sync.Connection) -> None:
    statements = [connection.prepare(f"SELECT {number}") for number in range(3)]
    assert len(names_on_server(connection)) == 3
    kept = statements.pop()
    statements.clear()
    gc.collect()
    assert names_on_server(connection) == [kept.get_name()]
    assert kept.fetchval() == 2


def test_dropped_in_a_failed_transaction(connection: colonnade.sync.Connection) -> None:
    statement = connection.prepare("SELECT 1")
    connection.execute("BEGIN")
    with pytest.raises(PostgresSyntaxError):
        connection.execute("nonsense")
    del statement
    connection.execute("ROLLBACK")
    assert names_on_server(connection) == []


def test_names(connection: colonnade.sync.Connection) -> None:
    mine = connection.prepare("SELECT 1", name="mine")
    assert mine.get_name() == "mine"
    with pytest.raises(DuplicatePreparedStatementError):
        connection.prepare("SELECT 2", name="mine")
    assert mine.fetchval() == 1
    del mine
    assert (connection.prepare("SELECT 3", name="mine")).fetchval() == 3


def test_the_unnamed_statement(connection: colonnade.sync.Connection) -> None:
    one = connection.prepare("SELECT 1", name="")
    two = connection.prepare("SELECT 2", name="")
    assert one.get_name() == ""
    assert (one.fetchval(), two.fetchval(), one.fetchval()) == (1, 2, 1)
    assert (two.fetch_columns()).to_pylist() == [{"?column?": 2}]
    assert [batch.to_pylist() for batch in one.iter_columns()] == [[{"?column?": 1}]]
    with connection.transaction():
        assert [row for row in two.cursor()] == [(2,)]
        assert (one.cursor().open()).fetch(5) == [(1,)]


def test_a_refused_text(connection: colonnade.sync.Connection) -> None:
    with pytest.raises(PostgresSyntaxError):
        connection.prepare("SELECT nonsense nonsense nonsense")
    with pytest.raises(PostgresSyntaxError):
        connection.prepare("SELECT 1; SELECT 2")
    assert names_on_server(connection) == []


def test_wrong_arguments(connection: colonnade.sync.Connection) -> None:
    statement = connection.prepare(SERIES)
    with pytest.raises(InterfaceError, match="expects 1 argument"):
        statement.fetch()
    with pytest.raises(EncodeError, match=r"\$1"):
        statement.fetchval("x")
    assert statement.fetchval(1) == 1


def test_plans(connection: colonnade.sync.Connection) -> None:
    connection.execute("CREATE TEMPORARY TABLE t (a int)")
    statement = connection.prepare("INSERT INTO t VALUES ($1)")
    (plan,) = statement.explain(5)
    assert plan["Plan"]["Node Type"] == "ModifyTable"
    assert "Execution Time" not in plan
    (plan,) = statement.explain(5, analyze=True)
    assert plan["Execution Time"] >= 0
    with connection.transaction():
        statement.explain(5, analyze=True)
    assert connection.fetchval("SELECT count(*) FROM t") == 0


@pytest.mark.parametrize("command", ["DISCARD ALL", "DEALLOCATE ALL"])
def test_the_server_forgets_all(connection: colonnade.sync.Connection, command: str) -> None:
    statement = connection.prepare("SELECT 1")
    connection.execute(command)
    for _ in range(2):
        with pytest.raises(InvalidSQLStatementNameError, match="does not exist") as caught:
            statement.fetch()
        assert "statement_cache_size=0" in str(caught.value.hint)
    assert connection.fetchval("SELECT 1") == 1


def test_a_table_that_changes(connection: colonnade.sync.Connection) -> None:
    connection.execute("CREATE TEMPORARY TABLE t (a int); INSERT INTO t VALUES (1)")
    statement = connection.prepare("SELECT * FROM t")
    connection.execute("ALTER TABLE t ADD b text")
    for _ in range(2):
        with pytest.raises(InvalidCachedStatementError, match="plan is invalid") as caught:
            statement.fetch()
        assert caught.value.message == "cached plan must not change result type"
    assert connection.fetch("SELECT * FROM t") == [(1, None)]
    assert (connection.prepare("SELECT * FROM t")).fetch() == [(1, None)]


def test_a_composite_that_changes(connection: colonnade.sync.Connection) -> None:
    connection.execute("CREATE TYPE pg_temp.pair AS (a int)")
    statement = connection.prepare("SELECT $1::pg_temp.pair AS p")
    assert statement.fetchval((1,)) == (1,)
    connection.execute("ALTER TYPE pg_temp.pair ADD ATTRIBUTE b int")
    assert statement.fetchval((1, 2)) == (1, 2)
    connection.execute("ALTER TYPE pg_temp.pair RENAME ATTRIBUTE a TO c")
    value = statement.fetchval({"c": 1, "b": 2})
    assert dict(value.items()) == {"c": 1, "b": 2}
    with connection.transaction():
        for (value,) in statement.cursor({"c": 1, "b": 2}):
            assert dict(value.items()) == {"c": 1, "b": 2}
    with pytest.raises(EncodeError, match="no field"):
        statement.fetchval({"a": 1, "b": 2})


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
def test_after_the_end(dsn: str, method: str, args: tuple[Any, ...]) -> None:
    connection = colonnade.sync.connect(dsn)
    statement = connection.prepare("SELECT 1")
    text = rf"cannot call PreparedStatement.{method}\(\): the underlying connection "
    connection.conversation.generation += 1
    # This is not awaited: the call itself raises.
    with pytest.raises(InterfaceError, match=text + "has been released back to the pool"):
        getattr(statement, method)(*args)
    connection.conversation.generation -= 1
    connection.close()
    with pytest.raises(InterfaceError, match=text + "is closed"):
        getattr(statement, method)(*args)


def test_a_closed_connection_prepares_nothing(dsn: str) -> None:
    connection = colonnade.sync.connect(dsn)
    connection.close()
    with pytest.raises(InterfaceError, match="connection is closed"):
        connection.prepare("SELECT 1")
    with pytest.raises(InterfaceError, match="connection is closed"):
        connection.cursor("SELECT 1")


def test_time_is_up(connection: colonnade.sync.Connection) -> None:
    statement = connection.prepare("SELECT pg_sleep($1)")
    with pytest.raises(TimeoutError):
        statement.fetchval(10, timeout=0.05)
    assert statement.fetchval(0) is None
    connection.execute("SET statement_timeout = 50")
    with pytest.raises(QueryCanceledError):
        statement.fetchval(10)


def test_a_name_that_was_given_anew(connection: colonnade.sync.Connection) -> None:
    first = connection.prepare("SELECT 1", name="mine")
    connection.execute("DEALLOCATE mine")
    second = connection.prepare("SELECT 2", name="mine")
    del first
    gc.collect()
    connection.execute("SELECT 1")
    assert second.fetchval() == 2
    del second
    gc.collect()
    third = connection.prepare("SELECT 3", name="mine")
    assert third.fetchval() == 3
