"""The dialects that PostgreSQL reads back: exact NDJSON, and COPY's CSV.

They are written from columns of any kind: those of a web service, or text as in files.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from colonnade._core.formats import Encoder
from colonnade.errors import FeatureNotSupportedError
from samples import SAMPLES
from samples.sample import query as query_of_texts
from tests.columns import every_type
from tests.formats.written import encoded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from colonnade.columns import Columns
    from colonnade.sync import Connection
    from samples import Sample

#: The value that JSON cannot keep: JSON's null in a column of JSON is NULL.
_NULL = "null"
# No table has a column of it.
_PSEUDO = {"cstring"}
# A column of numbers has one scale, and each number of the server's its own.
_AS_SERVER = [name for name in every_type.MADE if name != "numrange"]
# Strings to the server.
_NUMBERS_TO_US = {"oid", "oidvector"}


@pytest.fixture(autouse=True)
def _neutral(link: Connection) -> Iterator[None]:
    link.execute("set timezone = 'UTC'; set intervalstyle = 'postgres'")
    yield
    link.execute("reset timezone; reset intervalstyle")


def columns_of(link: Connection, sample: Sample, **options: Any) -> Columns:
    texts = [text for text in sample.in_columns if text != _NULL]
    sql = f"SELECT v FROM ({query_of_texts(sample.sql_type)}) AS q"
    try:
        return link.fetch_columns(sql, json.dumps(texts), **options)
    except FeatureNotSupportedError:
        pytest.skip("the server was built without this type")


def objects(text: bytes) -> list[Any]:
    lines = text.decode().split("\n")
    return [json.loads(line, parse_float=Decimal)["v"] for line in lines if line]


BY_NAME = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.sql_type)
# As in files, and as a web service fetches them.
AS_FETCHED = pytest.mark.parametrize("schema", [None, {"v": "utf8"}], ids=["arrow", "text"])


def assert_copy_reads_back(link: Connection, columns: Columns, sql_type: str) -> None:
    is_text = columns.fields[0].arrow_type == "utf8"
    schema = {"v": "utf8"} if is_text else None
    text = encoded(Encoder.copy_csv(True, ",", ""), columns)
    link.execute(f"create temp table read_back (v {sql_type}, n serial)")
    try:
        link.copy_to_table("read_back", source=text, columns=["v"], format="csv", header=True)
        found = link.fetch_columns("select v from read_back order by n", schema=schema)
    finally:
        link.execute("drop table read_back")
    assert encoded(Encoder.copy_csv(True, ",", ""), found) == text
    # NaN is not equal to itself.
    assert b"NaN" in text or found.to_arrow().column("v") == columns.to_arrow().column("v")


@BY_NAME
@AS_FETCHED
def test_copy_reads_its_csv_back(
    link: Connection, sample: Sample, schema: dict[str, str] | None
) -> None:
    if sample.sql_type in _PSEUDO:
        pytest.skip("no column has this type")
    assert_copy_reads_back(link, columns_of(link, sample, schema=schema), sample.sql_type)


@pytest.mark.parametrize("sql_type", every_type.MADE)
@AS_FETCHED
def test_copy_reads_made_types_back(
    link: Connection, sql_type: str, schema: dict[str, str] | None
) -> None:
    columns = link.fetch_columns(every_type.query(sql_type), schema=schema)
    assert_copy_reads_back(link, columns, sql_type)


@pytest.mark.parametrize("sql_type", _AS_SERVER)
def test_the_csv_of_columns_is_the_servers(link: Connection, sql_type: str) -> None:
    sql = every_type.query(sql_type)
    sent = bytearray()
    link.copy_from_query(sql, output=sent.extend, format="csv", header=True)
    assert encoded(Encoder.copy_csv(True, ",", ""), link.fetch_columns(sql)) == sent


def of_server(link: Connection, sql: str, *arguments: Any) -> list[Any]:
    rows = link.fetch(f"SELECT to_json(v)::text FROM ({sql}) AS q (v)", *arguments)
    return [None if row[0] is None else json.loads(row[0], parse_float=Decimal) for row in rows]


@BY_NAME
def test_exact_lines_have_the_values_of_to_json(link: Connection, sample: Sample) -> None:
    columns = columns_of(link, sample)
    found = objects(encoded(Encoder.ndjson("exact", end_mark=False), columns))
    if sample.sql_type.removesuffix("[]") in _NUMBERS_TO_US:
        found = json.loads(json.dumps(found), parse_int=str)
    texts = [text for text in sample.in_columns if text != _NULL]
    sql = f"SELECT v FROM ({query_of_texts(sample.sql_type)}) AS s"
    assert found == of_server(link, sql, json.dumps(texts))


@pytest.mark.parametrize("sql_type", _AS_SERVER)
def test_exact_lines_of_made_types(link: Connection, sql_type: str) -> None:
    sql = every_type.query(sql_type)
    columns = link.fetch_columns(sql)
    found = objects(encoded(Encoder.ndjson("exact", end_mark=False), columns))
    assert found == of_server(link, sql)


def test_exact_numbers_have_all_digits(link: Connection) -> None:
    columns = link.fetch_columns(
        "select (2^62)::int8 as a, 1.50::numeric(9, 2) as b, array[9007199254740993] as c,"
        " 'NaN'::float8 as d, timestamptz '2024-02-29 12:30+01' as e, '\\x00ff'::bytea as f,"
        " int4range(1, 5) as g, interval '1 mon' as h, null as i"
    )
    assert encoded(Encoder.ndjson("exact", end_mark=True), columns) == (
        b'{"a":4611686018427387904,"b":1.50,"c":[9007199254740993],"d":"NaN",'
        b'"e":"2024-02-29T11:30:00+00:00","f":"\\\\x00ff","g":"[1,5)","h":"1 mon","i":null}\n'
        b'{"end":true,"rows":1}\n'
    )
    assert b'"a":"4611686018427387904","b":"1.50","c":["9007199254740993"]' in encoded(
        Encoder.ndjson("javascript", end_mark=False), columns
    )


def test_lines_are_cut_where_a_row_ends(link: Connection) -> None:
    columns = link.fetch_columns("select v, E'a\\n\"b' as t from generate_series(1, 5) x(v)")
    encoder = Encoder.copy_csv(True, ";", "-")
    lines = encoder.lines(columns._batch)
    assert encoder.head() == b"v;t\n"
    row = b'%d;"a\n""b"\n'
    assert len(lines) == 5
    assert lines.text == b"".join(row % n for n in range(1, 6))
    assert lines[1:3].text == row % 2 + row % 3
    assert lines[1:][1:2].text == row % 3
    assert len(lines[7:]) == 0
    size = len(row % 1)
    assert [lines.fitting(n) for n in (-1, 0, size - 1, size, 3 * size, 99)] == [0, 0, 0, 1, 3, 5]
    assert lines[2:].fitting(2 * size) == 2
    with pytest.raises(ValueError, match="without a step"):
        lines[::2]
    with pytest.raises(ValueError, match="has no lines"):
        Encoder.json_columns().lines(columns._batch)


def test_delimiters_and_nulls_of_copy(link: Connection) -> None:
    columns = link.fetch_columns("select 15 as a, null as b, 'x' as c, '' as d, '1' as e")
    encoder = Encoder.copy_csv(False, "1", "x")
    assert encoded(encoder, columns) == b'"15"1x1"x"11"1"\n'


@pytest.mark.parametrize("name", ["", "Exact", "rounded"])
def test_an_unknown_dialect(name: str) -> None:
    with pytest.raises(ValueError, match="numbers must be"):
        Encoder.ndjson(name, end_mark=False)
