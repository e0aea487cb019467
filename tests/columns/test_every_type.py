"""Every type of the core's table, and types made of them, keep their values in every library."""

from __future__ import annotations

import uuid
import warnings
from typing import TYPE_CHECKING, Any, Literal

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import colonnade
from colonnade.errors import InterfaceWarning, SchemaError
from tests.columns.every_type import EVERY, MADE_TYPES, in_chunks, missing, query
from tests.columns.unified import of_row, unified

if TYPE_CHECKING:
    from collections.abc import Iterator

    from colonnade.columns import Columns
    from colonnade.sync import Connection

# The whole result, some of its rows, and no rows.
SLICES = (slice(None), slice(1, 4), slice(3, None), slice(2, 2))
STRINGS: tuple[Literal["small", "large", "view"], ...] = ("small", "large", "view")
every_type = pytest.mark.parametrize("sql_type", EVERY)


@pytest.fixture(scope="module")
def link(dsn: str) -> Iterator[Connection]:
    with colonnade.sync.connect(dsn, server_settings={"timezone": "UTC"}) as connection:
        connection.execute("create schema every_type")
        connection.execute("set search_path to every_type, public")
        connection.execute(MADE_TYPES)
        yield connection
        connection.execute("drop schema every_type cascade")


def parts(link: Connection, sql_type: str) -> Iterator[tuple[Columns, list[Any]]]:
    """Parts of a type's columns, in one and in several chunks, with the values of the same rows."""
    columns = link.fetch_columns(query(sql_type))
    rows = [row["v"] for row in link.fetch(query(sql_type))]
    assert len(rows) == 5
    for part in SLICES:
        yield columns[part], rows[part]
        for chunked in in_chunks(columns):
            yield chunked[part], rows[part]


def test_every_type_of_the_table_has_a_sample() -> None:
    assert missing() == set()


@every_type
def test_python(link: Connection, sql_type: str) -> None:
    for cols, rows in parts(link, sql_type):
        given = cols.to_pydict()["v"]
        want = wanted(sql_type, rows) if sql_type == '"char"' else rows
        assert given == want
        assert [type(value) for value in given] == [type(value) for value in want]
        assert cols.to_pylist() == [{"v": value} for value in want]


def wanted(sql_type: str, rows: list[Any]) -> list[Any]:
    """The values that a column has: a snapshot is text, but a tuple in rows; `"char"` is a byte."""
    if sql_type == '"char"':
        return [None if row is None else row.decode() for row in rows]
    if sql_type.endswith("_snapshot"):
        return [
            None if row is None else f"{row[0]}:{row[1]}:{','.join(map(str, row[2]))}"
            for row in rows
        ]
    if sql_type == "tid":
        return [None if row is None else {"block": row[0], "offset": row[1]} for row in rows]
    return [of_row(row) for row in rows]


def uuids_as_text(value: Any) -> Any:
    """The same values with each uuid as text, since Polars has no type for it."""
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, list):
        return [uuids_as_text(part) for part in value]
    if isinstance(value, dict):
        return {name: uuids_as_text(part) for name, part in value.items()}
    return value


@every_type
def test_numpy(link: Connection, sql_type: str) -> None:
    for cols, rows in parts(link, sql_type):
        array = cols["v"]
        want = wanted(sql_type, rows)
        assert len(array) == len(rows)
        assert cols.null_mask("v").tolist() == [row is None for row in rows]
        assert unified(list(array), want) == want


@every_type
@pytest.mark.parametrize("dtypes", ["numpy", "nullable", "arrow"])
def test_pandas(link: Connection, sql_type: str, dtypes: Any) -> None:
    for cols, rows in parts(link, sql_type):
        series = cols.to_pandas(dtypes, decimals="decimal")["v"]
        want = wanted(sql_type, rows)
        assert series.isna().tolist() == [row is None for row in rows]
        assert unified(series.tolist(), want) == want
        # Pandas must be able to print the frame and take it apart.
        assert repr(series)


@every_type
def test_polars(link: Connection, sql_type: str) -> None:
    for cols, rows in parts(link, sql_type):
        want = uuids_as_text(wanted(sql_type, rows))
        frame = cols.to_polars()
        assert unified(frame["v"].to_list(), want) == want
        assert frame["v"].null_count() == sum(row is None for row in rows)
        assert repr(frame)


@every_type
@pytest.mark.parametrize("strings", STRINGS)
def test_pyarrow(link: Connection, sql_type: str, strings: Any) -> None:
    for cols, rows in parts(link, sql_type):
        want = wanted(sql_type, rows)
        table = cols.to_arrow(strings)
        table.validate(full=True)
        assert unified(table.column("v").to_pylist(), want) == want
        others = {"small": {"large_", "_view"}, "large": {"_view"}, "view": {"large_"}}[strings]
        assert not any(other in str(table.schema) for other in others)
        if strings == "small":
            assert pa.table(cols).equals(table)


REFUSED_BY_DUCKDB = ("numeric(60,2)", "numeric(50,2)[]", "every_deep", "every_deep[]")


def scanned(cols: Columns, item: str) -> list[Any]:  # noqa: ARG001 - by name
    relation = duckdb.sql(f"select {item} from cols")
    assert relation is not None
    return [row[0] for row in relation.fetchall()]


@every_type
def test_duckdb(link: Connection, sql_type: str) -> None:
    for cols, rows in parts(link, sql_type):
        want = wanted(sql_type, rows)
        # A batch of nothing but empty lists of enums, which DuckDB refuses also in one chunk.
        if sql_type == "every_mood[]" and cols.to_arrow()["v"].num_chunks == len(cols):
            continue
        if sql_type in REFUSED_BY_DUCKDB:
            with pytest.raises(duckdb.NotImplementedException, match="Decimal"):
                scanned(cols, "v")
            continue
        assert scanned(cols, "count(v)") == [sum(row is not None for row in rows)]
        # DuckDB needs pytz to convert instants to Python objects.
        if not sql_type.startswith(("timestamptz", "tstz")):
            assert unified(scanned(cols, "v"), want) == want
        assert len(cols) == len(rows)


@every_type
def test_printing(link: Connection, sql_type: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for cols, rows in parts(link, sql_type):
        lines = repr(cols).split("\n")
        assert len(lines) == 4 + len(rows)
        assert [line.strip() == "NULL" for line in lines[4:]] == [row is None for row in rows]
        assert max(map(len, lines)) <= 60
        assert cols._repr_html_().count("<tr>") == 2 + len(rows)


@every_type
def test_structured(link: Connection, sql_type: str) -> None:
    for cols, rows in parts(link, sql_type):
        array = cols.to_structured([("v", "O")])
        assert array.shape == (len(rows),)
        assert array["v"].tolist() == cols.to_pydict()["v"]


def test_vectors_share_memory_and_are_fields_of_rows(link: Connection) -> None:
    cols = link.fetch_columns(
        "select case when g <> 2 then point(g, g + 0.5) end as p from generate_series(1, 3) g"
    )
    points = cols["p"]
    assert points.shape == (3, 2)
    assert points.dtype == "f8"
    assert np.shares_memory(points, cols["p"])
    assert not points.flags.writeable
    assert np.isnan(points[1]).all()
    assert np.shares_memory(cols[2:]["p"], points)
    rows = cols.to_structured([("p", "f4", 2)])
    assert rows.dtype == np.dtype([("p", "f4", (2,))])
    assert rows["p"][2].tolist() == [3.0, 3.5]
    assert np.isnan(rows["p"][1]).all()
    assert cols.to_structured().dtype == np.dtype([("p", "f8", (2,))])
    for wrong in ([("p", "f8", 3)], [("p", "f8")], [("p", "i8", 2)]):
        with pytest.raises(SchemaError, match='column "p" \\(point\\) cannot become'):
            cols.to_structured(wrong)


def test_lists_are_views_of_their_elements(link: Connection) -> None:
    cols = link.fetch_columns("select array[g, g + 1] as a from generate_series(1, 3) g")
    first, second, _ = cols["a"]
    assert first.base is second.base
    assert np.shares_memory(first, cols["a"][0])
    assert not isinstance(first, np.ma.MaskedArray)
    with pytest.raises(SchemaError, match="Possible: object"):
        cols.to_structured([("a", "i4", 2)])


def test_text_within_lists_keeps_its_layout_and_characters(link: Connection) -> None:
    cols = link.fetch_columns("select array['a', 'b'] as t, row('c'::text) as r")
    assert str(cols.to_arrow("large").schema.field("t").type) == "list<item: large_string>"
    assert str(cols.to_arrow("view").schema.field("r").type) == "struct<f1: string_view>"


def test_intervals_with_months_are_text_in_polars(link: Connection) -> None:
    sql = "select '1 mon 2 days'::interval as a, array['1 year -00:00:01'::interval] as b"
    cols = link.fetch_columns(sql)
    with pytest.warns(InterfaceWarning, match='converted to text for Polars: "a", "b"') as caught:
        frame = cols.to_polars()
    assert "months" in str(caught[0].message)
    assert frame.rows() == [("1 mon 2 days", ["1 year -00:00:01"])]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = link.fetch_columns("select '1 day 01:00'::interval as a").to_polars()
    assert plain.schema == {"a": pl.Duration("us")}


def test_intervals_in_pandas_count_months_as_rows_do(link: Connection) -> None:
    cols = link.fetch_columns("select '1 year 1 mon 1 day'::interval as a")
    row = link.fetchval("select '1 year 1 mon 1 day'::interval")
    for dtypes in ("numpy", "nullable", "arrow"):
        assert cols.to_pandas(dtypes)["a"][0] == row
    assert str(cols.to_pandas()["a"].dtype) == "timedelta64[us]"
    far = link.fetch_columns("select '300000 years'::interval as a")
    with pytest.raises(colonnade.DecodeError, match="timedelta64"):
        far.to_pandas()


def test_hstore(link: Connection) -> None:
    if not link.fetch("select from pg_available_extensions where name = 'hstore'"):
        pytest.skip("this server has no hstore")
    link.execute("create extension if not exists hstore with schema every_type")
    sql = "select v::hstore from (values ('a=>1,b=>NULL'), (null), ('')) t (v)"
    cols = link.fetch_columns(sql)
    want = [{"a": "1", "b": None}, None, {}]
    assert cols.to_pydict()["v"] == want
    # Rows have the text unless the connection uses `extension_types`.
    assert [row["v"] for row in link.fetch(sql)] == ['"a"=>"1", "b"=>NULL', None, ""]
    assert cols["v"].tolist() == cols.to_polars()["v"].to_list() == want
    for strings in STRINGS:
        cols[1:].to_arrow(strings).validate(full=True)
    assert [dict(value) for value in cols.to_pandas()["v"].dropna()] == [want[0], want[2]]
    assert repr(cols).split("\n")[4].strip() == '"a"=>"1", "b"=>NULL'


def test_a_value_without_python_object_within_others_is_named(link: Connection) -> None:
    cols = link.fetch_columns(
        "select array[case when g = 3 then '0044-03-15 BC' else '2024-02-29' end::date] as a "
        "from generate_series(1, 4) g"
    )
    assert cols["a"][2].astype("i8").tolist() == [-735160]
    with pytest.raises(colonnade.DecodeError, match="44 BC") as caught:
        cols.to_pydict()
    assert (caught.value.column, caught.value.row) == ("a", 2)


def test_nothing_but_nulls(link: Connection) -> None:
    cols = link.fetch_columns("select pg_sleep(0) as v")
    assert cols.fields[0].arrow_type == "null"
    assert cols["v"].tolist() == cols.to_pydict()["v"] == [None]
    assert cols.null_mask("v").tolist() == [True]
    assert cols.to_polars()["v"].to_list() == [None]
    assert cols.to_pandas()["v"].isna().all()


def test_cells_of_large_lists_are_short_and_made_of_few_elements(link: Connection) -> None:
    cols = link.fetch_columns(
        "select array_agg(g) as a, array_agg(g::text) as t, "
        "array_agg(point(g, g)) as p from generate_series(1, 1000000) g"
    )
    shown = repr(cols)
    assert "{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1..." in shown
    assert max(map(len, shown.splitlines())) < 160


@pytest.mark.parametrize(
    ("literal", "cell"),
    [
        ("'{1,NULL}'::int4[]", "{1, NULL}"),
        ("'{{1},{2}}'::int4[]", "{{1}, {2}}"),
        ("'{\"\"}'::text[]", '{""}'),
        ("'[1,5)'::int4range", "[1, 5)"),
        ("'(,5]'::numrange", "(, 5]"),
        ("'empty'::int4range", "empty"),
        ("'{[1,3),[5,7)}'::int4multirange", "{[1, 3), [5, 7)}"),
        ("row(1, null, 'a')", "(1, NULL, a)"),
        ("'12:00:00-03:30'::timetz", "12:00:00-03:30"),
        ("'-1 year 2 days'::interval", "-1 years +2 days"),
        ("'0044-03-15 BC'::date", "0044-03-15 BC"),
        ("array['0044-03-15 BC'::date]", "{0044-03-15 BC}"),
        ("0.1::float4", "0.1"),
        ("point(1, 2)", "(1.0, 2.0)"),
        ("'[(0,0),(1,1)]'::path", "[(0.0, 0.0), (1.0, 1.0)]"),
        ("'101'::bit(3)", "101"),
        ("'10.0.0.1/8'::inet", "10.0.0.1/8"),
    ],
)
def test_cells(link: Connection, literal: str, cell: str) -> None:
    assert repr(link.fetch_columns(f"select {literal} as v")).splitlines()[-1].strip() == cell
