"""Results of unusual shapes: no columns, very many, no rows, equal names, unknown types."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from colonnade.errors import DecodeError, PostgresError
from tests.types import oracle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from colonnade.sync import Connection


def test_the_most_columns_that_a_result_has(link: Connection) -> None:
    outputs = ", ".join(f"g + {index} AS c{index}" for index in range(1664))
    sql = f"SELECT {outputs} FROM generate_series(0, 99) g"
    table = oracle.arrow_table(link.fetch_columns(sql))
    assert table.shape == (100, 1664)
    assert table["c1663"].to_pylist() == list(range(1663, 1763))
    (first, *_, last) = link.fetch(sql)
    assert tuple(first.values()) == tuple(range(1664))
    assert last["c1663"] == 1762


def test_columns_of_many_types_and_nulls(link: Connection) -> None:
    """1600 columns, the limit of a table, with a NULL at a different place in each."""
    kinds = [
        "g::int2",
        "g::float8",
        "g::text",
        "g::numeric(9,2)",
        "g = 7",
        "'2000-01-01'::date + g",
    ]
    outputs = ", ".join(
        f"CASE WHEN g % 70 <> {index % 70} THEN {kinds[index % 6]} END AS c{index}"
        for index in range(1600)
    )
    table = oracle.arrow_table(
        link.fetch_columns(f"SELECT {outputs} FROM generate_series(0, 69) g")
    )
    assert [column.null_count for column in table.columns] == [1] * 1600
    for index in range(1600):
        assert table[index][index % 70].as_py() is None
        assert table[index][(index + 1) % 70].as_py() is not None


@pytest.mark.parametrize("rows", [0, 1, 100_000])
def test_no_columns(link: Connection, rows: int) -> None:
    sql = f"SELECT FROM generate_series(1, {rows})"
    columns = link.fetch_columns(sql)
    assert columns.shape == (rows, 0)
    assert columns.to_pydict() == {}
    assert oracle.arrow_table(columns).num_columns == 0
    # An Arrow table takes its number of rows from its columns; a struct array has its own length.
    assert len(link.fetch(sql)) == rows
    with link.iter_columns(sql, batch_rows=30_000) as stream:
        assert sum(len(batch) for batch in stream) == rows


def test_no_rows_have_types_all_the_same(link: Connection) -> None:
    sql = (
        "SELECT 1::int2 a, 'x' b, now() c, 1.5::numeric(7,3) d, NULL::uuid e, 1::numeric f LIMIT 0"
    )
    columns = link.fetch_columns(sql)
    types = ["int16", "utf8", "timestamp[us, UTC]", "decimal128(7, 3)", "fixed_size_binary[16]"]
    assert [field.arrow_type for field in columns.fields] == [*types, "decimal128(38, 0)"]
    table = oracle.arrow_table(columns)
    assert (table.num_rows, table.num_columns) == (0, 6)
    assert link.fetch(sql) == []
    with link.iter_columns(sql) as stream:
        assert [batch.shape for batch in stream] == [(0, 6)]


def test_columns_of_one_name(link: Connection) -> None:
    columns = link.fetch_columns("SELECT 1 AS a, 'x' AS a, 2.5::float8 AS \" \", 3")
    assert columns.names == ("a", "a", " ", "?column?")
    table = oracle.arrow_table(columns)
    assert table.column_names == ["a", "a", " ", "?column?"]
    assert [column.to_pylist() for column in table.columns] == [[1], ["x"], [2.5], [3]]
    (row,) = link.fetch("SELECT 1 AS a, 'x' AS a")
    assert tuple(row.values()) == (1, "x")


def test_names_of_any_text(link: Connection) -> None:
    names = ("\u00e9", "\U0001f600", 'quoted "name"', "a\nb", "x" * 63)
    outputs = ", ".join(
        f'{index} AS "{name.replace(chr(34), chr(34) * 2)}"' for index, name in enumerate(names)
    )
    columns = link.fetch_columns(f"SELECT {outputs}")
    assert columns.names == names
    assert oracle.arrow_table(columns).column_names == list(names)


@pytest.mark.parametrize("rows", [65_535, 65_536, 65_537, 200_001])
def test_across_the_bounds_of_batches_and_reads(link: Connection, rows: int) -> None:
    sql = (
        "SELECT g AS i, CASE WHEN g % 3 > 0 THEN g::text END AS s, g / 4.0::float8 AS f "
        f"FROM generate_series(1, {rows}) g"
    )
    table = oracle.arrow_table(link.fetch_columns(sql))
    assert table["i"].to_pylist() == list(range(1, rows + 1))
    assert table["f"].to_numpy().sum() == rows * (rows + 1) / 8
    assert table["s"].null_count == rows // 3
    with link.iter_columns(sql) as stream:
        batches = [pa.table(batch) for batch in stream]
    assert [len(batch) for batch in batches[:-1]] == [65_536] * (len(batches) - 1)
    assert pa.concat_tables(batches).combine_chunks().equals(table.combine_chunks())


def test_values_larger_than_any_buffer(link: Connection) -> None:
    sql = (
        "SELECT repeat(chr(g), 3000000) AS t, NULL::text AS n, "
        "decode(repeat('00ff', 2000000), 'hex') AS b FROM generate_series(300, 302) g"
    )
    table = oracle.arrow_table(link.fetch_columns(sql))
    assert table["t"].to_pylist() == [chr(code) * 3_000_000 for code in (300, 301, 302)]
    assert table["b"].to_pylist() == [b"\x00\xff" * 2_000_000] * 3
    assert table["n"].null_count == 3
    assert [row["t"] for row in link.fetch(sql)] == table["t"].to_pylist()


@pytest.mark.usefixtures("made_types")
def test_extension_types_as_pyarrow_sees_them(link: Connection) -> None:
    sql = (
        "SELECT gen_random_uuid() AS u, '{}'::json AS j, '[]'::jsonb AS b, "
        "'a'::shapes_sealed AS s, '{a}'::shapes_sealed[] AS a"
    )
    schema = oracle.arrow_table(link.fetch_columns(sql)).schema
    opaque = pa.opaque(pa.binary(), "shapes_sealed", "PostgreSQL")
    assert schema.field("u").type == pa.uuid()
    assert schema.field("j").type == schema.field("b").type == pa.json_(pa.string())
    assert schema.field("s").type == opaque
    assert schema.field("a").type == pa.list_(opaque)
    # Columns requested as plain bytes lose their extension type.
    plain = link.fetch_columns(sql, schema={"s": "binary", "j": "binary"})
    assert oracle.arrow_table(plain).schema.field("s").type == pa.binary()
    assert oracle.arrow_table(plain).schema.field("j").type == pa.binary()


#: User-defined base types: one with its own functions for an unknown binary form, one without.
MADE_TYPES = """
    CREATE TYPE shapes_sealed;
    CREATE FUNCTION shapes_sealed_in(cstring) RETURNS shapes_sealed
        LANGUAGE internal IMMUTABLE STRICT AS 'textin';
    CREATE FUNCTION shapes_sealed_out(shapes_sealed) RETURNS cstring
        LANGUAGE internal IMMUTABLE STRICT AS 'textout';
    CREATE FUNCTION shapes_sealed_send(shapes_sealed) RETURNS bytea
        LANGUAGE internal IMMUTABLE STRICT AS 'textsend';
    CREATE FUNCTION shapes_sealed_recv(internal) RETURNS shapes_sealed
        LANGUAGE internal IMMUTABLE STRICT AS 'textrecv';
    CREATE TYPE shapes_sealed (
        INPUT = shapes_sealed_in, OUTPUT = shapes_sealed_out,
        SEND = shapes_sealed_send, RECEIVE = shapes_sealed_recv
    );
    CREATE DOMAIN shapes_sealed_more AS shapes_sealed;
    CREATE TYPE shapes_sealed_pair AS (a int4, b shapes_sealed);
    CREATE TYPE shapes_spoken;
    CREATE FUNCTION shapes_spoken_in(cstring) RETURNS shapes_spoken
        LANGUAGE internal IMMUTABLE STRICT AS 'textin';
    CREATE FUNCTION shapes_spoken_out(shapes_spoken) RETURNS cstring
        LANGUAGE internal IMMUTABLE STRICT AS 'textout';
    CREATE TYPE shapes_spoken (INPUT = shapes_spoken_in, OUTPUT = shapes_spoken_out);
    CREATE TYPE shapes_pair AS (a int4, b shapes_spoken);
"""


@pytest.fixture(scope="module")
def made_types(link: Connection) -> Iterator[None]:
    link.execute(MADE_TYPES)
    yield
    link.execute(
        "DROP TYPE shapes_sealed, shapes_spoken CASCADE; DROP TYPE shapes_pair, shapes_sealed_pair"
    )


@pytest.mark.usefixtures("made_types")
def test_a_type_that_nobody_knows_is_its_text_or_its_binary_form(link: Connection) -> None:
    """Text in rows, as in asyncpg, and bytes in columns; both can be parameters."""
    sql = "SELECT $1::text::shapes_sealed AS v, NULL::shapes_sealed AS n"
    row = link.fetchrow(sql, "\u00e9")
    assert row is not None
    assert tuple(row.values()) == ("\u00e9", None)
    columns = link.fetch_columns(sql, "\u00e9")
    assert [(field.arrow_type, field.type_name) for field in columns.fields] == [
        ("binary", "shapes_sealed")
    ] * 2
    assert columns.to_pydict() == {"v": ["\u00e9".encode()], "n": [None]}
    for argument in ("\u00e9", "\u00e9".encode(), None):
        echo = link.fetchrow(
            "SELECT $1::shapes_sealed AS v, $1::shapes_sealed::text AS t", argument
        )
        assert echo is not None
        assert tuple(echo.values()) == (argument and "\u00e9",) * 2
    many = link.fetchrow(
        "SELECT ARRAY['a', NULL]::shapes_sealed[] AS flat,"
        " '{{a,b},{NULL,\"c d\"}}'::shapes_sealed[] AS deep, 'e'::shapes_sealed_more AS domain,"
        " ROW(1, 'f')::shapes_sealed_pair AS pair,"
        " ROW(1, 'g'::shapes_sealed) AS record"
    )
    assert many is not None
    assert many["flat"] == ["a", None]
    assert many["deep"] == [["a", "b"], [None, "c d"]]
    assert many["domain"] == "e"
    # Within other types, the value has only its unknown binary form.
    assert many["pair"] == (1, b"f")
    assert many["record"] == (1, b"g")
    as_text = link.fetch_columns(sql, "\u00e9", schema={"v": "utf8", "n": "large_utf8"})
    assert oracle.arrow_table(as_text).to_pydict() == {"v": ["\u00e9"], "n": [None]}


@pytest.mark.usefixtures("made_types")
def test_a_type_without_a_binary_form_is_its_text(link: Connection) -> None:
    sql = (
        "SELECT 'a,b'::shapes_spoken AS v, ARRAY['a,b', NULL, '']::shapes_spoken[] AS many,"
        " ROW(1, 'a,b')::shapes_pair AS pair"
    )
    row = link.fetchrow(sql)
    assert row is not None
    assert tuple(row.values()) == ("a,b", ["a,b", None, ""], '(1,"a,b")')
    table = oracle.arrow_table(link.fetch_columns(sql))
    assert table.schema.types == [pa.string(), pa.list_(pa.string()), pa.string()]
    assert tuple(table.to_pylist()[0].values()) == tuple(row.values())
    back = link.fetchrow("SELECT $1::shapes_spoken, $2::shapes_spoken[], $3::shapes_pair", *row)
    assert back is not None
    assert tuple(back.values()) == tuple(row.values())


def test_types_of_the_database_itself(link: Connection) -> None:
    with link_transaction(link):
        link.execute("CREATE TYPE mood AS ENUM ('sad', 'glad'); CREATE DOMAIN small AS int2")
        link.execute("CREATE TYPE pair AS (a int4, b text)")
        columns = link.fetch_columns("SELECT 'glad'::mood m, 7::small s, '(1,x)'::pair p")
        # A domain arrives as its base type, which the server reports.
        assert [(field.type_name, field.arrow_type) for field in columns.fields] == [
            ("mood", "dictionary<values=utf8, indices=int32, ordered=0>"),
            ("int2", "int16"),
            ("pair", "struct<a: int32, b: utf8>"),
        ]
        assert oracle.arrow_table(columns).to_pylist() == [
            {"m": "glad", "s": 7, "p": {"a": 1, "b": "x"}}
        ]
        assert link.fetchval("SELECT $1::mood::text", "sad") == "sad"


class link_transaction:  # noqa: N801
    """Roll back the block's changes."""

    def __init__(self, link: Connection) -> None:
        self.link = link

    def __enter__(self) -> None:
        self.link.execute("BEGIN")

    def __exit__(self, *error: object) -> None:
        self.link.execute("ROLLBACK")


def test_types_that_the_server_sends_as_text(link: Connection) -> None:
    sql = "SELECT relacl AS v, relacl::text AS t FROM pg_class WHERE relacl IS NOT NULL"
    table = oracle.arrow_table(link.fetch_columns(sql))
    lists = table["v"].to_pylist()
    assert ["{" + ",".join(items) + "}" for items in lists] == table["t"].to_pylist()
    assert [row["v"] for row in link.fetch(sql)] == lists


def test_every_catalog_is_readable(link: Connection) -> None:
    """The catalogs have types of every kind; any error would be the driver's fault."""
    names = [
        row["name"]
        for row in link.fetch(
            "SELECT 'pg_catalog.' || quote_ident(relname) AS name FROM pg_class "
            "WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind IN ('r', 'v')"
        )
    ]
    assert len(names) > 100
    for name in names:
        sql = f"SELECT * FROM {name} LIMIT 200"
        try:
            columns = link.fetch_columns(sql, infinity="null")
        except DecodeError:
            raise
        except PostgresError:
            continue  # Not permitted, or not available on this server.
        oracle.arrow_table(columns)
        link.fetch(sql)


def test_xml(link: Connection, has_xml: bool) -> None:
    if not has_xml:
        pytest.skip("this server was built without XML")
    assert link.fetchval("SELECT '<a/>'::xml") == "<a/>"
    assert link.fetchval("SELECT $1::xml", "<b/>") == "<b/>"
