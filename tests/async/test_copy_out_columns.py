"""COPY out in columns gives what a fetch gives, for tables and for queries with arguments."""

from __future__ import annotations

import io
from datetime import date
from typing import Any

import pytest

import colonnade
from colonnade.errors import DivisionByZeroError, UndefinedTableError

QUERY = """
    SELECT n, n::text AS text, nullif(n % 3, 0)::float8 AS float,
           (n / 7.0)::numeric(12, 4) AS exact, ARRAY[n, NULL, n + 1] AS list,
           '2024-02-29'::date + n AS day
    FROM generate_series(1, 5000) AS n
"""


async def test_a_query_is_what_it_is_when_fetched(connection: colonnade.Connection) -> None:
    copied = await connection.copy_columns_from_query(QUERY)
    fetched = await connection.fetch_columns(QUERY)
    assert copied.to_arrow().equals(fetched.to_arrow())
    assert [field.type_name for field in copied.fields] == [f.type_name for f in fetched.fields]


async def test_arguments_become_literals(connection: colonnade.Connection) -> None:
    copied = await connection.copy_columns_from_query(
        "SELECT $1::text AS a, '$1' AS b, $2::date AS c, $tag$ $1 $tag$ AS d, "
        "/* $3 */ $1 || $3 AS e -- $4",
        "it's \\ $2",
        date(2024, 2, 29),
        "é",
    )
    assert copied.to_pydict() == {
        "a": ["it's \\ $2"],
        "b": ["$1"],
        "c": [date(2024, 2, 29)],
        "d": [" $1 "],
        "e": ["it's \\ $2é"],
    }
    with pytest.raises(colonnade.InterfaceError, match="expects 1 argument"):
        await connection.copy_columns_from_query("SELECT $1::int4")
    assert await connection.fetchval("SELECT 1") == 1


async def test_a_table_and_some_of_its_columns(connection: colonnade.Connection) -> None:
    await connection.execute(
        'CREATE TEMP TABLE "odd name" (a int4, "B ""c" text, gone int4, g int4 GENERATED ALWAYS AS '
        '(a * 2) STORED); ALTER TABLE "odd name" DROP COLUMN gone; '
        "INSERT INTO \"odd name\" VALUES (1, 'x'), (NULL, NULL)"
    )
    whole = await connection.copy_columns_from_table("odd name")
    assert whole.to_pydict() == {"a": [1, None], 'B "c': ["x", None]}
    part = await connection.copy_columns_from_table(
        "odd name", columns=['B "c', "a"], schema={"a": "int64"}
    )
    assert [field.arrow_type for field in part.fields] == ["utf8", "int64"]
    assert part.to_pydict() == {'B "c': ["x", None], "a": [1, None]}
    empty = await connection.copy_columns_from_query('SELECT a FROM "odd name" WHERE false')
    assert (len(empty), list(empty.keys())) == (0, ["a"])
    with pytest.raises(UndefinedTableError):
        await connection.copy_columns_from_table("nowhere")


async def test_no_columns_and_narrow_ones(connection: colonnade.Connection) -> None:
    # A row without columns is as long as the end of the data.
    none = await connection.copy_columns_from_query("SELECT FROM generate_series(1, 300)")
    assert (len(none), list(none.keys())) == (300, [])
    await connection.execute("CREATE TEMP TABLE bare (); INSERT INTO bare DEFAULT VALUES")
    assert len(await connection.copy_columns_from_table("bare")) == 1
    nulls = await connection.copy_columns_from_query(
        "SELECT NULL::bool AS b FROM generate_series(1, 9)"
    )
    assert nulls.to_pydict() == {"b": [None] * 9}


async def test_errors_leave_the_connection_usable(connection: colonnade.Connection) -> None:
    with pytest.raises(colonnade.DecodeError) as refused:
        await connection.copy_columns_from_query(
            "SELECT CASE n WHEN 700 THEN 'infinity'::date END AS d FROM generate_series(0, 999) n"
        )
    assert (refused.value.column, refused.value.row) == ("d", 700)
    with pytest.raises(DivisionByZeroError):
        await connection.copy_columns_from_query(
            "SELECT 1 / (n - 500) FROM generate_series(1, 999) n"
        )
    with pytest.raises(colonnade.SchemaError, match="cast it to text in the query"):
        await connection.copy_columns_from_query("SELECT 1::money AS m")
    with pytest.raises(colonnade.SchemaError, match="names column"):
        await connection.copy_columns_from_query("SELECT 1 AS a", schema={"b": "int64"})
    with pytest.raises(TimeoutError):
        await connection.copy_columns_from_query("SELECT pg_sleep(10)::text", timeout=0.05)
    assert await connection.fetchval("SELECT 1") == 1


@pytest.mark.parametrize("form", ["text", "binary"])
async def test_a_codec_of_text_writes_no_sql(connection: colonnade.Connection, form: Any) -> None:
    def made(value: Any) -> str:
        raise AssertionError(value)

    def encoded(value: str) -> Any:
        return value if form == "text" else value.encode()

    await connection.set_type_codec(
        "text", schema="pg_catalog", encoder=encoded, decoder=made, format=form
    )
    out = io.BytesIO()
    query = "SELECT length($1::text), $2::int"
    await connection.copy_from_query(query, "x'||version()||'", 5, output=out)
    assert out.getvalue() == b"16\t5\n"
