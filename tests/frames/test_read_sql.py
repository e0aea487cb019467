"""A query's result as a frame of each library, whole and in batches."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import colonnade
from colonnade import read_sql
from colonnade.errors import DecodeError, InterfaceError, PostgresSyntaxError

if TYPE_CHECKING:
    from colonnade.sync import Connection

QUERY = "SELECT g AS id, g::text AS name FROM generate_series(1, 5) g"


def test_into_each_library(link: Connection) -> None:
    frame = read_sql(QUERY, link)
    assert isinstance(frame, pd.DataFrame)
    assert frame["id"].dtype == "int32"
    assert frame["name"].tolist() == ["1", "2", "3", "4", "5"]
    assert read_sql(QUERY, link, into="polars").equals(pl.DataFrame(link.fetch_columns(QUERY)))
    table = read_sql(QUERY, link, into="arrow")
    assert table.schema == pa.schema({"id": pa.int32(), "name": pa.string()})
    arrays = read_sql(QUERY, link, into="numpy")
    assert list(arrays) == ["id", "name"]
    assert arrays["id"].tolist() == [1, 2, 3, 4, 5]


def test_pandas_options(link: Connection) -> None:
    frame = read_sql(QUERY, link, dtypes="arrow", index_col="id")
    assert frame.index.name == "id"
    assert frame.loc[3, "name"] == "3"
    assert [str(dtype) for dtype in frame.dtypes] == ["large_string[pyarrow]"]
    both = read_sql(QUERY, link, dtypes="nullable", index_col=["id", "name"])
    assert both.index.names == ["id", "name"]
    assert both.shape == (5, 0)
    with pytest.raises(KeyError, match='no column "k" for the index: there are "id", "name"'):
        read_sql(QUERY, link, index_col="k")
    with pytest.raises(KeyError, match="more than one column"):
        read_sql("SELECT 1 AS a, 2 AS a", link, index_col="a")
    with pytest.raises(ValueError, match="names no column"):
        read_sql(QUERY, link, index_col=[])


def test_params(link: Connection) -> None:
    by_number = "SELECT $1::int4 + $2::int4 AS total"
    assert read_sql(by_number, link, params=[1, 2], into="numpy")["total"].tolist() == [3]
    assert read_sql(by_number, link, params=(1, 2), into="numpy")["total"].tolist() == [3]
    by_name = "SELECT :a::int4 + :a::int4 + :b AS total"
    found = read_sql(by_name, link, params={"a": 1, "b": 5}, into="numpy", batch_rows=10)
    assert [arrays["total"].tolist() for arrays in found] == [[7]]
    with pytest.raises(InterfaceError, match="there is no value for :b"):
        read_sql(by_name, link, params={"a": 1})
    with pytest.raises(TypeError, match="params must be a sequence"):
        read_sql(by_number, link, params="12")


@pytest.mark.parametrize("query", ["SELECT %s", "SELECT %(a)s", "SELECT ? + 1 WHERE ?"])
def test_placeholders_of_others_are_explained(link: Connection, query: str) -> None:
    with pytest.raises(PostgresSyntaxError) as caught:
        read_sql(query, link)
    assert any("$1, $2, ..." in note for note in caught.value.__notes__)


def test_schema_and_infinity(link: Connection) -> None:
    query = "SELECT 1.5::numeric AS price, 'infinity'::date AS day"
    with pytest.raises(DecodeError, match="infinity"):
        read_sql(query, link)
    table = read_sql(query, link, schema={"price": "float64"}, infinity="null", into="arrow")
    assert table.to_pylist() == [{"price": 1.5, "day": None}]


def test_a_dsn_is_connected_to_and_closed(dsn: str) -> None:
    frame = read_sql("SELECT pg_backend_pid() AS pid", dsn)
    gone = "SELECT count(*) AS n FROM pg_stat_activity WHERE pid = $1"
    with colonnade.sync.connect(dsn) as other:
        while other.fetchval(gone, int(frame["pid"][0])):
            pass


def test_batches(link: Connection) -> None:
    query = "SELECT g FROM generate_series(1, 10) g"
    frames = list(read_sql(query, link, batch_rows=4))
    assert [len(frame) for frame in frames] == [4, 4, 2]
    assert [frame["g"].iloc[0] for frame in frames] == [1, 5, 9]
    tables = read_sql(query, link, batch_rows=4, into="arrow")
    assert pa.concat_tables(tables).num_rows == 10
    (empty,) = read_sql("SELECT 1::int2 AS a WHERE false", link, batch_rows=4, into="polars")
    assert empty.schema == {"a": pl.Int16}
    with pytest.raises(ValueError, match="1 or more"):
        read_sql(query, link, batch_rows=0)


def test_leaving_a_loop_gives_the_connection_back(link: Connection) -> None:
    for frame in read_sql("SELECT g FROM generate_series(1, 1000000) g", link, batch_rows=10):
        assert len(frame) == 10
        break
    gc.collect()
    assert link.fetchval("SELECT 1") == 1
    frames = read_sql("SELECT 1 / (500 - g) FROM generate_series(1, 1000) g", link, batch_rows=10)
    with pytest.raises(colonnade.errors.DivisionByZeroError):
        list(frames)
    assert link.fetchval("SELECT 1") == 1


def test_refusals(link: Connection) -> None:
    call: Any = read_sql
    with pytest.raises(
        TypeError, match="query must be a str, not Connection; con is the second argument"
    ):
        call(link, QUERY)
    with pytest.raises(ValueError, match='into must be "pandas", "polars"'):
        call(QUERY, link, into="dask")
    with pytest.raises(ValueError, match="polars has no index"):
        call(QUERY, link, into="polars", index_col="id")
    with pytest.raises(ValueError, match="dtypes is for pandas"):
        call(QUERY, link, into="numpy", dtypes="arrow")
    with pytest.raises(ValueError, match="dtypes must be"):
        call(QUERY, link, dtypes="pyarrow")
    with pytest.raises(ValueError, match="several columns are named"):
        read_sql("SELECT 1 AS a, 2 AS a", link, into="numpy")


def test_shares_memory_with_no_copy_of_the_result(link: Connection) -> None:
    frame = read_sql("SELECT g::float8 AS x FROM generate_series(1, 1000) g", link)
    array = frame["x"].to_numpy()
    # The array is a view of the column's memory, which pandas did not copy into a block.
    assert array.base is not None
    assert np.shares_memory(array, frame["x"].to_numpy())
