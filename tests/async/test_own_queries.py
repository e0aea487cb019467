"""The driver's internal queries use no codecs, row classes or row factories of the caller."""

from __future__ import annotations

import datetime as dt
import io
import uuid
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import colonnade
from colonnade._core import TYPES
from colonnade.errors import EncodeError, InterfaceError
from tests.support.elsewhere import elsewhere

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

# All types but those of the tests' own values, and those that no column has.
_HEALTHY = {"date", "uuid"}
_PSEUDO = {"unknown", "cstring", "anyarray", "void"}
BROKEN = tuple(line.name for line in TYPES if line.name not in _HEALTHY | _PSEUDO)
AWAY = """
ROLLBACK; DROP TABLE IF EXISTS made_of_own; DROP TYPE IF EXISTS pair_of_own, mood_of_own CASCADE;
DROP DOMAIN IF EXISTS day_of_own;
"""
SCRIPT = """
CREATE TYPE mood_of_own AS ENUM ('sad', 'ok');
CREATE TYPE pair_of_own AS (day date, mood mood_of_own);
CREATE DOMAIN day_of_own AS date;
CREATE TEMP TABLE days (
    day date, id uuid, kept date GENERATED ALWAYS AS (day) STORED,
    mood mood_of_own, pair pair_of_own
);
INSERT INTO days (day, id, mood, pair)
VALUES ('2024-01-02', '00000000-0000-0000-0000-000000000007', 'ok', '(2024-01-03,sad)');
"""
DAY, ID = dt.date(2024, 1, 2), uuid.UUID(int=7)


class ReachedError(Exception):
    """An internal query has used a custom codec."""


def broken(value: object) -> Any:
    raise ReachedError(value)


def broken_factory(names: object) -> Any:
    raise ReachedError(names)


async def break_codecs(link: Any, codec_format: Any) -> None:
    for name in BROKEN:
        await link.set_type_codec(
            name, schema="pg_catalog", encoder=broken, decoder=broken, format=codec_format
        )


@pytest.fixture(params=["text", "binary"])
async def broken_link(
    dsn: str, request: pytest.FixtureRequest
) -> AsyncIterator[colonnade.Connection]:
    async with await colonnade.connect(dsn, record_class=tuple, row_factory=broken_factory) as link:
        try:
            await link.execute(SCRIPT)
            await break_codecs(link, request.param)
            yield link
        finally:
            await link.execute(AWAY)


async def test_the_codecs_are_broken(broken_link: colonnade.Connection) -> None:
    for value, kind in ((1, "int4"), ("x", "text"), (1, "oid")):
        with pytest.raises(ReachedError):
            await broken_link.fetchval(f"SELECT '1'::{kind}")
        with pytest.raises(EncodeError) as caught:
            await broken_link.fetchval(f"SELECT $1::{kind} IS NULL", value)
        assert isinstance(caught.value.__cause__, ReachedError)
    with pytest.raises(ReachedError):
        await broken_link.fetch("SELECT '2024-01-02'::date")


async def test_codecs_of_other_types(broken_link: colonnade.Connection) -> None:
    await broken_link.set_type_codec("mood_of_own", encoder=str, decoder=str.upper)
    assert await broken_link.fetchval("SELECT mood FROM days") == "OK"
    await broken_link.reset_type_codec("mood_of_own")
    assert await broken_link.fetchval("SELECT mood FROM days") == "ok"
    await broken_link.set_builtin_type_codec("day_of_own", codec_name="date")
    await broken_link.set_type_codec(
        "pair_of_own", encoder=tuple, decoder=lambda parts: parts[1], format="tuple"
    )
    assert await broken_link.fetchval("SELECT pair FROM days") == "sad"
    with pytest.raises(ValueError, match="unknown type"):
        await broken_link.set_type_codec("no_such_type", encoder=str, decoder=str)


async def test_broken_codecs_are_taken_back(broken_link: colonnade.Connection) -> None:
    for name in BROKEN:
        await broken_link.reset_type_codec(name, schema="pg_catalog")
    assert await broken_link.fetchval("SELECT $1::text || $2::int4", "x", 1) == "x1"
    assert await broken_link.fetchval("SELECT $1::text[]", ["x"]) == ["x"]


async def test_types_are_looked_up(broken_link: colonnade.Connection) -> None:
    await broken_link.reload_schema_state()
    for query, value in (
        ("SELECT $1::mood_of_own", "ok"),
        ("SELECT $1::mood_of_own[]", ["ok", None]),
        ("SELECT $1::day_of_own", DAY),
        ("SELECT $1::pair_of_own", (DAY, "sad")),
        ("SELECT $1::daterange", colonnade.Range(DAY, None)),
    ):
        assert await broken_link.fetchval(query, value) == value
        assert (await broken_link.fetch_columns(query, value)).num_rows == 1
    statement = await broken_link.prepare("SELECT day FROM days WHERE id = $1")
    assert [kind.name for kind in statement.get_parameters()] == ["uuid"]
    assert (await statement.explain(ID))[0]["Plan"]["Node Type"]
    assert (await statement.explain(ID, analyze=True))[0]["Plan"]["Actual Rows"]
    assert await statement.fetchval(ID) == DAY


async def test_copies(broken_link: colonnade.Connection) -> None:
    link = broken_link
    await link.execute(
        "CREATE TEMP TABLE made_of_days (day date, kept date GENERATED ALWAYS "
        "AS (day) STORED, mood mood_of_own)"
    )
    table: Any = "made_of_days"
    assert await link.copy_records_to_table(table, records=[(DAY, "ok")]) == "COPY 1"
    assert await link.copy_columns_to_table(table, {"day": [DAY], "mood": ["sad"]}) == "COPY 1"
    assert await link.copy_to_table(table, source=b"2024-01-02\tok\n") == "COPY 1"
    columns = await link.fetch_columns(f"SELECT day, mood FROM {table}")
    assert columns.to_pydict() == {"day": [DAY] * 3, "mood": ["ok", "sad", "ok"]}
    query = "SELECT mood FROM made_of_days WHERE day = $1 AND mood = $2"
    out = io.BytesIO()
    await link.copy_from_query(query, DAY, "sad", output=out)
    await link.copy_from_table(table, output=out, columns=["day"])
    assert out.getvalue() == b"sad\n" + b"2024-01-02\n" * 3
    fetched = await link.fetch_columns("SELECT day, id, mood, pair FROM days")
    await link.copy_columns_to_table("made_of_own", fetched, create=True)
    assert await link.fetchval("SELECT pair FROM made_of_own") == (dt.date(2024, 1, 3), "sad")


async def test_the_rest_of_a_connection(broken_link: colonnade.Connection) -> None:
    link = broken_link
    async with link.transaction(isolation="serializable"), link.transaction():
        cursor = await link.cursor("SELECT 1 FROM days WHERE id = $1", ID).open()
        assert await cursor.forward(1) == 1
    async with link.transaction():
        with pytest.raises(InterfaceError, match="outer 'read_committed'"):
            async with link.transaction(isolation="serializable"):
                pytest.fail("it is within another transaction")
    await link.executemany("SELECT $1::date", [(DAY,), (DAY,)])
    async with link.pipeline() as talk:
        day = talk.fetchval("SELECT $1::date", DAY)
    assert day.result() == DAY
    await link.reset()
    assert link.get_settings().server_encoding == "UTF8"


async def test_rows_of_the_types_own_values(broken_link: colonnade.Connection) -> None:
    query = "SELECT $1::text, $2::int4[], $3::oid, 'x'::name, $4::bool"
    args = ("a", [1, None], 7, True)
    for _ in range(2):
        (row,) = await broken_link.fetch_plain(query, *args)
        assert type(row) is tuple
        assert row == ("a", [1, None], 7, "x", True)
    # The caller's query with the same text is a separate statement.
    with pytest.raises(EncodeError):
        await broken_link.fetchval(query, *args)
    assert await broken_link.fetch_plain(query, *args) == [row]


async def test_columns_of_which_some_are_the_owners(broken_link: colonnade.Connection) -> None:
    link = broken_link
    query = "SELECT 'a'::text AS theirs, $1::int8 AS own, $2::text AS text"
    for _ in range(2):
        columns = await link.fetch_plain_columns(query, 7, "x")
        assert columns.to_pydict() == {"theirs": ["a"], "own": [7], "text": ["x"]}
        columns = await link.fetch_plain_columns(query, 7, "x", owners=1)
        assert columns.select("own", "text").to_pydict() == {"own": [7], "text": ["x"]}
        with pytest.raises(ReachedError):
            columns.to_pydict()
    with pytest.raises(EncodeError):
        await link.fetch_columns(query, 7, "x")
    everything = await link.fetch_plain_columns(query, 7, "x", owners=10**9)
    with pytest.raises(ReachedError):
        everything["own"]


async def test_columns_of_the_owner_are_decoded_whole(connection: colonnade.Connection) -> None:
    await connection.set_type_codec(
        *("text",),
        schema="pg_catalog",
        encoder=str,
        decoder=str,
        column_decoder=lambda columns: np.array(
            [f"{value}!" for value in columns.to_pydict()["a"]]
        ),
    )
    columns = await connection.fetch_plain_columns("SELECT 'x'::text AS a, 'y'::text", owners=1)
    assert [columns[0].tolist(), columns[1].tolist()] == [["x!"], ["y"]]
    await connection.reset_type_codec("text", schema="pg_catalog")


async def test_a_type_of_the_owner_that_was_altered(
    connection: colonnade.Connection, dsn: str
) -> None:
    await connection.execute("DROP TYPE IF EXISTS mood_of_plain; DROP TABLE IF EXISTS moods")
    await connection.execute("CREATE TYPE mood_of_plain AS (a int4)")
    await connection.execute("CREATE TABLE moods AS SELECT row(1)::mood_of_plain AS m, 2 AS n")
    query = "SELECT m, n FROM moods"
    first = await connection.fetch_plain_columns(query, owners=1)
    elsewhere(dsn, "ALTER TYPE mood_of_plain ADD ATTRIBUTE b text")
    again = await connection.fetch_plain_columns(query, owners=1)
    assert [first.to_pydict()["n"], again.to_pydict()["n"]] == [[2], [2]]
    assert "b" in str(again.to_arrow().schema.field("m").type)
    await connection.execute("DROP TABLE moods; DROP TYPE mood_of_plain")


async def test_a_plain_statement_that_is_stale(connection: colonnade.Connection, dsn: str) -> None:
    await connection.execute("DROP TABLE IF EXISTS changing; CREATE TABLE changing (a int4)")
    query = "SELECT * FROM changing"
    assert await connection.fetch_plain(query) == []
    elsewhere(dsn, "ALTER TABLE changing ADD b text DEFAULT 'x'")
    await connection.execute("INSERT INTO changing VALUES (1)")
    assert await connection.fetch_plain(query) == [(1, "x")]
    await connection.execute("DEALLOCATE ALL")
    assert await connection.fetch_plain(query) == [(1, "x")]
    async with connection.transaction():
        await connection.execute("ALTER TABLE changing DROP b")
        assert await connection.fetch_plain(query) == [(1,)]
    assert await connection.fetch_plain(query) == [(1,)]
    elsewhere(dsn, "ALTER TABLE changing ADD c text")
    await connection.execute("BEGIN")
    with pytest.raises(colonnade.PostgresError, match="cached statement plan is invalid"):
        await connection.fetch_plain(query)
    await connection.execute("ROLLBACK")
    await connection.execute("DROP TABLE changing")


async def test_without_kept_statements(dsn: str) -> None:
    async with await colonnade.connect(dsn, statement_cache_size=0) as link:
        await break_codecs(link, "binary")
        assert await link.fetch_plain("SELECT $1::text", "x") == [("x",)]
        await link.execute("CREATE TEMP TABLE changing AS SELECT 'x'::text AS a")
        assert await link.fetch_plain("SELECT * FROM changing") == [("x",)]
        await link.execute("ALTER TABLE changing ADD b int4 DEFAULT 1")
        assert await link.fetch_plain("SELECT * FROM changing") == [("x", 1)]
        await link.reset_type_codec("text", schema="pg_catalog")
        assert await link.fetchval("SELECT $1::text", "x") == "x"


async def test_a_pool(dsn: str) -> None:
    async def init(link: Any) -> None:
        await break_codecs(link, "binary")

    async with colonnade.create_pool(dsn, min_size=1, max_size=1, init=init) as pool:
        for _ in range(2):
            assert await pool.fetch_plain("SELECT $1::text, 1", "x") == [("x", 1)]
            assert await pool.fetchval("SELECT $1::date", DAY) == DAY
            async with pool.acquire() as link:
                await link.execute("SET application_name = 'x'")
                await link.reset_type_codec("text", schema="pg_catalog")
                await break_codecs(link, "binary")
