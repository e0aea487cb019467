"""Shared memory, shown by addresses, and which arrays are writable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

if TYPE_CHECKING:
    from tests.columns.conftest import Fetch

# Types that NumPy reads without a copy.
FIXED = ["int2", "int4", "int8", "oid", "float4", "float8", "time", "timestamp", "timestamptz"]
_BASES = {"time": "'12:00'::time", "timestamp": "'2024-01-01'::timestamp"}
ROWS = 1000


def fixed_query(type_name: str, *, some_null: bool) -> str:
    base = _BASES.get(type_name)
    if type_name == "timestamptz":
        base = "'2024-01-01 00:00+00'::timestamptz"
    value = f"g::{type_name}" if base is None else f"{base} + g * interval '1 second'"
    if some_null:
        value = f"case when g % 3 <> 0 then {value} end"
    return f"select {value} as v from generate_series(1, {ROWS}) g"


def address(array: Any) -> int:
    return int(np.asarray(array).__array_interface__["data"][0])


every_fixed = pytest.mark.parametrize("type_name", FIXED)
nullness = pytest.mark.parametrize("some_null", [False, True], ids=["full", "some_null"])


@every_fixed
@nullness
def test_arrays_are_views(fetch: Fetch, type_name: str, *, some_null: bool) -> None:
    cols = fetch(fixed_query(type_name, some_null=some_null))
    first, second = cols["v"], cols[0]
    assert np.shares_memory(first, second)
    assert address(first) == address(second) == address(cols.to_numpy()["v"])
    assert not first.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        first[0] = first[1]


@every_fixed
@nullness
def test_slices_are_views(fetch: Fetch, type_name: str, *, some_null: bool) -> None:
    cols = fetch(fixed_query(type_name, some_null=some_null))
    whole, part = cols["v"], cols[100:200]["v"]
    assert address(part) == address(whole) + 100 * whole.itemsize
    assert part.tolist() == whole[100:200].tolist() or type_name.startswith("float")
    assert cols[100:200].null_mask("v").tolist() == cols.null_mask("v")[100:200].tolist()


@every_fixed
@nullness
@pytest.mark.parametrize("dtypes", ["numpy", "nullable"])
def test_pandas_shares(fetch: Fetch, type_name: str, dtypes: Any, *, some_null: bool) -> None:
    cols = fetch(fixed_query(type_name, some_null=some_null))
    frame = cols.to_pandas(dtypes)
    assert address(_stored(frame["v"])) == address(cols["v"])


@every_fixed
def test_pandas_writes_through(fetch: Fetch, type_name: str) -> None:
    cols = fetch(fixed_query(type_name, some_null=False))
    frame = cols.to_pandas()
    frame.iloc[0, 0] = frame.iloc[1, 0]
    seen = cols["v"]
    assert seen[0] == seen[1]
    # Other results of the same query do not change.
    again = fetch(fixed_query(type_name, some_null=False))["v"]
    assert again[0] != again[1]


def _stored(series: Any) -> Any:
    """The NumPy array of a series: plain, of a nullable type, or of instants."""
    array = series.array
    for name in ("_data", "_ndarray"):
        if hasattr(array, name):
            return getattr(array, name)
    return series.to_numpy()


def test_pandas_makes_one_block_per_column(fetch: Fetch) -> None:
    cols = fetch(f"select g::int8 a, g::int8 b, 2 * g::int8 c from generate_series(1, {ROWS}) g")
    frame = cols.to_pandas()
    addresses = [address(frame[name].to_numpy()) for name in "abc"]
    assert addresses == [address(cols[name]) for name in "abc"]
    assert frame["c"].sum() == ROWS * (ROWS + 1)
    assert [address(frame[name].to_numpy()) for name in "abc"] == addresses


@every_fixed
@nullness
def test_pyarrow_and_polars_share(fetch: Fetch, type_name: str, *, some_null: bool) -> None:
    cols = fetch(fixed_query(type_name, some_null=some_null))
    there = address(cols["v"])
    assert _values_address(pa.table(cols)) == there
    assert _values_address(cols[100:].to_arrow()) in {there, there + 100 * cols["v"].itemsize}
    if type_name == "time":
        # Polars counts nanoseconds.
        return
    for frame in (cols.to_polars(), pl.DataFrame(cols)):
        assert _values_address(frame.to_arrow()) == there


def _values_address(table: pa.Table) -> int:
    return int(table.column("v").chunk(0).buffers()[1].address)


def test_text_shares_its_characters(fetch: Fetch) -> None:
    cols = fetch(f"select repeat(g::text, 20) as v from generate_series(1, {ROWS}) g")
    characters = _characters(cols.to_arrow())
    assert _characters(cols.to_arrow("large")) == characters
    assert _characters(cols.to_arrow("view")) == characters
    frame = cols.to_polars()
    newest = pl.CompatLevel.newest()
    assert _characters(frame.to_arrow(compat_level=newest)) == characters
    pandas_text = cols.to_pandas()["v"].array._pa_array
    assert int(pandas_text.chunk(0).buffers()[2].address) == characters


def _characters(table: pa.Table) -> int:
    return int(table.column("v").chunk(0).buffers()[2].address)


@pytest.mark.parametrize("type_name", ["text", "numeric", "bytea", "uuid", "date", "bool"])
def test_arrays_that_are_made_are_the_callers(fetch: Fetch, type_name: str) -> None:
    literals = {"uuid": "gen_random_uuid()", "date": "current_date", "bool": "true"}
    literal = literals.get(type_name, "'1'")
    cols = fetch(f"select {literal}::{type_name} as v")
    array = cols["v"]
    assert array.flags.writeable
    assert not np.shares_memory(array, cols["v"])


def test_memory_outlives_the_columns(fetch: Fetch) -> None:
    array = fetch(f"select g::int8 from generate_series(1, {ROWS}) g")[0]
    frame = fetch(f"select g::int8 from generate_series(1, {ROWS}) g").to_pandas()
    table = fetch(f"select g::text as v from generate_series(1, {ROWS}) g").to_arrow()
    assert array.sum() == frame.iloc[:, 0].sum() == ROWS * (ROWS + 1) // 2
    assert table.column("v")[ROWS - 1].as_py() == str(ROWS)


def test_keys_of_a_dictionary_are_nobodys_to_write_to(fetch: Fetch) -> None:
    """A key out of range would make consumers read beyond the texts."""
    query = "select g::text as v from generate_series(1, 40000) g"
    cols = fetch(query, schema={"v": "dictionary"})
    frame = cols.to_pandas()
    # With more categories than fit into two bytes, pandas uses the keys without a copy.
    assert frame["v"].cat.codes.dtype == np.int32
    frame.loc[0, "v"] = None
    frame.loc[1, "v"] = "40000"
    assert cols.to_arrow()["v"].to_pylist()[:3] == ["1", "2", "3"]
