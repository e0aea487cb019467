"""The spellings of a schema's types: names, and types of NumPy, pyarrow and Polars."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from colonnade.errors import DecodeError, InterfaceTypeError, SchemaError

if TYPE_CHECKING:
    from colonnade.sync import Connection

DICTIONARY = "dictionary<values=utf8, indices=int32, ordered=0>"


@pytest.mark.parametrize(
    ("sql", "asked", "arrow_type"),
    [
        ("1::int2", "i8", "int64"),
        ("1::int4", "<i8", "int64"),
        ("1::int4", "u4", "uint32"),
        ("1::int4", np.int64, "int64"),
        ("1::int4", np.dtype("f8"), "float64"),
        ("1::int4", float, "float64"),
        ("1::int4", "double", "float64"),
        ("1::int4", pa.float64(), "float64"),
        ("1::int4", pl.Int64, "int64"),
        ("1::int4", pl.UInt64(), "uint64"),
        ("true", "?", "bool"),
        ("'a'::text", "string", "utf8"),
        ("'a'::text", str, "utf8"),
        ("'a'::text", pa.large_string(), "large_utf8"),
        ("'a'::text", pa.string_view(), "utf8_view"),
        ("'a'::text", pl.String, "utf8"),
        ("'a'::text", np.dtypes.StringDType(), "utf8"),
        ("'a'::text", "U12", "U12"),
        ("'a'::text", np.dtype("S8"), "S8"),
        ("'a'::text", "category", DICTIONARY),
        ("'a'::text", pl.Categorical, DICTIONARY),
        ("'a'::text", pl.Categorical(), DICTIONARY),
        ("'a'::text", pa.dictionary(pa.int32(), pa.string()), DICTIONARY),
        ("now()", "datetime64[ns]", "timestamp[ns, UTC]"),
        ("now()", np.dtype("M8[us]"), "timestamp[us, UTC]"),
        ("now()", "timestamp[us, Europe/Berlin]", "timestamp[us, Europe/Berlin]"),
        ("now()", pa.timestamp("ns", "Asia/Tokyo"), "timestamp[ns, Asia/Tokyo]"),
        ("now()", pl.Datetime("ns", "Asia/Tokyo"), "timestamp[ns, Asia/Tokyo]"),
        ("localtimestamp", pl.Datetime, "timestamp[us]"),
        ("current_date", "M8[D]", "date32"),
        ("current_date", "M8[s]", "timestamp[s]"),
        ("time '12:00'", "m8[s]", "duration[s]"),
        ("time '12:00'", pa.time32("s"), "time32[s]"),
        ("1.5", pa.decimal128(10, 2), "decimal128(10, 2)"),
        ("1.5", pl.Decimal(10, 2), "decimal128(10, 2)"),
        ("'00000000-0000-0000-0000-000000000000'::uuid", "V16", "fixed_size_binary[16]"),
        ("'00000000-0000-0000-0000-000000000000'::uuid", pa.uuid(), "fixed_size_binary[16]"),
    ],
)
def test_spellings(link: Connection, sql: str, asked: Any, arrow_type: str) -> None:
    columns = link.fetch_columns(f"SELECT {sql} AS v", schema={"v": asked})
    assert columns.fields[0].arrow_type == arrow_type
    assert columns.to_arrow().num_rows == columns.to_polars().height == len(columns.to_pandas())


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ("O", "leave the column out"),
        (np.dtype("O"), "leave the column out"),
        (">i8", "little-endian"),
        (np.dtype("U0"), "the width is missing"),
        (np.dtype("c16"), "no column can have this type"),
        (np.dtype(("i4", (2,))), "one value per row"),
        ("M8[h]", "the units of columns"),
        (pl.List(pl.Int64), "no column can have this type"),
        (3, "a name, or a type of NumPy"),
        (pa.list_(pa.int64()), "which is none of bool"),
        ("i1", "which is none of bool"),
    ],
)
def test_types_that_no_column_becomes(link: Connection, asked: Any, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason) as refused:
        link.fetch_columns("SELECT 1 AS v", schema={"v": asked})
    assert 'schema["v"]' in str(refused.value)


@pytest.mark.parametrize(
    ("sql", "asked", "arrow_type"),
    [
        ("1::int4", "Int64", "int64"),
        ("1::int4", pd.Int64Dtype(), "int64"),
        ("1::int4", "UInt32", "uint32"),
        ("1::numeric", "Float64", "float64"),
        ("1::numeric", pd.Float64Dtype(), "float64"),
        ("true", "boolean", "bool"),
        ("true", pd.BooleanDtype(), "bool"),
        ("1", pd.StringDtype(), "utf8"),
        ("'a'", pd.CategoricalDtype(), "dictionary<values=utf8, indices=int32, ordered=0>"),
        ("'a'", "LargeUtf8", "large_utf8"),
    ],
)
def test_words_of_pandas(link: Connection, sql: str, asked: Any, arrow_type: str) -> None:
    columns = link.fetch_columns(f"SELECT {sql} AS v", schema={"v": asked})
    assert columns.fields[0].arrow_type == arrow_type


def test_errors_name_words_that_can_be_written(link: Connection) -> None:
    with pytest.raises(SchemaError, match=r'names of pandas.*as "Int64", "string", "category"'):
        link.fetch_columns("SELECT 1 AS v", schema={"v": "number"})
    with pytest.raises(
        SchemaError, match='"float32", Arrow\'s "float", has 32 bits: write "float64"'
    ):
        link.fetch_columns("SELECT 1 AS v", schema={"v": "float"})


def test_a_whole_schema(link: Connection) -> None:
    sql = (
        "SELECT g AS id, 'é' || g AS name, g * 1.5 AS price, now() AS seen"
        " FROM generate_series(1, 3) g"
    )
    row = np.dtype([("name", "U4"), ("id", ">i8"), ("price", "O")], align=True)
    columns = link.fetch_columns(sql, schema=row)
    assert [field.arrow_type for field in columns.fields][:2] == ["int64", "U4"]
    array = columns[1:].to_structured()
    assert array.dtype == row
    assert array["name"].tolist() == ["é2", "é3"]
    with link.iter_columns(sql, schema=row, batch_rows=2) as stream:
        assert [batch.to_structured().dtype for batch in stream] == [row, row]

    schema = pa.schema({"id": pa.int64(), "seen": pa.timestamp("ns", "UTC"), "price": pa.float64()})
    again = link.fetch_columns(sql, schema=schema)
    assert again.to_arrow().select(schema.names).schema.types == schema.types
    assert (
        again.to_arrow().schema
        == link.fetch_columns(sql, schema=again.to_arrow().schema).to_arrow().schema
    )
    for wrong in (np.dtype("i4"), [("id", "i8")], "int64"):
        with pytest.raises(InterfaceTypeError, match="schema cannot be"):
            link.fetch_columns(sql, schema=wrong)
    with pytest.raises(SchemaError, match='names column "nobody"'):
        link.fetch_columns(sql, schema=np.dtype([("nobody", "i8")]))


def test_cells(link: Connection) -> None:
    sql = "SELECT v FROM (VALUES ('日本語'), (NULL), ('')) x(v)"
    columns = link.fetch_columns(sql, schema={"v": "U3"})
    array = columns["v"]
    assert array.dtype == np.dtype("U3")
    assert isinstance(array, np.ma.MaskedArray)
    assert array.mask.tolist() == [False, True, False]
    assert list(map(str, array.data)) == ["日本語", "", ""]
    assert np.shares_memory(array.data, np.ma.getdata(columns["v"]))
    wanted = ["日本語", None, ""]
    assert columns.to_pydict()["v"] == columns.to_arrow()["v"].to_pylist() == wanted
    assert columns.to_polars()["v"].to_list() == pl.DataFrame(columns)["v"].to_list() == wanted
    assert columns.to_pandas()["v"].isna().tolist() == [False, True, False]
    assert columns.to_pandas()["v"][0] == "日本語"
    assert "日本語" in repr(columns)
    assert columns[2:]["v"].tolist() == [""]
    with pytest.raises(DecodeError, match=r'3 characters, a cell of U2 has 2; pass .*"U3"') as long:
        link.fetch_columns(sql, schema={"v": "U2"})
    assert (long.value.column, long.value.row) == ("v", 0)
    with pytest.raises(DecodeError, match="cells of bytes take only ASCII"):
        link.fetch_columns(sql, schema={"v": "S30"})
    binary = link.fetch_columns(r"SELECT '\x0061'::bytea AS v", schema={"v": "S4"})
    assert binary["v"].tolist() == binary.to_pydict()["v"] == binary.to_arrow()["v"].to_pylist()
    assert binary["v"].tolist() == [b"\0a"]
    assert binary.to_pandas()["v"].tolist() == [b"\0a"]


def test_dictionaries(link: Connection) -> None:
    sql = "SELECT v FROM (VALUES ('b'), (NULL), ('a'), ('b')) x(v)"
    columns = link.fetch_columns(sql, schema={"v": "dictionary"})
    wanted = ["b", None, "a", "b"]
    assert columns.to_pydict()["v"] == columns["v"].tolist() == wanted
    assert columns.to_arrow()["v"].type == pa.dictionary(pa.int32(), pa.string())
    assert columns.to_arrow()["v"].chunk(0).dictionary.to_pylist() == ["b", "a"]
    assert columns.to_polars()["v"].dtype == pl.Categorical
    assert columns.to_polars()["v"].to_list() == wanted
    series = columns.to_pandas()["v"]
    assert str(series.dtype) == "category"
    assert series.cat.categories.tolist() == ["b", "a"]
    assert series.isna().tolist() == [False, True, False, False]
    assert columns.to_structured([("v", "U1")], null={"v": ""})["v"].tolist() == ["b", "", "a", "b"]
    assert "NULL" in repr(columns)


def test_moments(link: Connection) -> None:
    sql = (
        "SELECT timestamptz '2024-02-29 12:00:01+00' AS s, time '01:00' AS t,"
        " date '2024-02-29' AS d"
    )
    schema = {"s": "timestamp[s, Europe/Berlin]", "t": "time32[s]", "d": "M8[s]"}
    columns = link.fetch_columns(sql, schema=schema)
    moment = datetime(2024, 2, 29, 12, 0, 1, tzinfo=UTC)
    assert columns["s"][0] == np.datetime64("2024-02-29T12:00:01")
    assert columns["t"][0] == np.timedelta64(3600, "s")
    assert columns["d"].dtype == np.dtype("M8[s]")
    assert columns.to_pydict()["s"] == [moment]
    assert columns.to_pydict()["d"] == [datetime(2024, 2, 29)]
    frame = columns.to_pandas()
    assert str(frame["s"].dtype) == "datetime64[s, Europe/Berlin]"
    assert frame["s"][0] == moment
    assert str(frame["t"].dtype) == "timedelta64[s]"
    assert columns.to_polars()["s"][0] == moment
    assert "2024-02-29 12:00:01+00" in repr(columns)
    length = link.fetch_columns("SELECT time '24:00' AS t", schema={"t": "m8[ms]"})
    assert length.to_pydict()["t"] == [timedelta(days=1)]
    assert length["t"][0] == np.timedelta64(1, "D")
    day = link.fetch_columns("SELECT timestamp '2024-02-29' AS d", schema={"d": "datetime64[D]"})
    assert day.to_pydict()["d"] == [date(2024, 2, 29)]
    with pytest.raises(DecodeError, match=r"fraction that timestamp\[s\] cannot hold; pass"):
        link.fetch_columns("SELECT timestamp '2024-02-29 00:00:00.5' AS d", schema={"d": "M8[s]"})
