"""Databases in other encodings, and settings that change how a server writes values."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade import embedded, errors

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

TEXTS = {
    "LATIN1": "Grüße, naïve façade ÿ",
    "EUC_JP": "日本語のテキスト、カナ",
    "WIN1251": "Привет, мир",
    "UTF8": "Grüße, 日本語, 🦀",
}
UNFIT = {"LATIN1": "日本", "EUC_JP": "🦀", "WIN1251": "日本"}


@pytest.fixture(scope="module")
def own() -> Iterator[embedded.Server]:
    """A server for databases in other encodings."""
    with embedded.start(tcp=True) as server:
        yield server


async def in_encoding(server: embedded.Server, encoding: str) -> colonnade.Connection:
    """A connection to a database in this encoding, which is created if missing."""
    name = encoding.lower()
    async with await colonnade.connect(server.dsn) as connection:
        found = await connection.fetchval(
            "SELECT count(*) FROM pg_database WHERE datname = $1", name
        )
        if not found:
            await connection.execute(
                f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0"
            )
    return await colonnade.connect(server.dsn_for("postgres", database=name))


@pytest.mark.parametrize("encoding", TEXTS)
async def test_text_of_a_database_in_another_encoding(
    own: embedded.Server, encoding: str, nothing_left: None
) -> None:
    del nothing_left
    text = TEXTS[encoding]
    async with await in_encoding(own, encoding) as connection:
        assert await connection.fetchval("SHOW server_encoding") == encoding
        await connection.execute(f'CREATE TEMP TABLE "{text[:5]}" (t text)')
        table = text[:5]
        await connection.copy_records_to_table(table, records=[(text,)])
        await connection.copy_columns_to_table(table, {"t": [text, None]})
        await connection.executemany(f'INSERT INTO "{table}" VALUES ($1)', [(text,)])
        everything = f'SELECT t FROM "{table}"'
        assert [row["t"] for row in await connection.fetch(everything)] == [text, text, None, text]
        columns = await connection.fetch_columns(everything)
        assert columns.to_pydict() == {"t": [text, text, None, text]}
        with pytest.raises(errors.UndefinedTableError, match=text[-3:]):
            await connection.fetch(f'SELECT * FROM "{text}"')
        if encoding in UNFIT:
            for call in (connection.fetch, connection.fetch_columns):
                with pytest.raises(errors.UntranslatableCharacterError, match=encoding):
                    await call("SELECT $1::text", UNFIT[encoding])
        assert await connection.fetchval("SELECT $1::text", text) == text


async def test_bytes_of_a_database_without_an_encoding(
    own: embedded.Server, nothing_left: None
) -> None:
    """The server refuses to send text that is not UTF-8, but sends it as bytes."""
    del nothing_left
    async with await in_encoding(own, "SQL_ASCII") as connection:
        assert await connection.fetchval("SELECT $1::text", "Grüße") == "Grüße"
        latin = "SELECT i, convert_from('\\xe9', 'SQL_ASCII') AS t FROM generate_series(1, 2) i"
        for call in (connection.fetch, connection.fetch_columns):
            with pytest.raises(errors.CharacterNotInRepertoireError, match="0xe9"):
                await call(latin)
            assert connection.transaction_status == "idle"
        taken = "SELECT convert_to(t, 'SQL_ASCII') AS t FROM (" + latin + ") AS s"
        assert [row["t"] for row in await connection.fetch(taken)] == [b"\xe9"] * 2


async def test_another_client_encoding_is_refused_until_it_is_set_back(
    dsn: str, nothing_left: None
) -> None:
    del nothing_left
    async with await colonnade.connect(dsn) as connection:
        await connection.execute("SET client_encoding = 'LATIN1'")
        for call in (connection.fetch, connection.fetch_columns):
            with pytest.raises(
                errors.InterfaceError, match="client_encoding was changed to LATIN1"
            ):
                await call("SELECT 'ü'")
        await connection.execute("SET client_encoding = 'UTF8'")
        assert await connection.fetchval("SELECT 'ü'") == "ü"


STYLES = [
    {"DateStyle": "SQL, DMY"},
    {"DateStyle": "German"},
    {"DateStyle": "Postgres, MDY"},
    {"IntervalStyle": "iso_8601"},
    {"IntervalStyle": "sql_standard"},
    {"bytea_output": "escape"},
    {"extra_float_digits": "-15"},
    {"standard_conforming_strings": "off", "escape_string_warning": "off"},
    {"lc_monetary": "C"},
    {"TimeZone": "Asia/Kathmandu"},
    {"array_nulls": "off"},
    {"quote_all_identifiers": "on"},
    {"xmloption": "document"},
    {"session_replication_role": "replica"},
    {"plan_cache_mode": "force_generic_plan"},
    {"enable_seqscan": "off", "jit": "off"},
    {"search_path": ""},
    {"default_transaction_isolation": "serializable"},
    {"row_security": "off"},
]

VALUES = [
    ("date", dt.date(2024, 2, 29)),
    ("timestamp", dt.datetime(2024, 2, 29, 12, 30, 1, 5)),
    ("timestamptz", dt.datetime(2024, 2, 29, 12, 30, tzinfo=dt.UTC)),
    ("interval", dt.timedelta(days=3, seconds=5, microseconds=7)),
    ("bytea", b"\x00\xff'\\"),
    ("float8", 0.1 + 0.2),
    ("float4", 0.5),
    ("text", 'it\'s a \\back\\slash "quoted" \n'),
    ("int4[]", [1, None, 3]),
    ("text[]", ["NULL", "a,b", None, '"']),
]


@pytest.fixture(params=STYLES, ids=lambda style: " ".join(map("=".join, style.items())))
async def styled(
    dsn: str, request: pytest.FixtureRequest, nothing_left: None
) -> AsyncIterator[colonnade.Connection]:
    """A connection with a setting that changes how the server writes values."""
    del nothing_left
    async with await colonnade.connect(dsn, server_settings=request.param) as connection:
        yield connection


async def test_values_do_not_depend_on_how_the_server_writes(styled: colonnade.Connection) -> None:
    columns = ", ".join(f"${n}::{name} AS c{n}" for n, (name, _) in enumerate(VALUES, 1))
    values = [value for _, value in VALUES]
    for _ in range(2):
        row = await styled.fetchrow(f"SELECT {columns}", *values)
        assert row is not None
        assert list(row) == values
        found = await styled.fetch_columns(f"SELECT {columns}", *values)
        assert [found.to_pydict()[name][0] for name in found.to_pydict()] == values
    await styled.execute("CREATE TYPE pg_temp.pair AS (a text, b timestamp)")
    pair = await styled.fetchval("SELECT $1::pg_temp.pair", ("x\\'y", values[1]))
    assert tuple(pair) == ("x\\'y", values[1])
    await styled.execute("CREATE TEMP TABLE own (t text, d date, b bytea)")
    await styled.copy_records_to_table("own", records=[("\\x", values[0], values[4])])
    copied = await styled.fetch_columns("SELECT * FROM own")
    assert copied.to_pylist() == [{"t": "\\x", "d": values[0], "b": values[4]}]


async def test_a_flood_of_notices(dsn: str, nothing_left: None) -> None:
    """The server logs everything to the client, and the answers stay the same."""
    del nothing_left
    settings = {"client_min_messages": "debug5", "log_min_messages": "panic"}
    async with await colonnade.connect(dsn, server_settings=settings) as connection:
        heard: list[object] = []
        listener = lambda _, message: heard.append(message)  # noqa: E731 - the same one is removed
        connection.add_log_listener(listener)
        async with connection.transaction():
            columns = await connection.fetch_columns("SELECT n FROM generate_series(1, 5000) n")
            assert len(columns) == 5000
            await connection.execute(
                "DO $$ BEGIN FOR i IN 1..3000 LOOP RAISE NOTICE 'number %', i; END LOOP; END $$"
            )
        await connection.executemany("SELECT $1::int", [(n,) for n in range(100)])
        await connection.execute("CREATE TEMP TABLE own (n int)")
        await connection.copy_columns_to_table("own", {"n": [1, 2, 3]})
        assert await connection.fetchval("SELECT sum(n) FROM own") == 6
        assert len(heard) > 100
        connection.remove_log_listener(listener)
