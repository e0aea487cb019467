"""Columns by name, whatever their number, and columns that were made of a result's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import numpy as np
import pyarrow as pa
import pytest

import colonnade
from colonnade import serve

if TYPE_CHECKING:
    from colonnade.sync import Connection


@pytest.fixture(scope="module")
def link(dsn: str) -> Any:
    with colonnade.sync.connect(dsn) as connection:
        yield connection


def of_arrow(table: pa.Table) -> colonnade.Columns:
    """The columns that a program reads over HTTP."""
    sink = pa.BufferOutputStream()
    batches = table.to_batches()
    marks = {"colonnade.rows": str(table.num_rows), "colonnade.batches": str(len(batches))}
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
        writer.write_batch(batches[0].slice(0, 0), custom_metadata=marks)
    body, kind = sink.getvalue().to_pybytes(), "application/vnd.apache.arrow.stream"
    answer = httpx.Response(200, content=body, headers={"content-type": kind})
    with httpx.Client(transport=httpx.MockTransport(lambda _: answer)) as client:
        return serve.sync.read("http://server/table", client=client)


class Name(str):
    """A name that counts how often it is compared with another one."""

    __slots__ = ()

    compared = 0

    def __eq__(self, other: object) -> bool:
        Name.compared += 1
        return str(self) == other

    __hash__ = str.__hash__


def test_a_look_up_by_name_does_not_search_the_names() -> None:
    many = of_arrow(pa.table({f"c{n}": [n] for n in range(8_000)}))
    for n in range(0, 8_000, 500):
        assert Name(f"c{n}") in many
        assert many._position(Name(f"c{n}")) == n
    # Once for each look-up, and where two names have a hash in common.
    assert 0 < Name.compared < 200
    assert many["c7999"].tolist() == [7999]
    assert many.to_pydict()["c7999"] == [7999]
    with pytest.raises(KeyError, match="did you mean"):
        many["c79999"]


def test_names_that_repeat_and_keys_of_other_classes(link: Connection) -> None:
    columns = link.fetch_columns("SELECT 1 AS a, 2 AS a, 3 AS b")
    with pytest.raises(
        KeyError, match=r"several columns are named \"a\": use cols\[0\], cols\[1\]"
    ):
        columns["a"]
    assert "a" in columns
    assert "c" not in columns
    assert [] not in columns
    assert columns["b"].tolist() == [3]


@pytest.mark.parametrize("rows", ["", " WHERE false"])
def test_an_own_column_of_text_is_text(link: Connection, rows: str) -> None:
    """A program must not fail on its first answer without rows."""
    query = f"SELECT * FROM (VALUES ('x'), (NULL)) AS t (a){rows}"
    for columns in (link.fetch_columns(query), link.fetch_columns(f"SELECT NULL::text AS a{rows}")):
        both = columns.with_columns(b=columns["a"])
        assert both.dtypes["b"] == columns.dtypes["a"]
        assert both.to_pydict()["b"] == columns.to_pydict()["a"]


@pytest.mark.parametrize("kind", ["numeric", "uuid", "bytea", "int4[]"])
def test_an_own_column_of_objects_without_a_value_says_what_keeps_its_type(
    link: Connection, kind: str
) -> None:
    columns = link.fetch_columns(f"SELECT NULL::{kind} AS a WHERE false")
    with pytest.raises(ValueError, match=r'columns\.select\("name"\)'):
        columns.with_columns(b=np.array([], dtype=object))
    kept = columns.with_columns(b=columns.select("a"))
    assert kept.fields[1].type_name == columns.fields[0].type_name


PRINTED = {
    "map": (pa.array([[("a", 1), ("b", None)], None], pa.map_(pa.string(), pa.int64())), "..."),
    "map of lists": (pa.array([[(1, [2])], None], pa.map_(pa.int8(), pa.list_(pa.int8()))), "..."),
    "run ends": (pa.RunEndEncodedArray.from_arrays([1, 2], ["x", "y"]), "..."),
    "date64": (pa.array([86_400_000, None], pa.date64()), "1970-01-02"),
    "date64 far away": (pa.array([10**8 * 86_400_000, None], pa.date64()), ""),
    "null": (pa.nulls(2), "NULL"),
    "dictionary": (pa.array(["x", None]).dictionary_encode(), "x"),
    "dictionary of integers": (pa.array([5, None]).dictionary_encode(), "5"),
    "time32": (pa.array([5, None], pa.time32("s")), "00:00:05"),
    "decimal32": (pa.array([1, None], pa.decimal32(5, 2)), "1.00"),
    "half": (pa.array([np.float16(1.5), None], pa.float16()), "1.5"),
    "list view": (pa.array([[1], None], pa.list_view(pa.int8())), "1"),
    "view": (pa.array(["x", None], pa.string_view()), "x"),
    "fixed bytes": (pa.array([b"abc", None], pa.binary(3)), "616263"),
    "large list": (pa.array([[1], None], pa.large_list(pa.int8())), "1"),
    "interval": (
        pa.array([pa.MonthDayNano([1, 2, 3]), None], pa.month_day_nano_interval()),
        "mon",
    ),
    "duration": (pa.array([1, None], pa.duration("ns")), "00:00:00"),
}


@pytest.mark.parametrize("name", PRINTED)
def test_columns_of_every_arrow_type_are_printed(name: str) -> None:
    array, expected = PRINTED[name]
    columns = of_arrow(pa.table({"v": array}))
    text = repr(columns)
    assert "NULL" in text or not array.null_count
    assert expected in text
    assert "<table" in columns._repr_html_()
