"""The table of copies in docs/data/dataframes.md, checked by memory addresses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

if TYPE_CHECKING:
    from colonnade.columns import Columns
    from colonnade.sync import Connection

PAGE = Path(__file__).resolve().parents[2] / "docs" / "data" / "dataframes.md"
VALUES = {
    "int2": "g::int2",
    "int4": "g::int4",
    "int8": "g::int8",
    "float4": "g::float4",
    "float8": "g::float8",
    "timestamp": "timestamp '2024-01-01' + g * interval '1 s'",
    "timestamptz": "timestamptz '2024-01-01' + g * interval '1 s'",
    "bool": "g % 2 = 0",
    "date": "date '2024-01-01' + g::int4",
    "time": "time '12:00'",
    "numeric(12,2)": "g::numeric(12,2)",
    "text": "'longer than twelve bytes ' || g",
    "uuid": "gen_random_uuid()",
    "bytea": "decode(repeat('00', 20), 'hex')",
    "int4[]": "array[g::int4]",
}


def documented() -> list[tuple[str, list[str]]]:
    """The table's statement for each type and consumer."""
    match = re.search(
        r"<!-- memory -->\n\n(.*?)\n\n<!-- end -->", PAGE.read_text("utf-8"), re.DOTALL
    )
    assert match
    lines = [line.strip("| ").split(" | ") for line in match[1].splitlines()[2:]]
    return [(sql_type, words) for types, *words in lines for sql_type in types.split(", ")]


def buffers(array: pa.Array | pa.ChunkedArray) -> set[int]:
    chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
    return {buffer.address for chunk in chunks for buffer in chunk.buffers() if buffer}


def of_pandas(columns: Columns, dtypes: Any) -> set[int]:
    series = columns.to_pandas(dtypes)["v"]
    array: Any = series.array
    if hasattr(array, "__arrow_array__") and hasattr(array, "_pa_array"):
        return buffers(array._pa_array)
    values = getattr(array, "_ndarray", getattr(array, "_data", None))
    values = series.to_numpy() if values is None else values
    return {int(np.asarray(values).__array_interface__["data"][0])}


def consumers(columns: Columns) -> list[set[int]]:
    numpy, nullable = of_pandas(columns, "numpy"), of_pandas(columns, "nullable")
    polars_array = columns.to_polars()["v"].to_arrow(compat_level=pl.CompatLevel.newest())
    both = numpy if numpy & nullable else numpy & nullable
    return [
        both,
        of_pandas(columns, "arrow"),
        buffers(polars_array),
        buffers(pa.table(columns)["v"]),
    ]


def test_every_type_of_the_table_has_a_sample() -> None:
    assert [sql_type for sql_type, _ in documented()] == list(VALUES)


@pytest.mark.parametrize(("sql_type", "words"), documented())
def test_what_the_table_says(link: Connection, sql_type: str, words: list[str]) -> None:
    columns = link.fetch_columns(f"SELECT {VALUES[sql_type]} AS v FROM generate_series(1, 1000) g")
    own = buffers(columns.to_arrow()["v"])
    found = [bool(own & addresses) for addresses in consumers(columns)]
    assert found == ["shared" in word for word in words]
