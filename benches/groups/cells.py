"""The cells of the grid: keys of several kinds, and the sum by them in each library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable

    from colonnade.columns import Columns
    from colonnade.sync import Connection

ROWS = (100, 1_000, 10_000, 100_000, 1_000_000)

_NOISE = "('x' || substr(md5(i::text), 1, 15))::bit(60)::int8"
# Kind of keys -> the columns of its keys; `i` is the number of the row.
KEYS = {
    "int8, 10 groups": f"{_NOISE} % 10 as k",
    "int8, 1,000 groups": f"{_NOISE} % 1000 as k",
    "int8, 1,000 groups in order": "i * 1000 / {rows} as k",
    "int8, all distinct": f"{_NOISE} as k",
    "text, 10 groups": f"'group ' || {_NOISE} % 10 as k",
    "text, 1,000 groups": f"'customer ' || {_NOISE} % 1000 as k",
    "uuid, all distinct": "md5(i::text)::uuid as k",
    "int4 and text, 1,000 groups": f"({_NOISE} % 100)::int4 as k, 'g' || {_NOISE} / 100 % 10 as j",
}
# How the keys of a page's second grid are spread.
SPREADS = {
    "sorted": "i * 1000 / {rows} as k",
    "random": f"{_NOISE} % 1000 as k",
    "skewed": f"(1000 * power(({_NOISE} % 1000000) / 1e6::float8, 4))::int8 as k",
    "all distinct": f"{_NOISE} as k",
}


def table(connection: Connection, keys: str, rows: int) -> Columns:
    """Return the key columns, and v: an int8."""
    return connection.fetch_columns(
        f"select {keys.format(rows=rows)}, i as v from generate_series(0::int8, {rows - 1}) i"
    )


def sums(columns: Columns) -> dict[str, Callable[[], Any]]:
    """Return for each library a function that sums v by the keys, from its own table."""
    keys = [name for name in columns.names if name != "v"]
    arrow = _without_extensions(columns.to_arrow())
    polars = pl.DataFrame(columns).rechunk()
    frame = pd.DataFrame({name: _for_pandas(columns, name) for name in columns.names})
    ways: dict[str, Callable[[], Any]] = {
        "Colonnade": lambda: columns.group_by(*keys).sum("v"),
        "pandas": lambda: _by_pandas(frame, keys),
        "pyarrow": lambda: pa.TableGroupBy(arrow, keys).aggregate([("v", "sum")]),
        "pyarrow, one thread": lambda: pa.TableGroupBy(arrow, keys, use_threads=False).aggregate(
            [("v", "sum")]
        ),
        "Polars": lambda: polars.group_by(keys).agg(pl.col("v").sum()),
    }
    if arrow["k"].type == pa.int64() and len(keys) == 1:
        numbers, values = columns["k"], columns["v"]
        largest = int(numbers.max())
        if largest < max(10_000, 4 * len(columns)):
            ways["NumPy"] = lambda: _by_bincount(numbers, values)
        else:
            ways["NumPy"] = lambda: _by_unique(numbers, values)
    return ways


def _without_extensions(table: pa.Table) -> pa.Table:
    """The table with uuid as its bytes: pyarrow does not group by types of extensions."""
    arrays = [
        array.cast(array.type.storage_type) if hasattr(array.type, "storage_type") else array
        for array in table.columns
    ]
    return pa.table(arrays, names=table.column_names)


def _by_pandas(frame: pd.DataFrame, keys: list[str]) -> Any:
    return frame.groupby(keys, sort=False)["v"].sum()


def _for_pandas(columns: Columns, name: str) -> Any:
    array = columns.to_arrow()[name]
    if pa.types.is_string(array.type):
        return array.to_pandas()
    # pandas has no uuid: its texts would be slower.
    values = columns[name]
    return [value.bytes for value in values] if values.dtype == object else np.array(values)


def _by_bincount(keys: Any, values: Any) -> Any:
    totals = np.bincount(keys, weights=values)
    known = np.flatnonzero(np.bincount(keys))
    return known, totals[known]


def _by_unique(keys: Any, values: Any) -> Any:
    known, inverse = np.unique(keys, return_inverse=True)
    return known, np.bincount(inverse, weights=values)
