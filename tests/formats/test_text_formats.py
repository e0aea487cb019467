"""JSON columns, NDJSON and CSV keep every value of every type."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings, strategies as st

from colonnade._core.formats import Encoder
from colonnade.errors import FeatureNotSupportedError
from samples import EXTENSIONS, SAMPLES, strategies
from samples.sample import query as query_of_texts
from tests.columns.every_type import EVERY, query
from tests.formats.values import read, read_cell, stored
from tests.formats.written import csv_column, csv_rows, encoded, json_columns, ndjson

if TYPE_CHECKING:
    from colonnade.columns import Columns
    from colonnade.sync import Connection
    from samples import Sample

# The whole result, some of its rows, no rows, and several batches.
PARTS = (
    (slice(None),),
    (slice(1, 4),),
    (slice(2, 2),),
    (slice(0, 2), slice(2, 2), slice(2, 5)),
)


def assert_kept(*parts: Columns) -> None:
    """All three formats have the values of the first column, in the parts' order."""
    kinds, values = zip(*map(stored, parts), strict=True)
    kind, want = kinds[0], [value for part in values for value in part]
    name = parts[0].names[0]
    assert [read(value, kind) for value in json_columns(*parts)[name]] == want
    assert [read(row[name], kind) for row in ndjson(*parts)] == want
    cells = csv_column(*parts)
    assert [None if cell is None else read_cell(cell, kind) for cell in cells] == want
    assert [row[0] for row in csv_rows(*parts)] == [cell or "" for cell in cells]


@pytest.mark.parametrize("sql_type", EVERY)
def test_every_type(link: Connection, sql_type: str) -> None:
    columns = link.fetch_columns(query(sql_type))
    assert len(columns) == 5
    for slices in PARTS:
        assert_kept(*(columns[part] for part in slices))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.sql_type)
def test_every_value(link: Connection, sample: Sample) -> None:
    texts = json.dumps(sample.in_columns)
    try:
        columns = link.fetch_columns(query_of_texts(sample.sql_type), texts)
    except FeatureNotSupportedError:
        pytest.skip("the server was built without this type")
    assert_kept(columns)


@pytest.mark.parametrize("name", EXTENSIONS)
def test_types_of_extensions(link: Connection, name: str) -> None:
    extension, sample = EXTENSIONS[name]
    available = "select from pg_available_extensions where name = $1"
    if not link.fetch(available, extension):
        pytest.skip("the server does not have the extension")
    # In `public`: the other tests of this server find it there.
    link.execute(f"create extension if not exists {extension} with schema public")
    texts = json.dumps(sample.values)
    assert_kept(link.fetch_columns(query_of_texts(sample.sql_type), texts))


# The server reads these texts as values of the type: JSON's, and CSV's by COPY.
SERVER_READS = {
    *("bool", "int2", "int4", "int8", "oid", "xid8", "float4", "float8", "numeric(15,2)"),
    *("numeric(60,2)", "date", "time", "timestamp", "timestamptz", "interval", "uuid"),
    *("text", "bpchar", "json", "inet", "varbit", "macaddr"),
}


@pytest.mark.parametrize(
    "sample",
    [sample for sample in SAMPLES if sample.sql_type in SERVER_READS],
    ids=lambda sample: sample.sql_type,
)
def test_the_server_reads_what_it_sent(link: Connection, sample: Sample) -> None:
    columns = link.fetch_columns(query_of_texts(sample.sql_type), json.dumps(sample.values))
    values = columns.to_pydict()["t"]
    # As text: the server's own JSON has no -0.
    given = json_columns(columns)["v"]
    texts = json.dumps([v if isinstance(v, str) else json.dumps(v) for v in given])
    if sample.sql_type != "json":
        read_back = link.fetch_columns(query_of_texts(sample.sql_type), texts)
        assert read_back.to_pydict()["t"] == values
    link.execute(f"create temp table copied (v {sample.sql_type}, t text, n serial)")
    text = encoded(Encoder.csv(header=True), columns)
    link.copy_to_table("copied", source=text, columns=["v", "t"], format="csv", header=True)
    equal = "select bool_and(concat(v) is not distinct from t), count(*) from copied"
    assert tuple(link.fetchrow(equal) or ()) == (True, len(values))
    link.execute("drop table copied")


def test_the_types_that_the_server_reads_have_samples() -> None:
    assert {sample.sql_type for sample in SAMPLES} >= SERVER_READS


@settings(max_examples=200, deadline=None)
@given(texts=st.lists(st.none() | strategies.TEXT, max_size=6), name=strategies.TEXT)
def test_any_text_and_any_name(link: Connection, texts: list[str | None], name: str) -> None:
    name = (name.encode()[:60].decode(errors="ignore")) or "v"
    quoted = name.replace('"', '""')
    columns = link.fetch_columns(f'select v as "{quoted}" from unnest($1::text[]) x(v)', texts)
    assert json_columns(columns) == {name: texts}
    assert ndjson(columns) == [{name: text} for text in texts]
    assert csv_column(columns) == texts
    assert csv_rows(columns) == [[text or ""] for text in texts]


def test_numbers_that_javascript_rounds_are_text(link: Connection) -> None:
    sql = "select v from unnest(array[2^53 - 1, 2^53, -2^53 + 1, -2^53]::int8[]) x(v)"
    want: list[Any] = [2**53 - 1, str(2**53), 1 - 2**53, str(-(2**53))]
    assert json_columns(link.fetch_columns(sql)) == {"v": want}


def test_an_interval_is_the_servers(link: Connection) -> None:
    link.execute("set intervalstyle = iso_8601")
    (sample,) = (sample for sample in SAMPLES if sample.sql_type == "interval")
    texts = json.dumps(sample.values)
    columns = link.fetch_columns(query_of_texts("interval"), texts)
    assert json_columns(columns)["v"] == columns.to_pydict()["t"]
    link.execute("reset intervalstyle")


def test_types_by_schema(link: Connection) -> None:
    sql = "select 'red' as a, 'blue' as b, 'x'::text as c, time '1:00' as d, '[1]'::json as e"
    schema = {
        "a": "U5",
        "b": "category",
        "c": "utf8_view",
        "d": "duration[ms]",
        "e": "dictionary<int32, utf8>",
    }
    assert json_columns(link.fetch_columns(sql, schema=schema)) == {
        "a": ["red"],
        "b": ["blue"],
        "c": ["x"],
        "d": ["PT1H"],
        "e": ["[1]"],
    }


def test_objects_refuse_columns_of_one_name(link: Connection) -> None:
    columns = link.fetch_columns("select 1 as a, 2 as b, 3 as a")
    for encoder in (Encoder.json_columns(), Encoder.ndjson("javascript", end_mark=True)):
        with pytest.raises(ValueError, match='several columns have the name "a": a JSON object'):
            encoder.encode(columns._batch)
    assert encoded(Encoder.csv(header=True), columns) == b"a,b,a\r\n1,2,3\r\n"


def test_lines_of_csv_and_json_end_as_documented(link: Connection) -> None:
    columns = link.fetch_columns("select 1 as a, E'x\\r\\ny' as b, '{\"k\":\n2}'::json as c")
    assert encoded(Encoder.csv(header=True), columns) == (b'a,b,c\r\n1,"x\r\ny","{""k"":\n2}"\r\n')
    assert encoded(Encoder.ndjson("javascript", end_mark=False), columns) == (
        b'{"a":1,"b":"x\\r\\ny","c":{"k": 2}}\n'
    )


def test_no_columns(link: Connection) -> None:
    columns = link.fetch_columns("select from generate_series(1, 2)")
    assert encoded(Encoder.json_columns(), columns) == b'{"columns":{},"rows":2}'
    assert encoded(Encoder.ndjson("javascript", end_mark=False), columns) == b"{}\n{}\n"


def test_without_a_batch_there_is_no_file() -> None:
    for encoder in (
        Encoder.json_columns(),
        Encoder.ndjson("javascript", end_mark=True),
        Encoder.csv(header=True),
    ):
        with pytest.raises(RuntimeError, match="at least one batch"):
            encoder.finish()
