"""Edge values of every type: columns against the server's own text, and rows against columns."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import colonnade
from colonnade.errors import DecodeError
from samples import BY_TYPE, COMMON, HUGE_NUMERICS, WIDE_NUMERICS, Sample, query
from tests.types import oracle
from tests.types.conftest import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colonnade.sync import Connection

every_type = pytest.mark.parametrize("sample", COMMON, ids=lambda sample: sample.sql_type)


def null_patterns(values: Sequence[str]) -> dict[str, list[str | None]]:
    spread: list[str | None] = []
    for value in values:
        spread += [value, None]
    return {
        "none": list(values),
        "first": [None, *values],
        "last": [*values, None],
        "every other": spread,
        "a word of them": [*values, *[None] * 130, *values],
        "all": [None] * 70,
        "no rows": [],
    }


@pytest.fixture(autouse=True)
def _skip_xml(request: pytest.FixtureRequest) -> None:
    case = getattr(request.node, "callspec", None)
    sample = case and case.params.get("sample")
    if sample and sample.sql_type == "xml" and not request.getfixturevalue("has_xml"):
        pytest.skip("this server was built without XML")


@every_type
def test_columns_are_the_servers_text(link: Connection, sample: Sample) -> None:
    for pattern, texts in null_patterns(sample.in_columns).items():
        columns = link.fetch_columns(query(sample.sql_type), oracle.json_texts(texts))
        table = oracle.arrow_table(columns)
        shown = table["t"].to_pylist()
        assert oracle.raw(table["v"]) == oracle.expected(sample.sql_type, shown), pattern
        assert table["v"].null_count == texts.count(None), pattern
        # Without a declared scale, the values decide the scale, and here there are none.
        if texts.count(None) < len(texts) or sample.sql_type not in {"numeric", "numeric(100,2)"}:
            assert columns.fields[0].arrow_type == sample.arrow, pattern


@every_type
def test_rows_are_the_columns(link: Connection, sample: Sample) -> None:
    for pattern, texts in null_patterns(sample.values).items():
        argument = oracle.json_texts(texts)
        from_rows = [row["v"] for row in link.fetch(query(sample.sql_type), argument)]
        from_columns = link.fetch_columns(query(sample.sql_type), argument).to_pydict()["v"]
        if sample.sql_type == '"char"':
            from_rows = [value and char_text(value) for value in from_rows]
        pairs = list(zip(from_rows, from_columns, strict=True))
        assert all(oracle.same(row, column) for row, column in pairs), (pattern, pairs)


def char_text(byte: bytes) -> str:
    """A `"char"` as the server prints it: rows have the byte, as in asyncpg."""
    (code,) = byte
    return "" if code == 0 else chr(code) if code < 128 else f"\\{code:03o}"


@every_type
def test_streams_are_the_columns(link: Connection, sample: Sample) -> None:
    values: list[str | None] = [*sample.in_columns, None]
    argument = oracle.json_texts(values * 20)
    # Without a declared scale the first batch decides, which may not have the widest number.
    schema = {"v": sample.arrow} if sample.sql_type == "numeric" else None
    whole = oracle.arrow_table(link.fetch_columns(query(sample.sql_type), argument))
    for batch_rows in (1, 7, 64, len(values) * 20):
        stream = link.iter_columns(
            query(sample.sql_type), argument, batch_rows=batch_rows, schema=schema
        )
        with stream:
            batches = [oracle.arrow_table(batch) for batch in stream]
        assert [len(batch) for batch in batches[:-1]] == [batch_rows] * (len(batches) - 1)
        assert 0 < len(batches[-1]) <= batch_rows
        assert oracle.raw(pa.concat_tables(batches)["v"]) == oracle.raw(whole["v"])


@every_type
def test_values_that_python_has_no_place_for(link: Connection, sample: Sample) -> None:
    for text in sample.rows_refuse + sample.both_refuse:
        with pytest.raises(DecodeError) as refused:
            link.fetch(query(sample.sql_type), oracle.json_texts([None, text]))
        assert (refused.value.column, refused.value.row) == ("v", 1)
        assert refused.value.type_name == sample.base
    for text in sample.rows_refuse:
        columns = link.fetch_columns(query(sample.sql_type), oracle.json_texts([None, text]))
        with pytest.raises(DecodeError, match="cast it to text") as unreadable:
            columns.to_pydict()
        assert (unreadable.value.column, unreadable.value.row) == ("v", 1)


@every_type
def test_values_that_arrow_has_no_place_for(link: Connection, sample: Sample) -> None:
    for text in sample.columns_refuse + sample.both_refuse:
        with pytest.raises(DecodeError) as refused:
            link.fetch_columns(query(sample.sql_type), oracle.json_texts([None, text]))
        assert (refused.value.column, refused.value.row) == ("v", 1)
        assert refused.value.type_name == sample.base
        # The connection is still usable.
        assert link.fetchval("SELECT 1") == 1


@pytest.mark.parametrize(("texts", "arrow"), WIDE_NUMERICS)
def test_a_numeric_without_scale(link: Connection, texts: tuple[str, ...], arrow: str) -> None:
    columns = link.fetch_columns(query("numeric"), oracle.json_texts(texts))
    assert columns.fields[0].arrow_type == arrow
    table = oracle.arrow_table(columns)
    assert table["v"].to_pylist() == [Decimal(text) for text in texts]
    assert [row["v"] for row in link.fetch(query("numeric"), oracle.json_texts(texts))] == [
        Decimal(text) for text in texts
    ]


@pytest.mark.parametrize("text", HUGE_NUMERICS, ids=lambda text: text[:12])
def test_a_numeric_of_any_size(link: Connection, text: str) -> None:
    argument = oracle.json_texts([text])
    (row,) = link.fetch(query("numeric"), argument)
    assert row["v"] == Decimal(text)
    assert Decimal(row["t"]).as_tuple() == row["v"].as_tuple()
    with pytest.raises(DecodeError, match="more than the 76 digits of a decimal256"):
        link.fetch_columns(query("numeric"), argument)
    as_text = link.fetch_columns(query("numeric"), argument, schema={"v": "utf8"}).to_pydict()
    assert as_text["v"] == as_text["t"]


def test_rows_keep_the_scale_of_a_numeric(link: Connection) -> None:
    texts = ["1", "1.0", "1.000", "0.0", "-0.00"]
    rows = link.fetch(query("numeric"), oracle.json_texts(texts))
    assert [str(row["v"]) for row in rows] == ["1", "1.0", "1.000", "0.0", "0.00"]


def test_infinities_in_rows(link: Connection) -> None:
    """Infinities are the outermost values of Python's classes, as in asyncpg."""
    from datetime import date, datetime

    outermost: dict[str, list[Any]] = {
        "date": [date.max, date.min],
        "timestamp": [datetime.max, datetime.min],
        "timestamptz": [datetime.max, datetime.min],
    }
    for sql_type, values in outermost.items():
        argument = oracle.json_texts(BY_TYPE[sql_type].columns_refuse)
        assert [row["v"] for row in link.fetch(query(sql_type), argument)] == values
    specials = link.fetch(query("numeric"), oracle.json_texts(["NaN", "Infinity", "-Infinity"]))
    assert [str(row["v"]) for row in specials] == ["NaN", "Infinity", "-Infinity"]


async def test_the_asynchronous_connection_decodes_the_same(dsn: str, link: Connection) -> None:
    async with await colonnade.connect(dsn, server_settings=SETTINGS) as connection:
        for sample in COMMON:
            if sample.sql_type == "xml":
                continue
            argument = oracle.json_texts([*sample.in_columns, None])
            columns = await connection.fetch_columns(query(sample.sql_type), argument)
            same = link.fetch_columns(query(sample.sql_type), argument)
            tables = oracle.arrow_table(columns), oracle.arrow_table(same)
            for name in ("v", "t"):
                assert oracle.raw(tables[0][name]) == oracle.raw(tables[1][name])
