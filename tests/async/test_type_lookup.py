"""Types that are not built in: looked up once, and again after a change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade.errors import InternalServerError
from tests.support.elsewhere import elsewhere

if TYPE_CHECKING:
    from tests.support.proxy import Proxy

SCHEMA = "type_lookup"
pytestmark = pytest.mark.usefixtures("schema")


@pytest.fixture
async def schema(connection: colonnade.Connection) -> None:
    await connection.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE; CREATE SCHEMA {SCHEMA}")
    await connection.execute(f"SET search_path TO {SCHEMA}")


async def both(connection: colonnade.Connection, query: str, *args: object) -> list[Any]:
    """The first column in rows; check that columns agree."""
    rows = [row[0] for row in await connection.fetch(query, *args)]
    columns = await connection.fetch_columns(query, *args)
    assert len(columns) == len(rows)
    return rows


async def test_types_made_while_connected(connection: colonnade.Connection) -> None:
    await connection.execute(
        "CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE DOMAIN price AS numeric(8, 2);"
        "CREATE TYPE item AS (name text, price price, mood mood);"
        "CREATE TYPE price_range AS RANGE (subtype = price)"
    )
    query = """
        SELECT ROW('tea', 2.5, 'ok')::item AS item, '{"[1,2)"}'::price_range[] AS ranges
    """
    (row,) = await connection.fetch(query)
    assert tuple(row["item"].values()) == ("tea", row["item"]["price"], "ok")
    assert str(row["item"]["price"]) == "2.50"
    columns = await connection.fetch_columns(query)
    assert [field.type_name for field in columns.fields] == ["item", "price_range[]"]
    assert "decimal128(8, 2)" in columns.fields[0].arrow_type
    again = "SELECT $1::item"
    assert await connection.fetchval(again, ("tea", 3, "sad")) == ("tea", 3, "sad")


async def test_a_label_that_was_added(connection: colonnade.Connection) -> None:
    await connection.execute("CREATE TYPE mood AS ENUM ('sad', 'ok')")
    query = "SELECT m::mood AS m FROM unnest($1::text[]) AS m"
    assert await both(connection, query, ["ok", "sad", None]) == ["ok", "sad", None]
    await connection.execute("ALTER TYPE mood ADD VALUE 'happy' BEFORE 'ok'")
    columns = await connection.fetch_columns(query, ["happy", "ok", None])
    table = columns.to_arrow()
    table.validate(full=True)
    assert table["m"].to_pylist() == ["happy", "ok", None]
    assert await connection.fetchval("SELECT $1::mood", "happy") == "happy"


@pytest.mark.parametrize("way", ["rows", "columns"])
async def test_a_composite_that_was_altered(connection: colonnade.Connection, way: str) -> None:
    async def fetched() -> list[Any]:
        query = "SELECT p FROM people AS p ORDER BY a"
        if way == "rows":
            return [
                None if row["p"] is None else dict(row["p"].items())
                for row in await connection.fetch(query)
            ]
        columns = await connection.fetch_columns(query)
        return list(columns.to_arrow()["p"].to_pylist())

    await connection.execute(
        "CREATE TABLE people (a int4, b text); INSERT INTO people VALUES (1, 'x')"
    )
    assert await fetched() == [{"a": 1, "b": "x"}]
    await connection.execute("ALTER TABLE people ADD COLUMN c date")
    assert await fetched() == [{"a": 1, "b": "x", "c": None}]
    await connection.execute("ALTER TABLE people DROP COLUMN b")
    assert await fetched() == [{"a": 1, "c": None}]
    await connection.execute("ALTER TABLE people ALTER COLUMN a TYPE text")
    assert await fetched() == [{"a": "1", "c": None}]
    # The cached statement keeps its types.
    assert await fetched() == [{"a": "1", "c": None}]


async def test_a_parameter_whose_composite_was_altered(
    connection: colonnade.Connection, dsn: str
) -> None:
    await connection.execute("CREATE TYPE pair AS (a int4, b text)")
    query = "SELECT ($1::pair).a"
    assert await connection.fetchval(query, (1, "x")) == 1
    elsewhere(dsn, f"ALTER TYPE {SCHEMA}.pair ADD ATTRIBUTE c int4")
    # The server refuses the value; then the type is looked up again.
    with pytest.raises(colonnade.EncodeError, match="has 3 fields, and 2"):
        await connection.fetchval(query, (1, "x"))
    assert await connection.fetchval(query, (1, "x", 3)) == 1


@pytest.mark.parametrize("way", ["rows", "columns"])
async def test_a_type_within_an_anonymous_record(
    connection: colonnade.Connection, way: str
) -> None:
    await connection.execute(
        "CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TYPE deep AS (m mood, n int4)"
    )
    query = (
        "SELECT CASE WHEN n = 3 THEN "
        "ROW(n, 'ok'::mood, ROW('sad', 1)::deep, ROW(ARRAY['ok']::mood[])) "
        "END AS r FROM generate_series(1, 4) AS n"
    )
    if way == "rows":
        values = [row["r"] for row in await connection.fetch(query)]
        assert values == [None, None, (3, "ok", ("sad", 1), (["ok"],)), None]
        return
    columns = await connection.fetch_columns(query)
    record = {"f1": 3, "f2": "ok", "f3": {"m": "sad", "n": 1}, "f4": {"f1": ["ok"]}}
    assert columns.to_arrow()["r"].to_pylist() == [None, None, record, None]


async def test_in_a_stream_the_next_query_knows(connection: colonnade.Connection, dsn: str) -> None:
    await connection.execute("CREATE TABLE people (a int4); INSERT INTO people VALUES (1)")
    query = "SELECT p FROM people AS p"
    await connection.fetch(query)
    elsewhere(dsn, f"ALTER TABLE {SCHEMA}.people ADD COLUMN b int4 DEFAULT 2")
    with pytest.raises(colonnade.DecodeError, match="looked up again for the next query") as raised:
        async for _ in connection.iter_columns(query, batch_rows=1):
            pass
    # Code written for asyncpg catches this class and retries.
    assert isinstance(raised.value, colonnade.OutdatedSchemaCacheError)
    assert (raised.value.column, raised.value.row) == ("p", 0)
    batches = [cols async for cols in connection.iter_columns(query, batch_rows=1)]
    assert batches[0].to_arrow()["p"].to_pylist() == [{"a": 1, "b": 2}]


async def test_without_a_statement_cache(dsn: str) -> None:
    other = await colonnade.connect(dsn, statement_cache_size=0)
    try:
        await other.execute(f"SET search_path TO {SCHEMA}; CREATE TYPE mood AS ENUM ('ok')")
        for _ in range(2):
            assert await other.fetchval("SELECT $1::mood", "ok") == "ok"
            assert await other.fetchval("SELECT ARRAY[$1::mood]", "ok") == ["ok"]
    finally:
        await other.close()


async def test_everything_can_be_forgotten(connection: colonnade.Connection) -> None:
    await connection.execute("CREATE TYPE mood AS ENUM ('ok')")
    assert await connection.fetchval("SELECT 'ok'::mood") == "ok"
    await connection.reload_schema_state()
    assert await connection.fetchval("SELECT 'ok'::mood") == "ok"


async def test_a_parameter_type_that_was_made_anew(connection: colonnade.Connection) -> None:
    await connection.execute("CREATE DOMAIN flag AS bool")
    assert await connection.fetchval("SELECT $1::flag", True) is True
    await connection.execute("DROP DOMAIN flag; CREATE DOMAIN flag AS int4")
    assert await connection.fetchval("SELECT $1::flag", 5) == 5
    with pytest.raises(colonnade.EncodeError, match=r"\$1 of type flag"):
        await connection.fetchval("SELECT $1::flag", "x")
    assert await connection.fetchval("SELECT $1::flag", 6) == 6


async def test_a_field_that_was_renamed(connection: colonnade.Connection, dsn: str) -> None:
    await connection.execute("CREATE TYPE pair AS (a int4, b text)")
    query = "SELECT ROW(1, 'x')::pair"
    assert dict((await connection.fetchval(query)).items()) == {"a": 1, "b": "x"}
    elsewhere(dsn, f"ALTER TYPE {SCHEMA}.pair RENAME ATTRIBUTE b TO c")
    # The result does not show the change; the docs mention it.
    assert dict((await connection.fetchval(query)).items()) == {"a": 1, "b": "x"}
    await connection.reload_schema_state()
    assert dict((await connection.fetchval(query)).items()) == {"a": 1, "c": "x"}
    # One's own changes show.
    await connection.execute("ALTER TYPE pair RENAME ATTRIBUTE c TO d")
    assert dict((await connection.fetchval(query)).items()) == {"a": 1, "d": "x"}


async def test_within_a_transaction(connection: colonnade.Connection) -> None:
    await connection.execute("BEGIN; CREATE TYPE mood AS ENUM ('ok'); CREATE TABLE t (m mood[])")
    assert await connection.fetch("SELECT m FROM t") == []
    await connection.execute("ROLLBACK")
    with pytest.raises(colonnade.PostgresError):
        await connection.fetch("SELECT m FROM t")
    assert await connection.fetchval("SELECT 1") == 1


async def test_a_type_that_is_gone_between(connection: colonnade.Connection) -> None:
    await connection.execute("CREATE TYPE mood AS ENUM ('ok')")
    assert await connection.fetchval("SELECT 'ok'::mood") == "ok"
    await connection.execute("DROP TYPE mood; CREATE TYPE mood AS (a int4)")
    assert await connection.fetchval("SELECT ROW(1)::mood") == (1,)


async def test_all_types_of_a_statement_take_one_round_trip(proxy: Proxy) -> None:
    async with await colonnade.connect(f"{proxy.dsn}?sslmode=disable") as connection:
        await connection.execute(
            f"SET search_path TO {SCHEMA}; CREATE TYPE mood AS ENUM ('ok');"
            "CREATE TYPE pair AS (m mood, n int4); CREATE TYPE triple AS (p pair[], m mood)"
        )
        query = "SELECT $1::triple, NULL::pair[], 'ok'::mood, NULL::pg_am"
        before = len(proxy.first.tags)
        await connection.fetch(query, None)
        tags = proxy.first.tags[before:]
        # One round trip each to prepare, to look up, and to run.
        assert tags.count("S") == 3
        before = len(proxy.first.tags)
        await connection.fetch(query, None)
        await connection.fetch("SELECT 'ok'::mood, $1::pair", None)
        assert proxy.first.tags[before:].count("S") == 1 + 2
        before = len(proxy.first.tags)
        # The array of a known type is a separate type.
        await connection.fetch("SELECT ARRAY['ok']::mood[], $1::pair", None)
        assert proxy.first.tags[before:].count("S") == 3


@pytest.mark.parametrize("statement_cache_size", [100, 0])
async def test_parameters_of_a_type_that_was_altered(dsn: str, statement_cache_size: int) -> None:
    """The first call after the change uses the new type; within a transaction, the second does."""
    query = "SELECT $1::person::text"
    async with await colonnade.connect(
        dsn, statement_cache_size=statement_cache_size
    ) as connection:
        await connection.execute(f"SET search_path TO {SCHEMA}; CREATE TYPE person AS (a int)")
        assert await connection.fetchval(query, (1,)) == "(1)"
        elsewhere(dsn, f"ALTER TYPE {SCHEMA}.person ADD ATTRIBUTE b text")
        assert await connection.fetchval(query, (1, "x")) == "(1,x)"
        with pytest.raises(colonnade.EncodeError, match="has 2 fields, and 3"):
            await connection.fetchval(query, (1, "x", 3))
        made_anew = f"SET search_path TO {SCHEMA}; DROP TYPE person; CREATE TYPE person AS "
        elsewhere(dsn, made_anew + "(b text)")
        assert await connection.fetchval(query, ("x",)) == "(x)"
        elsewhere(dsn, made_anew + "(a text, b int)")
        await connection.execute("BEGIN")
        with pytest.raises(colonnade.EncodeError) as raised:
            await connection.fetchval(query, ("x", 1))
        assert "described anew the next time" in raised.value.__notes__[-1]
        assert await connection.fetchval(query, ("x", 1)) == "(x,1)"
        await connection.execute("COMMIT")
        elsewhere(dsn, made_anew + "ENUM ('x')")
        assert await connection.fetchval(query, "x") == "x"
        elsewhere(dsn, made_anew + "ENUM ('x')")
        await connection.execute("BEGIN")
        with pytest.raises(InternalServerError, match="cache lookup failed") as caught:
            await connection.fetchval(query, "x")
        assert caught.value.is_outdated
        await connection.execute("ROLLBACK")
        assert await connection.fetchval(query, "x") == "x"
