"""Types of extensions, compared with asyncpg and psycopg.

Rows and parameters have their texts, as with those drivers; columns have the types' own values,
and so have rows of a connection with `extension_types`.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import asyncpg
import numpy as np
import psycopg
import pyarrow as pa
import pytest

import colonnade
import colonnade.dbapi
import colonnade.sync
from colonnade._driver.sql.quoting import quote_literal
from colonnade.errors import EncodeError, InterfaceError, InvalidTextRepresentationError
from samples import EXTENSIONS, FOREIGN
from tests.types import oracle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from colonnade.sync import Connection

TEXTS: dict[str, tuple[str, tuple[str, ...]]] = {
    **{name: (extension, sample.values) for name, (extension, sample) in EXTENSIONS.items()},
    **{name: (extension, texts) for name, (extension, _arrow, texts) in FOREIGN.items()},
    "isbn13": ("isn", ("978-0-393-04002-9",)),
    "citext": ("citext", ("Ab", "a b, c")),
}
# Domains over a built-in type, whose values every driver gives.
NO_TEXTS = {"lo"}
# Types whose own values are not text, with an example.
OWN: dict[str, tuple[str, Any]] = {
    "hstore": ('"a"=>"1", "q\\""=>"", "b c"=>NULL', {"a": "1", 'q"': "", "b c": None}),
    "vector": ("[1,2.5,-0.25]", [1.0, 2.5, -0.25]),
    "halfvec": ("[1,2.5,-0.25]", [1.0, 2.5, -0.25]),
}
NUMBERS = itertools.count(1)


@pytest.fixture(scope="module")
def database(dsn: str) -> Iterator[str]:
    """A database with the extensions that the server has."""
    name = "extensions_as_text"
    with colonnade.sync.connect(dsn) as link:
        link.execute(f"DROP DATABASE IF EXISTS {name}")
        link.execute(f"CREATE DATABASE {name}")
    made = f"{psycopg.conninfo.make_conninfo(dsn, dbname=name)}"
    with colonnade.sync.connect(made) as link:
        there = {row[0] for row in link.fetch("SELECT name FROM pg_available_extensions")}
        for extension in {extension for extension, _ in TEXTS.values()} & there:
            link.execute(f"CREATE EXTENSION {extension}")
    yield made
    with colonnade.sync.connect(dsn) as link:
        link.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def link(database: str) -> Iterator[Connection]:
    """A connection with default options."""
    with colonnade.sync.connect(database) as connection:
        yield connection


@pytest.fixture
def own(database: str) -> Iterator[Connection]:
    """A connection with `extension_types`."""
    with colonnade.sync.connect(database, extension_types=True) as connection:
        yield connection


def needs(link: Connection, name: str) -> None:
    if link.fetchval("SELECT to_regtype($1)::oid", name) is None:
        pytest.skip("the server does not have the extension")


Peer = Callable[..., Any]


@pytest.fixture(scope="module")
def peer(database: str) -> Iterator[Peer]:
    """The result of asyncpg for a query."""
    words: dict[str, Any] = psycopg.conninfo.conninfo_to_dict(database)
    words["database"] = words.pop("dbname")
    with asyncio.Runner() as runner:
        connection = runner.run(asyncpg.connect(**words))

        async def fetch(query: str, *args: Any) -> Any:
            return await connection.fetchval(query, *args)

        yield lambda *args: runner.run(fetch(*args))
        runner.run(connection.close())


@pytest.mark.parametrize("name", sorted(TEXTS.keys() - NO_TEXTS))
def test_rows_are_asyncpgs_and_psycopgs(
    database: str, peer: Peer, link: Connection, name: str
) -> None:
    needs(link, name)
    with psycopg.connect(database) as psycopg_link:
        for text in TEXTS[name][1]:
            query = f"SELECT {quote_literal(text)}::{name}"
            value = link.fetchval(query)
            assert type(value) is str
            assert value == link.fetchval(f"{query}::text")
            assert value == peer(query)
            [of_psycopg] = psycopg_link.execute(query.encode()).fetchone() or [None]
            assert value == of_psycopg
            array = f"SELECT ARRAY[{quote_literal(text)}, NULL]::{name}[]"
            assert link.fetchval(array) == [value, None]
            if text.isascii() and text:  # else asyncpg may crash
                assert peer(array) == [value, None]


@pytest.mark.parametrize("name", sorted(TEXTS.keys() - NO_TEXTS))
@pytest.mark.parametrize("extension_types", [False, True])
def test_texts_are_parameters(database: str, peer: Peer, name: str, extension_types: bool) -> None:
    with colonnade.sync.connect(database, extension_types=extension_types) as link:
        needs(link, name)
        for text in TEXTS[name][1]:
            for query, given in (
                (f"SELECT concat($1::{name})", text),
                (f"SELECT concat($1::{name}[])", [text, None, text]),
                (f"SELECT concat($1::{name}[])", []),
            ):
                assert link.fetchval(query, given) == peer(query, given)


def test_the_server_reads_every_text(link: Connection, own: Connection) -> None:
    for connection in (link, own):
        needs(connection, "vector")
        assert connection.fetchval("SELECT concat($1::hstore)", " b=>NULL , a => 1") == (
            '"a"=>"1", "b"=>NULL'
        )
        assert connection.fetchval("SELECT concat($1::vector)", " [ 1, 2e0 ] ") == "[1,2]"
        assert connection.fetchval("SELECT concat($1::hstore[])", ["a=>1", {"b": None}]) == (
            r'{"\"a\"=>\"1\"","\"b\"=>NULL"}'
        )
        for name in OWN:
            with pytest.raises((InvalidTextRepresentationError, colonnade.PostgresSyntaxError)):
                connection.fetchval(f"SELECT $1::{name}", "nonsense =>")


@pytest.mark.parametrize("name", OWN)
def test_own_values(link: Connection, own: Connection, name: str) -> None:
    needs(link, name)
    text, value = OWN[name]
    query = f"SELECT $1::text::{name} AS v"
    assert link.fetchval(query, text) == text
    assert own.fetchval(query, text) == value
    assert own.fetchval(f"SELECT ARRAY[$1::text::{name}]", text) == [value]
    # An anonymous record has the type of each value.
    assert link.fetchval(f"SELECT ROW($1::text::{name}, 1)", text) == (text, 1)
    assert own.fetchval(f"SELECT ROW($1::text::{name}, 1)", text) == (value, 1)
    for connection in (link, own):
        [of_column] = connection.fetch_columns(query, text).to_pydict()["v"]
        assert of_column == value
        # Parameters accept both forms, by default, too.
        for given in (text, value):
            assert connection.fetchval(f"SELECT concat($1::{name})", given) == text
            assert connection.fetchval(f"SELECT concat(($1::{name}[])[1])", [given]) == text


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("extension_types", [False, True])
def test_in_composites_and_domains(database: str, name: str, extension_types: bool) -> None:
    made = f"extension_pair_{next(NUMBERS)}"
    text, value = OWN[name]
    with colonnade.sync.connect(database, extension_types=extension_types) as link:
        needs(link, name)
        link.execute(f"CREATE DOMAIN {made}_domain AS {name}")
        link.execute(f"CREATE TYPE {made} AS (a {name}, d {made}_domain, b {name}[], n int4)")
        wanted = value if extension_types else text
        row = link.fetchval(
            f"SELECT ROW($1::text::{name}, $1::text::{name}, ARRAY[$1::text::{name}], 7)::{made}",
            text,
        )
        assert row == (wanted, wanted, [wanted], 7)
        texts = link.fetchval(f"SELECT ARRAY[($1::{made}).a::text, ($1::{made}).d::text]", row)
        assert texts == [text, text]
        assert link.fetchval(f"SELECT ($1::{made}).b[1]::text", row) == text
        with pytest.raises(EncodeError, match='field "a"'):
            link.fetchval(f"SELECT $1::{made}", ("nonsense =>", None, None, None))


@pytest.mark.parametrize("name", OWN)
def test_rows_and_columns_are_copied_back(link: Connection, name: str) -> None:
    needs(link, name)
    text, value = OWN[name]
    table = f"extension_copy_{next(NUMBERS)}"
    link.execute(f"CREATE TEMP TABLE {table} (v {name}, many {name}[])")
    link.execute(f"INSERT INTO {table} VALUES ($1, ARRAY[$1::{name}])", text)
    rows: Any = link.fetch(f"TABLE {table}")
    link.copy_records_to_table(table, records=rows)
    link.copy_columns_to_table(table, link.fetch_columns(f"TABLE {table} LIMIT 1"))
    link.copy_columns_to_table(table, {"v": [text, value, None]}, columns=["v"])
    link.copy_columns_to_table(table, pa.table({"v": [text]}), columns=["v"])
    rows = link.fetch(f"SELECT v::text, many[1]::text FROM {table}")
    assert [tuple(row) for row in rows] == [
        *[(text, text)] * 3,
        (text, None),
        (text, None),
        (None, None),
        (text, None),
    ]


def test_vectors_of_numpy(link: Connection) -> None:
    needs(link, "vector")
    given = np.array([1, 2.5], np.float32)
    assert link.fetchval("SELECT $1::vector", given) == "[1,2.5]"


def test_codecs_win(link: Connection, own: Connection) -> None:
    for connection in (link, own):
        connection.set_type_codec("hstore", encoder="a=>{}".format, decoder=len)
        assert connection.fetchval("SELECT $1::hstore", 5) == len('"a"=>"5"')
        assert connection.fetchval("SELECT concat($1::hstore)", 5) == '"a"=>"5"'
        connection.reset_type_codec("hstore")
    assert link.fetchval("SELECT 'a=>1'::hstore") == '"a"=>"1"'
    assert own.fetchval("SELECT 'a=>1'::hstore") == {"a": "1"}


def test_a_type_of_its_own_by_its_codec(link: Connection) -> None:
    link.set_builtin_type_codec("hstore", codec_name="pg_contrib.hstore")
    assert link.fetchval("SELECT $1::hstore", {"a": "1", "b": None}) == {"a": "1", "b": None}
    needs(link, "vector")
    assert link.fetchval("SELECT '[1,2]'::vector") == "[1,2]"
    link.set_builtin_type_codec("vector", codec_name="vector")
    assert link.fetchval("SELECT '[1,2]'::vector") == [1, 2]


async def test_a_pool_passes_it_on(database: str) -> None:
    async with colonnade.create_pool(database, extension_types=True, min_size=1) as pool:
        assert await pool.fetchval("SELECT 'a=>1'::hstore") == {"a": "1"}


def test_pep_249(database: str) -> None:
    query = "SELECT 'a=>1'::hstore"
    with colonnade.dbapi.connect(database) as connection:
        assert connection.execute(query).fetchone() == ('"a"=>"1"',)
    with colonnade.dbapi.connect(database, extension_types=True) as connection:
        assert connection.execute(query).fetchone() == ({"a": "1"},)


def test_extension_types_must_be_a_bool(database: str) -> None:
    word: Any = "yes"
    with pytest.raises(InterfaceError, match="extension_types must be True or False, not str"):
        colonnade.sync.connect(database, extension_types=word)


@pytest.mark.parametrize("name", EXTENSIONS)
def test_what_a_column_holds_is_what_the_server_has(own: Connection, name: str) -> None:
    needs(own, name)
    sample = EXTENSIONS[name][1]
    query = f"SELECT e::{sample.sql_type} AS v FROM jsonb_array_elements_text($1) x(e)"
    argument = oracle.json_texts(sample.values)
    rows = [row["v"] for row in own.fetch(query, argument)]
    assert own.fetch_columns(query, argument).to_pydict()["v"] == rows
