"""Every type, alone and within arrays, composites, records, domains and ranges.

Columns are compared with the server's own text, which the tests parse. Rows go back as parameters,
and the server must print the same text again.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

import colonnade.sync
from colonnade import Path, Polygon, Range, Record, _core
from colonnade.errors import DecodeError
from samples import EXTENSIONS, FOREIGN, SAMPLES, SERVER_ONLY, Sample
from tests.types import literals, oracle
from tests.types.conftest import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from colonnade.sync import Connection

    Read = literals.Read

# `test_type_table.py` selects values of them.
OUTPUT_ONLY = {sample.sql_type for sample in SERVER_ONLY}
# Types without array types on the server.
VECTORS = {"int2vector", "oidvector"}
# Types that no table column can have.
PSEUDO_TYPES = {"cstring"}
UNORDERED = {sample.base for sample in SAMPLES if not sample.is_ordered}
# Types without a portable binary form: arrays and composites of them are text as a whole.
TEXT_ONLY = {line.name for line in _core.TYPES if not line.send}
# Only the server can parse these: their composites and ranges can be sent only as text.
TEXT_PARAMETERS = {line.name for line in _core.TYPES if line.is_sent_as_text} | VECTORS
# A timedelta has only days and microseconds, so it loses months, and hours beside days.
LOSSY = {"interval"}
# A byte in rows, and text in columns.
OTHERWISE_IN_ROWS = {'"char"'}
NUMBERS = itertools.count(1)
every_sample = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.sql_type)


@pytest.fixture(autouse=True)
def made(request: pytest.FixtureRequest, link: Connection) -> Iterator[str]:
    """A unique name for a test's objects, which are dropped after it.

    Names are never reused, because a cached statement knows the types of its text.
    """
    case = getattr(request.node, "callspec", None)
    sample = case and case.params.get("sample")
    is_xml = isinstance(sample, Sample) and sample.sql_type == "xml"
    if is_xml and not request.getfixturevalue("has_xml"):
        pytest.skip("this server was built without XML")
    link.execute("BEGIN")
    yield f"every_{next(NUMBERS)}"
    link.execute("ROLLBACK")


def test_every_line_has_a_sample() -> None:
    sampled = {sample.base.strip('"') for sample in SAMPLES}
    assert {line.name for line in _core.TYPES} - sampled == OUTPUT_ONLY
    assert {line.name for line in _core.EXTENSION_TYPES} - EXTENSIONS.keys() == {
        "geometry",
        "geography",
    }


def reader(sample: Sample) -> Read:
    return oracle.READERS.get(sample.base, str)


def array_reader(sample: Sample) -> Read:
    return literals.array(reader(sample), ";" if sample.base == "box" else ",")


def of_parts(sample: Sample, read: Read) -> Read:
    """The reader of a value made of parts: as one text if a part is text only."""
    return str if sample.base in TEXT_ONLY else read


def same(column: object, row: object) -> bool:
    """Whether values are equal, and of one class at every depth; NaNs are equal."""
    if isinstance(row, Record | list | tuple) and type(row) is type(column):
        return len(row) == len(column) and all(map(same, column, row))
    if isinstance(row, Path | Polygon):
        return type(row) is type(column) and repr(row) == repr(column)
    if isinstance(row, Range) and isinstance(column, Range):
        kinds = [(r.lower_inc, r.upper_inc, r.isempty) for r in (column, row)]
        return same([column.lower, column.upper, kinds[0]], [row.lower, row.upper, kinds[1]])
    return oracle.same(column, row)


def assert_rows_are_the_columns(link: Connection, sample: Sample, sql: str) -> None:
    argument = oracle.json_texts([*sample.values, None])
    from_columns = link.fetch_columns(sql, argument).to_pydict()["v"]
    from_rows = [row["v"] for row in link.fetch(sql, argument)]
    assert all(map(same, from_columns, from_rows)), (from_columns, from_rows)


def check(link: Connection, sample: Sample, wrapped: str, read: Read, sql_type: str) -> None:
    """Compare a column with the server's text, and send the rows back.

    `wrapped` is an expression over `v`, the sample's value, of the type `sql_type`. Without
    `sql_type`, and for records, the rows are not sent.
    """
    sql = (
        "SELECT w AS v, CASE WHEN w IS DISTINCT FROM NULL THEN concat(w) END AS t FROM"
        f" (SELECT {wrapped} AS w, n FROM (SELECT e::{sample.sql_type} AS v, n FROM"
        " jsonb_array_elements_text($1) WITH ORDINALITY x(e, n)) s) s ORDER BY n"
    )
    columns = link.fetch_columns(sql, oracle.json_texts([*sample.in_columns, None]))
    table = oracle.arrow_table(columns)
    texts = table["t"].to_pylist()
    assert oracle.raw(table["v"]) == [None if text is None else read(text) for text in texts]
    if sql_type != "record" and sample.base not in OTHERWISE_IN_ROWS:
        assert_rows_are_the_columns(link, sample, sql)
    rows = link.fetch(sql, oracle.json_texts([*sample.in_rows, None]))
    if sql_type not in ("", "record") and sample.base not in LOSSY:
        again = [link.fetchval(f"SELECT concat($1::{sql_type})", row["v"]) for row in rows]
        assert again == [row["t"] or "" for row in rows]


@every_sample
def test_alone(link: Connection, sample: Sample) -> None:
    check(link, sample, "v", reader(sample), sample.sql_type)


@every_sample
def test_in_arrays(link: Connection, sample: Sample) -> None:
    base = sample.base
    if base in VECTORS:
        pytest.skip("arrays of it are not made of its values")
    for shape in ("ARRAY[v, NULL, v]", "ARRAY[[v, NULL], [NULL, v]]", "ARRAY[v]"):
        check(link, sample, f"{shape}::{base}[]", array_reader(sample), f"{base}[]")


@every_sample
def test_in_composites(link: Connection, sample: Sample, made: str) -> None:
    base = sample.base
    if base in PSEUDO_TYPES:
        pytest.skip("no column is of a pseudo-type")
    link.execute(f"CREATE TYPE {made} AS (a {sample.sql_type}, b int4, c {sample.sql_type}[])")
    list_read: Read = str if base in VECTORS else array_reader(sample)
    values = "NULL" if base in VECTORS else f"ARRAY[v, NULL]::{sample.sql_type}[]"
    fields: list[tuple[str, Read]] = [("a", reader(sample)), ("b", int), ("c", list_read)]
    read = of_parts(sample, literals.composite(fields))
    back = "" if base in TEXT_PARAMETERS - TEXT_ONLY else made
    check(link, sample, f"ROW(v, NULL, {values})::{made}", read, back)
    of_two = f"ARRAY[NULL, ROW(v, 7, NULL)::{made}]"
    check(link, sample, of_two, literals.array(read), back and f"{back}[]")


@every_sample
def test_in_records(link: Connection, sample: Sample) -> None:
    if sample.base in PSEUDO_TYPES | TEXT_ONLY:
        pytest.skip("a record of it is of no use: its parts come in their binary form")
    read = literals.composite([("f1", reader(sample)), ("f2", str)])
    # In a column read as objects, its fields have only Arrow types.
    check(link, sample, "CASE WHEN v IS NOT NULL THEN ROW(v, 'x'::text) END", read, "record")


@every_sample
def test_in_domains(link: Connection, sample: Sample, made: str) -> None:
    base = sample.base
    if base in PSEUDO_TYPES:
        pytest.skip("no domain is over a pseudo-type")
    link.execute(f"CREATE DOMAIN {made}_outer AS {sample.sql_type}")
    link.execute(f"CREATE DOMAIN {made}_inner AS {made}_outer")
    link.execute(f"CREATE TYPE {made} AS (d {made}_inner)")
    check(link, sample, f"v::{made}_inner", reader(sample), f"{made}_inner")
    lists = f"ARRAY[v, NULL]::{made}_outer[]"
    check(link, sample, lists, array_reader(sample), f"{made}_outer[]")
    read = of_parts(sample, literals.composite([("d", reader(sample))]))
    back = "" if base in TEXT_PARAMETERS - TEXT_ONLY else made
    check(link, sample, f"ROW(v::{made}_inner)::{made}", read, back)


@every_sample
def test_in_ranges(link: Connection, sample: Sample, made: str) -> None:
    base = sample.base
    if base in UNORDERED:
        pytest.skip("it has no order, so no ranges")
    link.execute(
        f"CREATE TYPE {made} AS RANGE (subtype = {base}, multirange_type_name = {made}_many)"
    )
    both, empty = f"{made}(v, v, '[]')", f"CASE WHEN v IS NOT NULL THEN 'empty'::{made} END"
    read = of_parts(sample, literals.range_of(reader(sample)))
    back = "" if base in TEXT_PARAMETERS - TEXT_ONLY else made
    for range_ in (both, f"{made}(v, NULL, '(]')", f"{made}(NULL, v)", empty):
        check(link, sample, range_, read, back)
    lists = f"ARRAY[{both}, NULL, {empty}]"
    check(link, sample, lists, literals.array(read), back and f"{back}[]")
    many = of_parts(sample, literals.multirange_of(reader(sample)))
    check(link, sample, f"{made}_many({both})", many, back and f"{back}_many")


@every_sample
def test_by_copy(link: Connection, sample: Sample, made: str) -> None:
    """A query's result is copied into a table, and the server prints the same text for it."""
    base = sample.base
    if base in PSEUDO_TYPES:
        pytest.skip("no column is of a pseudo-type")
    lists = "NULL" if base in VECTORS else f"ARRAY[v, NULL, v]::{base}[]"
    link.execute(f"CREATE TYPE {made}_pair AS (a {sample.sql_type}, b int4)")
    link.execute(
        f"CREATE TABLE {made} (n int4, v {sample.sql_type}, many {base}[], pair {made}_pair)"
    )
    sql = (
        f"SELECT n::int4, v, {lists} AS many, ROW(v, 7)::{made}_pair AS pair FROM"
        f" (SELECT e::{sample.sql_type} AS v, n FROM jsonb_array_elements_text($1)"
        " WITH ORDINALITY x(e, n)) s"
    )
    argument = oracle.json_texts([*sample.in_columns, None])
    columns = link.fetch_columns(sql, argument)
    assert link.copy_columns_to_table(made, columns) == f"COPY {len(columns)}"
    texts = "SELECT n, concat(v), concat(many), concat(pair) FROM"
    if sample.sql_type == "numeric":
        # All values of a decimal column have the same scale.
        texts = "SELECT n, trim_scale(v), array_length(many, 1), trim_scale((pair).a) FROM"
    before = link.fetch(f"{texts} ({sql}) s ORDER BY n", argument)
    assert link.fetch(f"{texts} {made} ORDER BY n") == before


@every_sample
def test_by_copy_in_a_text(link: Connection, sample: Sample, made: str) -> None:
    """With a part that only the server can parse, the whole value is written as text."""
    base = sample.base
    if base in PSEUDO_TYPES:
        pytest.skip("no column is of a pseudo-type")
    kind = sample.sql_type
    link.execute(f"CREATE TYPE {made}_part AS (v {kind}, many {base}[], words tsvector)")
    bounds, range_type = "NULL", "int4range"
    if base not in UNORDERED:
        range_type = f"{made}_range"
        link.execute(f"CREATE TYPE {range_type} AS RANGE (subtype = {base})")
        bounds = f"{range_type}(v, v, '[]')"
    link.execute(f"CREATE TYPE {made}_whole AS (part {made}_part, bounds {range_type})")
    link.execute(f"CREATE TABLE {made} (n int4, v {made}_whole, many {made}_part[])")
    lists = "NULL" if base in VECTORS else f"ARRAY[v, NULL, v]::{base}[]"
    part = f"ROW(v, {lists}, 'a ''b c'':2')::{made}_part"
    sql = (
        f"SELECT n::int4, ROW({part}, {bounds})::{made}_whole AS v, ARRAY[{part}, NULL] AS many"
        f" FROM (SELECT e::{kind} AS v, n FROM jsonb_array_elements_text($1)"
        " WITH ORDINALITY x(e, n)) s"
    )
    argument = oracle.json_texts([*sample.in_columns, None])
    columns = link.fetch_columns(sql, argument)
    assert link.copy_columns_to_table(made, columns) == f"COPY {len(columns)}"
    texts = "SELECT n, concat(v), concat(many) FROM"
    if kind == "numeric":
        # All values of a decimal column have the same scale.
        texts = "SELECT n, trim_scale(((v).part).v), trim_scale(lower((v).bounds)) FROM"
    before = link.fetch(f"{texts} ({sql}) s ORDER BY n", argument)
    assert link.fetch(f"{texts} {made} ORDER BY n") == before


@pytest.fixture
def own_values(dsn: str) -> Iterator[Connection]:
    """A connection with `extension_types`: rows have the same values as columns."""
    with colonnade.sync.connect(dsn, server_settings=SETTINGS, extension_types=True) as connection:
        connection.execute("BEGIN")
        yield connection
        connection.execute("ROLLBACK")


@pytest.mark.parametrize("name", EXTENSIONS)
def test_types_of_extensions(own_values: Connection, name: str) -> None:
    link, made = own_values, f"every_{next(NUMBERS)}"
    extension, sample = EXTENSIONS[name]
    create_extension(link, extension)
    check(link, sample, "v", reader(sample), sample.sql_type)
    base = sample.base
    check(link, sample, f"ARRAY[v, NULL]::{base}[]", array_reader(sample), f"{base}[]")
    link.execute(f"CREATE TYPE {made} AS (a {sample.sql_type}, b int4)")
    read = literals.composite([("a", reader(sample)), ("b", int)])
    check(link, sample, f"ROW(v, 7)::{made}", read, made)


def create_extension(link: Connection, name: str) -> None:
    if not link.fetchval("SELECT count(*) FROM pg_available_extensions WHERE name = $1", name):
        pytest.skip("the server does not have the extension")
    link.execute(f"CREATE EXTENSION IF NOT EXISTS {name}")


@pytest.mark.parametrize("name", FOREIGN)
def test_types_of_other_extensions(link: Connection, name: str) -> None:
    """Bytes in columns and text in rows, or values of a built-in type with the same functions."""
    extension, arrow, texts = FOREIGN[name]
    create_extension(link, extension)
    for text in texts:
        sql = f"SELECT $1::text::{name} AS v, $1::text::{name}::text AS t, NULL::{name}[] AS n"
        columns = link.fetch_columns(sql, text)
        assert columns.fields[0].arrow_type == arrow
        row: Any = link.fetchrow(sql, text)
        [of_column] = oracle.arrow_table(columns)["v"].to_pylist()
        assert row["v"] == (row["t"] if arrow == "binary" else of_column)
        for value in (row["v"], of_column):
            assert link.fetchval(f"SELECT $1::{name}::text", value) == row["t"]


def test_a_value_of_a_wrapped_type_that_is_refused(link: Connection) -> None:
    with pytest.raises(DecodeError) as refused:
        link.fetch_columns("SELECT ARRAY['2024-01-01'::date, 'infinity']")
    assert refused.value.type_name == "date[]"
