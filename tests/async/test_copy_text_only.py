# async-only: file
"""COPY into columns of types that the server accepts only as text, and of every other type.

The core converts values, alike in both colours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import colonnade
from colonnade import _core
from colonnade.errors import (
    CheckViolationError,
    EncodeError,
    FeatureNotSupportedError,
    InsufficientPrivilegeError,
    InvalidTextRepresentationError,
    UndefinedFunctionError,
    UndefinedTableError,
)
from tests.columns.every_type import EVERY, MADE_TYPES, WITHOUT_LITERALS, missing, query

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

# Types of the core's table whose values cannot be stored in a table or have no text input.
NOT_IN_TABLES = {
    *("anyarray", "cstring", "gtsvector", "pg_brin_bloom_summary", "pg_brin_minmax_multi_summary"),
    *("pg_dependencies", "pg_mcv_list", "pg_ndistinct", "pg_node_tree", "unknown", "void"),
}
# Queries for two values of each type that `every_type` leaves out.
OTHERS = {
    "aclitem": "SELECT v::aclitem FROM (VALUES ('=r/postgres'), (NULL)) q(v)",
    "aclitem[]": "SELECT ARRAY['=r/postgres', NULL]::aclitem[] AS v",
    "xml": "SELECT v::xml FROM (VALUES ('<a>1</a>'), (NULL), ('<b/>')) q(v)",
    "money[]": "SELECT v::money[] FROM (VALUES ('{1.50,NULL}'), ('{}'), (NULL)) q(v)",
    "money[][]": "SELECT v::money[] FROM (VALUES ('{{1.50,NULL},{2,3}}')) q(v)",
    "tsvector[]": """SELECT ARRAY['''a b'':1A,2 ''c\\\\d'' ''e"f''', NULL]::tsvector[] AS v""",
    "tsquery[]": "SELECT ARRAY['a & ''b c''', NULL]::tsquery[] AS v",
    "regclass[]": "SELECT ARRAY['pg_class', '\"a \"\"table\"']::regclass[] AS v",
    "text_only_price": "SELECT v::text_only_price FROM (VALUES ('1.50'), (NULL)) q(v)",
    "text_only_price[]": "SELECT '{1.50,NULL}'::text_only_price[] AS v",
    "text_only_pair": "SELECT ROW('1.50', 'x,\"y\"')::text_only_pair AS v",
    "text_only_pair[]": "SELECT ARRAY[ROW('1.50', 'x,\"y\"')::text_only_pair, NULL] AS v",
    "text_only_span": "SELECT v::text_only_span FROM (VALUES ('[1,2)'), ('empty'), (NULL)) q(v)",
}
OTHER_TYPES = """
create domain text_only_price as money check (value > 0::money);
create type text_only_pair as (price money, name text);
create type text_only_span as range (subtype = money);
create table "a ""table" ();
"""


@pytest.fixture
async def typed(connection: colonnade.Connection) -> AsyncIterator[colonnade.Connection]:
    await connection.execute(
        "CREATE SCHEMA copy_text_only; SET search_path TO copy_text_only, public"
    )
    await connection.execute(MADE_TYPES + OTHER_TYPES)
    yield connection
    await connection.execute("RESET search_path; DROP SCHEMA copy_text_only CASCADE")


def test_every_type_has_a_sample() -> None:
    assert missing() == set()
    sampled = OTHERS.keys() | NOT_IN_TABLES
    assert sampled >= WITHOUT_LITERALS
    assert {line.name for line in _core.TYPES} >= NOT_IN_TABLES


async def equal_rows(connection: colonnade.Connection, copied: str) -> object:
    """The number of rows equal to those of `t1`; as text if a type has no `=`."""
    joined = f"SELECT count(*) FROM t1 a JOIN {copied} b USING (n) WHERE"
    try:
        return await connection.fetchval(f"{joined} a.v IS NOT DISTINCT FROM b.v")
    except UndefinedFunctionError:
        return await connection.fetchval(f"{joined} a.v::text IS NOT DISTINCT FROM b.v::text")


@pytest.mark.parametrize("sql_type", [*EVERY, *OTHERS])
async def test_a_table_is_copied_whole(typed: colonnade.Connection, sql_type: str) -> None:
    sql = OTHERS.get(sql_type) or query(sql_type)
    try:
        await typed.execute(f"CREATE TABLE t1 (n serial, v {sql_type})")
        await typed.execute(f"INSERT INTO t1 (v) {sql}")
    except FeatureNotSupportedError:
        pytest.skip("this server was built without the type")
    await typed.execute("CREATE TABLE t2 (LIKE t1)")
    count = await typed.fetchval("SELECT count(*) FROM t1")
    columns = await typed.fetch_columns("SELECT * FROM t1")
    assert await typed.copy_columns_to_table("t2", columns) == f"COPY {count}"
    made = await typed.copy_columns_to_table("t3", columns, create=True)
    assert made == f"COPY {count}"
    for copied in ("t2", "t3"):
        assert await equal_rows(typed, copied) == count, copied
        kinds = "SELECT count(DISTINCT pg_typeof(v)) FROM (SELECT v FROM t1 UNION ALL SELECT v FROM"
        assert await typed.fetchval(f"{kinds} {copied}) q") == 1
    assert not typed.is_in_transaction()


@pytest.fixture
async def prices(connection: colonnade.Connection) -> str:
    await connection.execute(
        "CREATE TEMPORARY TABLE prices (id int8 PRIMARY KEY, price money, words tsvector,"
        " about regclass, ids oidvector, twice money GENERATED ALWAYS AS (price * 2) STORED,"
        " nr int GENERATED ALWAYS AS IDENTITY, day date DEFAULT '2024-02-29')"
    )
    return "prices"


async def found(connection: colonnade.Connection) -> list[tuple[Any, ...]]:
    rows = await connection.fetch(
        "SELECT id, price, words, about, ids::text, twice, day::text FROM prices ORDER BY id"
    )
    return [tuple(row) for row in rows]


SOURCES: dict[str, Any] = {
    "lists": lambda: {"id": [1, 2], "price": ["1.50", None], "ids": [[1, 2], []]},
    "arrow": lambda: pa.table({"id": [1, 2], "price": ["1.50", None], "ids": [[1, 2], []]}),
    "polars": lambda: pl.DataFrame({"id": [1, 2], "price": ["1.50", None], "ids": [[1, 2], []]}),
    "pandas": lambda: pd.DataFrame({"id": [1, 2], "price": ["1.50", None], "ids": [[1, 2], []]}),
    "numpy": lambda: {
        "id": np.arange(1, 3),
        "price": np.array(["1.50", None], object),
        "ids": [np.array([1, 2]), np.array([], "i4")],
    },
    "dictionary": lambda: pa.table(
        {
            "id": [1, 2],
            "price": pa.array(["1.50", None]).dictionary_encode(),
            "ids": pa.array([[1, 2], []], pa.large_list(pa.uint32())),
        }
    ),
}


@pytest.mark.parametrize("library", SOURCES)
async def test_of_every_library(
    connection: colonnade.Connection, prices: str, library: str
) -> None:
    assert await connection.copy_columns_to_table(prices, SOURCES[library]()) == "COPY 2"
    assert await found(connection) == [
        (1, "$1.50", None, None, "1 2", "$3.00", "2024-02-29"),
        (2, None, None, None, "", None, "2024-02-29"),
    ]


async def test_a_conflict(connection: colonnade.Connection, prices: str) -> None:
    first = {"id": [1], "price": ["1.50"], "words": ["a 'b c':2A"], "about": ["pg_class"]}
    assert await connection.copy_columns_to_table(prices, first) == "COPY 1"
    status = await connection.copy_columns_to_table(
        prices, {"id": [1, 2], "price": ["2", "3"]}, on_conflict="update", conflict_columns="id"
    )
    assert status == "INSERT 0 2"
    assert [row[:4] for row in await found(connection)] == [
        (1, "$2.00", "'a' 'b c':2A", "pg_class"),
        (2, "$3.00", None, None),
    ]


async def test_in_a_transaction_of_the_caller(
    connection: colonnade.Connection, prices: str
) -> None:
    async with connection.transaction():
        for number in (1, 2):
            source = {"id": [number], "price": ["1"]}
            assert await connection.copy_columns_to_table(prices, source) == "COPY 1"
        assert (
            await connection.copy_records_to_table(
                prices, records=[(3, "2")], columns=["id", "price"]
            )
            == "COPY 1"
        )
        assert connection.is_in_transaction()
    assert [row[:2] for row in await found(connection)] == [
        (1, "$1.00"),
        (2, "$1.00"),
        (3, "$2.00"),
    ]


async def copy_by(road: str, connection: colonnade.Connection, prices: str) -> None:
    if road == "columns":
        await connection.copy_columns_to_table(prices, {"id": [1, 2], "price": ["1", "cheap"]})
    else:
        records = [(1, "1"), (2, "cheap")]
        await connection.copy_records_to_table(prices, records=records, columns=["id", "price"])


@pytest.mark.parametrize("road", ["columns", "records"])
async def test_a_text_that_is_no_value(
    connection: colonnade.Connection, prices: str, road: str
) -> None:
    with pytest.raises(InvalidTextRepresentationError, match='"cheap"') as caught:
        await copy_by(road, connection, prices)
    assert '"price" to "pg_catalog"."money"' in caught.value.__notes__[-1]
    assert not connection.is_in_transaction()
    assert await found(connection) == []
    with pytest.raises(UndefinedTableError):
        await connection.copy_columns_to_table(prices, {"id": [1], "about": ["nobody"]})
    assert await found(connection) == []


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        (
            "price",
            np.array([1]),
            r'"price": .* Int64 is not written to money: it comes from strings',
        ),
        ("price", [1.5], r'"price", row 0, from float to money'),
        ("ids", pa.array([["1"]]), r'"ids".*comes from lists of integers'),
        ("ids", pa.array([[1, None]]), r'"ids", row 0, .*element 1'),
    ],
)
async def test_what_is_refused(
    connection: colonnade.Connection, prices: str, column: str, values: Any, message: str
) -> None:
    with pytest.raises(EncodeError, match=message):
        await connection.copy_columns_to_table(prices, {"id": [1], column: values})
    assert not connection.is_in_transaction()
    assert await found(connection) == []


WORDED = """
    CREATE TYPE worded AS (a tsvector, b int[], at timestamptz, long interval, "c ""d" money);
    CREATE TYPE parsed AS (a tsvector, b int[], at timestamptz, long interval);
    CREATE TYPE parsed_range AS RANGE (subtype = parsed);
    CREATE TABLE t1 (v worded, p parsed[], r parsed_range, m parsed_multirange);
"""
PARSED = """('"a b":2 c\\\\d', '{{1,NULL},{3,4}}', '0044-03-15 12:00 BC', '-1 mon 3 days -04:05')"""


async def worded_rows(typed: colonnade.Connection) -> list[str]:
    """The table's rows as text in one style of dates and intervals."""
    async with typed.transaction():
        await typed.execute("SET LOCAL datestyle = ISO; SET LOCAL intervalstyle = postgres")
        await typed.execute("SET LOCAL timezone = UTC")
        return [
            row["t"] for row in await typed.fetch("SELECT concat_ws('|', v, p, r, m) t FROM t1")
        ]


async def test_parts_that_are_text_only(typed: colonnade.Connection) -> None:
    """All parts are joined to one text, whatever date and interval style the session has."""
    await typed.execute(WORDED)
    await typed.execute(
        f"INSERT INTO t1 (p, r, m) SELECT ARRAY[p, NULL, p], parsed_range(p, NULL),"
        f" parsed_multirange(parsed_range(p, p, '[]')) FROM (SELECT ROW{PARSED}::parsed p) q"
    )
    expected = await worded_rows(typed)
    columns = await typed.fetch_columns("SELECT p, r, m FROM t1")
    await typed.execute(
        "DELETE FROM t1; SET datestyle = 'SQL, DMY'; SET intervalstyle = sql_standard;"
        " SET timezone = 'America/St_Johns'"
    )
    for source in (columns, columns.to_arrow()):
        assert await typed.copy_columns_to_table("t1", source) == "COPY 1"
        assert await worded_rows(typed) == expected
        await typed.execute("DELETE FROM t1")
    await typed.execute("RESET datestyle; RESET intervalstyle; RESET timezone")


async def test_parts_and_the_text_of_the_whole(typed: colonnade.Connection) -> None:
    await typed.execute(WORDED)
    await typed.execute("INSERT INTO t1 (p) VALUES (ARRAY[ROW('x:1', '{2}', NULL, NULL)::parsed])")
    expected = await worded_rows(typed)
    for kind in ("text[]", "text"):
        texts = await typed.fetch_columns(f"SELECT p::{kind} FROM t1")
        await typed.execute("DELETE FROM t1")
        assert await typed.copy_columns_to_table("t1", texts) == "COPY 1"
        assert await worded_rows(typed) == expected
    for parts in ({"a": "x:1", "b": [2]}, ("x:1", [2], None, None)):
        await typed.execute("DELETE FROM t1")
        assert (
            await typed.copy_records_to_table("t1", records=[([parts],)], columns=["p"]) == "COPY 1"
        )
        assert await worded_rows(typed) == expected
        as_parameter = await typed.fetchval("SELECT $1::parsed::text", parts)
        assert f'{{"{as_parameter}"}}'.replace("'", "") == expected[0].replace("'", "")


async def test_parts_of_another_form(typed: colonnade.Connection) -> None:
    """Values that a query gives as one text can also be sent in parts; each part is checked."""
    await typed.execute(WORDED)
    whole = pa.array([{"a": "x:1", "b": [2], 'c "d': "1.50"}])
    assert await typed.copy_columns_to_table("t1", pa.table({"v": whole})) == "COPY 1"
    assert await worded_rows(typed) == ["('x':1,{2},,,$1.50)"]
    for wrong, message in (
        (pa.array([{"a": "x:1", "b": [2**40]}]), r'"v", row 0, .*1099511627776 is out of range'),
        (pa.array([{"b": ["x"]}]), r'of its field "b" .*; or send the text of the whole'),
        (pa.array([{"e": 1}]), r'the type has no field "e"; or send the text of the whole'),
    ):
        with pytest.raises(EncodeError, match=message):
            await typed.copy_columns_to_table("t1", pa.table({"v": wrong}))
    with pytest.raises(InvalidTextRepresentationError):
        await typed.copy_columns_to_table("t1", pa.table({"v": pa.array([{'c "d': "x"}])}))
    assert not typed.is_in_transaction()


async def test_a_part_that_nobody_knows(typed: colonnade.Connection) -> None:
    available = "SELECT count(*) FROM pg_available_extensions WHERE name = 'cube'"
    if not await typed.fetchval(available):
        pytest.skip("the server does not have the extension")
    await typed.execute("CREATE EXTENSION IF NOT EXISTS cube SCHEMA copy_text_only")
    await typed.execute("CREATE TYPE boxed AS (a tsvector, b cube); CREATE TABLE t1 (v boxed)")
    await typed.execute("INSERT INTO t1 VALUES (ROW('x:1', '(1,2)'))")
    with pytest.raises(EncodeError, match=r"a part whose type is not known.*::text"):
        await typed.copy_columns_to_table("t1", await typed.fetch_columns("TABLE t1"))
    texts = await typed.fetch_columns("SELECT v::text FROM t1")
    assert await typed.copy_columns_to_table("t1", texts) == "COPY 1"
    assert await typed.fetchval("SELECT count(DISTINCT v::text) FROM t1") == 1


async def test_a_check_of_a_domain(typed: colonnade.Connection) -> None:
    await typed.execute("CREATE TABLE t1 (v text_only_price)")
    with pytest.raises(CheckViolationError):
        await typed.copy_columns_to_table("t1", {"v": ["-1"]})
    assert await typed.fetchval("SELECT count(*) FROM t1") == 0


async def test_records(connection: colonnade.Connection, prices: str) -> None:
    records = [(1, "1.50", "'a':1A", "pg_class", [1, 2]), (2, None, None, None, [])]
    columns = ["id", "price", "words", "about", "ids"]
    status = await connection.copy_records_to_table(prices, records=records, columns=columns)
    assert status == "COPY 2"
    assert await found(connection) == [
        (1, "$1.50", "'a':1A", "pg_class", "1 2", "$3.00", "2024-02-29"),
        (2, None, None, None, "", None, "2024-02-29"),
    ]
    status = await connection.copy_records_to_table(
        prices,
        records=[{"id": 3, "price": "5"}, {"id": 4, "price": "6"}],
        columns=["id", "price"],
        where="prices.price > 5::money",
    )
    assert status == "COPY 1"
    assert [row[0] for row in await found(connection)] == [1, 2, 4]
    with pytest.raises(EncodeError, match=r'column "price", row 0, from int to money'):
        await connection.copy_records_to_table(prices, records=[(9, 1)], columns=["id", "price"])
    assert not connection.is_in_transaction()


async def test_every_type_as_records(typed: colonnade.Connection) -> None:
    names = ["money", "tsvector", "tsquery", "regclass", "regtype", "int2vector", "money[]"]
    listed = ", ".join(f"c{number} {name}" for number, name in enumerate(names))
    await typed.execute(f"CREATE TABLE wide ({listed})")
    record = ("$1.50", "'a':1", "'a' & 'b'", "pg_class", "integer", [1, 2], ["$1.00", None])
    empty = (None,) * len(names)
    assert await typed.copy_records_to_table("wide", records=[record, empty]) == "COPY 2"
    assert [tuple(row) for row in await typed.fetch("TABLE wide")] == [record, empty]


ARRAYS: dict[str, Any] = {
    "list": ["1.50", None],
    "numpy": np.array(["1.50", None], object),
    "arrow": pa.array(["1.50", None]),
    "arrow chunks": pa.chunked_array([["1.50"], [None]], pa.string()),
    "polars": pl.Series(["1.50", None]),
    "pandas": pd.Series(["1.50", None]),
}


@pytest.mark.parametrize("library", ARRAYS)
async def test_array_parameters(connection: colonnade.Connection, library: str) -> None:
    given = await connection.fetchval("SELECT ($1::money[])::text", ARRAYS[library])
    assert given == "{$1.50,NULL}"
    words = await connection.fetchval("SELECT ($1::tsvector[])::text", ARRAYS[library])
    assert words == "{'1.50',NULL}"


async def test_without_the_right_to_temporary_tables(connection: colonnade.Connection) -> None:
    await connection.execute("CREATE TABLE public.copied_prices (price money, id int)")
    await connection.execute("CREATE ROLE copy_no_temp; GRANT ALL ON copied_prices TO copy_no_temp")
    await connection.execute(
        "DO $$BEGIN EXECUTE format('REVOKE TEMP ON DATABASE %I FROM PUBLIC', current_database());"
        " END$$"
    )
    try:
        await connection.execute("SET ROLE copy_no_temp")
        with pytest.raises(InsufficientPrivilegeError, match="temporary tables"):
            await connection.copy_columns_to_table("copied_prices", {"price": ["1"]})
        assert await connection.copy_columns_to_table("copied_prices", {"id": [1]}) == "COPY 1"
        assert not connection.is_in_transaction()
    finally:
        await connection.execute("RESET ROLE")
        await connection.execute(
            "DO $$BEGIN EXECUTE format('GRANT TEMP ON DATABASE %I TO PUBLIC',"
            " current_database()); END$$"
        )
        await connection.execute("DROP TABLE copied_prices; DROP ROLE copy_no_temp")


async def test_an_insert_alone_is_permitted(connection: colonnade.Connection) -> None:
    """INSERT on the table is the only privilege needed, as for COPY."""
    await connection.execute("CREATE TABLE public.copied_prices (price money)")
    await connection.execute(
        "CREATE ROLE copy_no_read; GRANT INSERT ON copied_prices TO copy_no_read"
    )
    try:
        await connection.execute("SET ROLE copy_no_read")
        assert await connection.copy_columns_to_table("copied_prices", {"price": ["1"]}) == "COPY 1"
    finally:
        await connection.execute("RESET ROLE")
        await connection.execute("DROP TABLE copied_prices; DROP ROLE copy_no_read")


async def test_many_rows_at_once(connection: colonnade.Connection, prices: str) -> None:
    rows = 20_000
    source = {"id": np.arange(rows), "price": np.array([f"{n}.25" for n in range(rows)])}
    assert await connection.copy_columns_to_table(prices, source) == f"COPY {rows}"
    wrong = "SELECT count(*) FROM prices WHERE price IS DISTINCT FROM (id + 0.25)::numeric::money"
    assert await connection.fetchval(wrong) == 0
