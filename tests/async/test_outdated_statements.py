"""Statements and types that are known from before a change, in every verb of a connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade.errors import EncodeError, PostgresError
from tests.support.elsewhere import elsewhere

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

SCHEMA = "outdated_statements"
IN_SCHEMA = f"SET search_path TO {SCHEMA}; "


@pytest.fixture
async def link(dsn: str) -> AsyncIterator[colonnade.Connection]:
    """A connection in a schema of its own."""
    elsewhere(dsn, f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE; CREATE SCHEMA {SCHEMA}")
    settings = {"search_path": SCHEMA}
    async with await colonnade.connect(dsn, server_settings=settings) as made:
        yield made
    elsewhere(dsn, f"DROP SCHEMA {SCHEMA} CASCADE")


@pytest.fixture(params=["own", "other", "hidden"])
def change(
    link: colonnade.Connection, dsn: str, request: pytest.FixtureRequest
) -> Callable[[str], Awaitable[None]]:
    """Run commands here, on another connection, or here where no command tag tells of them."""

    async def run(script: str) -> None:
        if request.param == "own":
            await link.execute(script)
        elif request.param == "other":
            elsewhere(dsn, IN_SCHEMA + script)
        else:
            await link.execute(
                "CREATE OR REPLACE FUNCTION change() RETURNS int LANGUAGE plpgsql AS "
                f"$f$ BEGIN {script}; RETURN 1; END $f$"
            )
            # A query before it, so that only the call is new.
            assert await link.fetchval("SELECT change()") == 1

    return run


async def test_a_type_that_is_dropped_and_made_again(
    link: colonnade.Connection, change: Callable[[str], Awaitable[None]]
) -> None:
    await change("CREATE TYPE e AS ENUM ('a')")
    statement = "SELECT $1::e"
    for _ in range(3):
        assert await link.fetchval(statement, "a") == "a"
        assert await link.fetch("SELECT ARRAY[$1::e]", "a") == [(["a"],)]
        assert (await link.fetch_columns("SELECT 'a'::e AS e"))["e"].tolist() == ["a"]
        assert await link.fetchmany("SELECT $1::e", [("a",), ("a",)]) == [("a",), ("a",)]
        await change("DROP TYPE e; CREATE TYPE e AS ENUM ('a')")


async def test_a_wider_column(
    link: colonnade.Connection, change: Callable[[str], Awaitable[None]]
) -> None:
    await change("CREATE TABLE t (x int)")
    insert, select = "INSERT INTO t VALUES ($1)", "SELECT x FROM t ORDER BY 1"
    await link.execute(insert, 5)
    assert await link.fetch(select) == [(5,)]
    await change("ALTER TABLE t ALTER x TYPE bigint")
    await link.execute(insert, 2**40)
    await link.executemany(insert, [(2**41,)])
    assert await link.fetch(select) == [(5,), (2**40,), (2**41,)]
    await change("DROP TABLE t; CREATE TABLE t (x text)")
    await link.execute(insert, "007")
    assert await link.fetch(select) == [("007",)]
    assert await link.fetch("SELECT x FROM t WHERE x = $1", "007") == [("007",)]


async def test_the_own_change_of_a_float(link: colonnade.Connection) -> None:
    insert = "INSERT INTO t VALUES ($1)"
    for kind, expected in (("real", 0.10000000149011612), ("float8", 0.1)):
        async with link.transaction():
            await link.execute(f"CREATE TEMP TABLE t (x {kind}) ON COMMIT DROP")
            await link.execute(insert, 0.1)
            assert await link.fetchval("SELECT x::float8 FROM t") == expected
    # A table made from a query, and one that hides another.
    await link.execute("CREATE TABLE t AS SELECT 1::int4 AS x")
    assert await link.fetchval("SELECT x FROM t") == 1
    await link.execute("CREATE TEMP TABLE t AS SELECT 'hides it'::text AS x")
    assert await link.fetchval("SELECT x FROM t") == "hides it"
    await link.execute("DROP TABLE pg_temp.t")
    await link.execute("SELECT 'so does this' AS x INTO TEMP t")
    assert await link.fetchval("SELECT x FROM t") == "so does this"
    await link.execute("DISCARD TEMP")
    assert await link.fetchval("SELECT x FROM t") == 1


SWAP = (
    "ALTER TYPE p RENAME ATTRIBUTE a TO t; ALTER TYPE p RENAME ATTRIBUTE b TO a; "
    "ALTER TYPE p RENAME ATTRIBUTE t TO b"
)
WHOLE = {"a": 1, "b": 2}


async def written(link: colonnade.Connection, statement: Any) -> list[Any]:
    """The field `a` of a dict that goes in by every door, and the dict as it comes back."""
    async with link.transaction():
        await link.execute("DELETE FROM rows_of_p")
        await link.execute("INSERT INTO rows_of_p VALUES ($1)", WHOLE)
        await link.executemany("INSERT INTO rows_of_p VALUES ($1)", [(WHOLE,)])
        await link.copy_records_to_table("rows_of_p", records=[(WHOLE,)])
        await statement.executemany([(WHOLE,)])
        fields = [row[0] for row in await link.fetch("SELECT (v).a FROM rows_of_p")]
    rows = [dict(row["v"].items()) for row in await link.fetch("SELECT v FROM rows_of_p")]
    columns = (await link.fetch_columns("SELECT v FROM rows_of_p")).to_arrow()["v"].to_pylist()
    async with link.pipeline() as pipeline:
        piped = pipeline.fetchval("SELECT v FROM rows_of_p LIMIT 1")
    return [*fields, *rows, *columns, dict(piped.result().items())]


async def test_fields_that_are_renamed(link: colonnade.Connection) -> None:
    await link.execute("CREATE TYPE p AS (a int, b int); CREATE TABLE rows_of_p (v p)")
    statement = await link.prepare("INSERT INTO rows_of_p VALUES ($1)")
    expected = [1, 1, 1, 1, *[WHOLE] * 9]
    assert await written(link, statement) == expected
    await link.execute(SWAP)
    assert await written(link, statement) == expected
    async with link.transaction():
        await link.execute(SWAP)
        assert await written(link, statement) == expected
        await link.execute("SAVEPOINT s")
        await link.execute(SWAP)
        assert await written(link, statement) == expected
        await link.execute("ROLLBACK TO s")
        assert await written(link, statement) == expected
    assert await written(link, statement) == expected
    transaction = link.transaction()
    await transaction.start()
    await link.execute(SWAP)
    assert await written(link, statement) == expected
    await transaction.rollback()
    assert await written(link, statement) == expected


RECORD = "SELECT ROW(ROW(1, 2)::p) AS v"
KEYS = "json_object_keys(to_json(ROW(1, 2)::p))"


async def check_names(link: colonnade.Connection, insert: Any, record: Any) -> None:
    """Dicts have the names of now in every door, also in a record whose fields have no names."""
    assert await written(link, insert) == [1, 1, 1, 1, *[WHOLE] * 9]
    names = await link.fetchval(f"SELECT string_agg(k, '') FROM {KEYS} AS k")
    for value in (await record.fetchval(), await link.fetchval(RECORD)):
        assert "".join(value[0].keys()) == names
    for columns in (await record.fetch_columns(), await link.fetch_columns(RECORD)):
        assert "".join(columns.to_arrow()["v"].to_pylist()[0]["f1"]) == names


async def test_fields_that_another_program_renames(dsn: str, link: colonnade.Connection) -> None:
    # Nothing tells of it, so what is known must never be too old.
    await link.execute("CREATE TYPE p AS (a int, b int); CREATE TABLE rows_of_p (v p)")
    async with await colonnade.connect(
        dsn, max_cached_statement_lifetime=1e-9, server_settings={"search_path": SCHEMA}
    ) as forgetful:
        insert = await forgetful.prepare("INSERT INTO rows_of_p VALUES ($1)")
        record = await forgetful.prepare(RECORD)
        for _ in range(3):
            await check_names(forgetful, insert, record)
            elsewhere(dsn, IN_SCHEMA + SWAP)


async def test_a_reload_tells_of_renamed_fields(dsn: str, link: colonnade.Connection) -> None:
    await link.execute("CREATE TYPE p AS (a int, b int); CREATE TABLE rows_of_p (v p)")
    insert = await link.prepare("INSERT INTO rows_of_p VALUES ($1)")
    record = await link.prepare(RECORD)
    for _ in range(3):
        await check_names(link, insert, record)
        elsewhere(dsn, IN_SCHEMA + SWAP)
        await link.reload_schema_state()


async def test_the_row_type_of_a_table(link: colonnade.Connection) -> None:
    await link.execute("CREATE TABLE t (a int, b int); INSERT INTO t VALUES (1, 2)")
    whole = "SELECT t FROM t"
    assert dict((await link.fetchval(whole)).items()) == {"a": 1, "b": 2}
    await link.execute("ALTER TABLE t RENAME a TO c")
    assert dict((await link.fetchval(whole)).items()) == {"c": 1, "b": 2}
    assert await link.fetchval("SELECT ($1::t).c", {"c": 3, "b": 4}) == 3


async def test_labels_domains_and_ranges(
    link: colonnade.Connection, change: Callable[[str], Awaitable[None]]
) -> None:
    await change(
        "CREATE TYPE e AS ENUM ('a', 'b'); CREATE DOMAIN d AS int;"
        "CREATE TYPE r AS RANGE (subtype = int4); CREATE TABLE t (e e, d d, r r)"
    )
    insert = "INSERT INTO t VALUES ($1, $2, $3)"
    await link.execute(insert, "a", 1, colonnade.types.Range(1, 2))
    await change("ALTER TYPE e RENAME VALUE 'a' TO 'c'")
    await link.execute(insert, "c", 2, None)
    assert (await link.fetch_columns("SELECT e FROM t"))["e"].tolist() == ["c", "c"]
    await change(
        "DROP TABLE t; DROP TYPE r; CREATE TYPE r AS RANGE (subtype = text); DROP DOMAIN d;"
        "CREATE DOMAIN d AS text; CREATE TABLE t (e e, d d, r r)"
    )
    await link.execute(insert, "c", "two", colonnade.types.Range("x", "y"))
    row = await link.fetchrow("SELECT * FROM t")
    assert row is not None
    assert (row["d"], row["r"].lower) == ("two", "x")


async def test_search_path_in_each_transaction(link: colonnade.Connection, dsn: str) -> None:
    for name, shape in (("one", "n int"), ("two", "n text, z int DEFAULT 1")):
        elsewhere(
            dsn,
            f"DROP SCHEMA IF EXISTS tenant_{name} CASCADE; CREATE SCHEMA tenant_{name};"
            f"CREATE TABLE tenant_{name}.t ({shape});"
            f"CREATE TYPE tenant_{name}.e AS ENUM ('{name}')",
        )
    for number in range(6):
        name, value, width = [("one", 5, 1), ("two", "5", 2)][number % 2]
        async with link.transaction():
            await link.execute(f"SET LOCAL search_path = tenant_{name}")
            await link.execute("INSERT INTO t (n) VALUES ($1)", value)
            assert await link.fetchval("SELECT $1::e", name) == name
            rows = await link.fetch("SELECT * FROM t")
            assert {len(row) for row in rows} == {width}
            # By a function, too: the server reports it since PostgreSQL 18.
            if link.get_server_version().major >= 18:
                other = "two" if name == "one" else "one"
                await link.execute(f"SELECT set_config('search_path', 'tenant_{other}', true)")
                assert await link.fetchval("SELECT $1::e", other) == other
    kept = "SELECT count(*) FROM pg_prepared_statements WHERE statement = 'SELECT * FROM t'"
    assert await link.fetchval(kept) == 2, "one for each tenant"
    elsewhere(dsn, "DROP SCHEMA tenant_one, tenant_two CASCADE")


async def test_within_a_transaction_the_error_says_so(link: colonnade.Connection, dsn: str) -> None:
    await link.execute("CREATE TABLE t (x int)")
    query = "SELECT x FROM t WHERE x = $1"
    for kind, good, bad in (("text", 1, "a"), ("int", "a", 2)):
        await link.fetch(query, good)
        elsewhere(dsn, f"ALTER TABLE {SCHEMA}.t ALTER x TYPE {kind} USING NULL")
        transaction = link.transaction()
        await transaction.start()
        with pytest.raises(PostgresError) as caught:
            await link.fetch(query, bad)
        assert "described anew the next time" in "".join(caught.value.__notes__)
        await transaction.rollback()
        async with link.transaction():
            assert await link.fetch(query, bad) == []


async def test_an_error_of_the_value_stays_one(link: colonnade.Connection) -> None:
    await link.execute("CREATE TYPE e AS ENUM ('a'); CREATE TABLE t (x int, j jsonb)")
    insert = "INSERT INTO t VALUES ($1, $2)"
    await link.execute(insert, 1, "1")
    for _ in range(2):
        with pytest.raises(PostgresError, match="enum e"):
            await link.fetchval("SELECT $1::e", "nothing")
        with pytest.raises(EncodeError):
            await link.execute(insert, "one", "1")
        with pytest.raises(PostgresError, match="json"):
            await link.execute(insert, 1, "{")
    assert await link.fetchval("SELECT count(*) FROM t") == 1
