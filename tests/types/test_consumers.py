"""Edge values in other libraries: the same counts, bits and texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pytest

from samples import BY_TYPE, COMMON, query
from tests.types import oracle

if TYPE_CHECKING:
    from colonnade.columns import Columns
    from colonnade.sync import Connection

TIMES = ("date", "time", "timestamp", "timestamptz")
# Seconds, because pandas stores dates as datetime64[s].
UNIT = {"date": 86_400}
DECIMALS = [sample.sql_type for sample in COMMON if sample.sql_type.startswith("numeric")]


def fetch(link: Connection, sql_type: str) -> tuple[Columns, list[Any]]:
    texts = [*BY_TYPE[sql_type].in_columns, None]
    columns = link.fetch_columns(query(sql_type), oracle.json_texts(texts))
    return columns, oracle.raw(oracle.arrow_table(columns)["v"])


@pytest.mark.parametrize("sql_type", TIMES)
def test_counts_of_days_and_microseconds(link: Connection, sql_type: str) -> None:
    columns, raw = fetch(link, sql_type)
    array = columns["v"]
    assert np.isnat(array).tolist() == [False] * (len(raw) - 1) + [True]
    assert array.view("i8").tolist()[:-1] == raw[:-1]
    series = columns.to_pandas()["v"]
    scale = UNIT.get(sql_type, 1)
    assert series.isna().sum() == 1
    assert series.to_numpy("i8", na_value=0).tolist()[:-1] == [n * scale for n in raw[:-1]]
    frame = columns.to_polars()
    # Polars counts the time of day in nanoseconds.
    factor = 1000 if sql_type == "time" else 1
    physical = frame["v"].to_physical().to_list()
    assert physical == [None if n is None else n * factor for n in raw]


@pytest.mark.parametrize("sql_type", ["text", "json", "name", '"char"', "char(5)"])
def test_texts(link: Connection, sql_type: str) -> None:
    columns, texts = fetch(link, sql_type)
    assert columns["v"].tolist() == texts
    assert columns.to_polars()["v"].to_list() == texts
    pandas = columns.to_pandas()["v"]
    assert pandas[:-1].tolist() == texts[:-1]
    assert pandas.isna().tolist() == [text is None for text in texts]


@pytest.mark.parametrize("sql_type", ["float4", "float8"])
def test_floats(link: Connection, sql_type: str) -> None:
    columns, bits = fetch(link, sql_type)
    as_bits = oracle.float4_bits if sql_type == "float4" else oracle.float8_bits
    pandas, polars = columns.to_pandas()["v"], columns.to_polars()["v"]
    arrays = [columns["v"], pandas.to_numpy(), polars.to_numpy()]
    for array in arrays:
        assert [as_bits(float(number)) for number in array[:-1]] == bits[:-1]
        assert np.isnan(array[-1])


@pytest.mark.parametrize("sql_type", DECIMALS)
@pytest.mark.filterwarnings("ignore:converted to text for Polars")
def test_decimals(link: Connection, sql_type: str) -> None:
    columns, values = fetch(link, sql_type)
    assert columns["v"].tolist() == values
    assert columns.to_pandas(decimals="decimal")["v"].tolist()[:-1] == values[:-1]
    polars = columns.to_polars()["v"].to_list()
    if isinstance(polars[0], str):
        assert polars == [None if value is None else f"{value:f}" for value in values]
    else:
        assert polars == values


@pytest.mark.parametrize(
    "sql_type", ["bool", "int2", "int4", "int8", "oid", "text", "bytea", "numeric(38,0)"]
)
def test_duckdb(link: Connection, sql_type: str) -> None:
    cols, values = fetch(link, sql_type)
    relation = duckdb.sql("SELECT v FROM cols")
    assert relation is not None
    rows = relation.fetchall()
    assert [row[0] for row in rows] == values
    assert len(cols) == len(rows)
