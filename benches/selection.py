"""Compares choosing rows with pandas, Polars, pyarrow, NumPy: `python -m benches.selection`.

The same rows are in all libraries' own forms before, and the results stay in them. The ways take
turns, so that other load affects all of them, and the fastest of many calls counts.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa

from colonnade import embedded, sync

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

_QUERY = """
SELECT g::int8 AS id, g / 3.0::float8 AS ratio, 'name ' || g % 5000 AS name, g % 7 = 0 AS flag,
    timestamptz '2020-01-01' + g * interval '1 s' AS seen
FROM generate_series(1, {rows}) AS g
"""
_SECONDS_EACH = 0.2

Calls = dict[str, "Callable[[], Any]"]


def main(words: Sequence[str] | None = None) -> None:
    """Measure, and print microseconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=[100, 10_000, 1_000_000])
    parser.add_argument("--seconds", type=float, default=_SECONDS_EACH)
    arguments = parser.parse_args(words)
    with embedded.start() as server, sync.connect(server.dsn) as connection:
        for rows in arguments.rows:
            columns = connection.fetch_columns(_QUERY.format(rows=rows))
            random = np.random.default_rng(7)
            mask = random.random(rows) < 1 / 3
            order = random.permutation(rows)[: max(rows // 3, 1)]
            for name, calls in (
                ("filter", _filters(columns, mask)),
                ("take", _takes(columns, order)),
            ):
                best = _best(calls, arguments.seconds)
                ours = best["colonnade"]
                line = ", ".join(
                    f"{way} {seconds * 1e6:,.1f} us ({seconds / ours:.1f})"
                    for way, seconds in best.items()
                )
                print(f"{name} of {rows:,} rows x 5: {line}")


def _filters(columns: Any, mask: Any) -> Calls:
    frame, table, polars, arrays = _forms(columns)
    arrow, series = pa.array(mask), pl.Series(mask)
    return {
        "colonnade": lambda: columns.filter(mask),
        "colonnade, mask of Arrow": lambda: columns.filter(arrow),
        "pandas": lambda: frame[mask],
        "polars": lambda: polars.filter(series),
        "pyarrow": lambda: table.filter(arrow),
        "numpy": lambda: {name: array[mask] for name, array in arrays.items()},
    }


def _takes(columns: Any, order: Any) -> Calls:
    frame, table, polars, arrays = _forms(columns)
    arrow = pa.array(order)
    return {
        "colonnade": lambda: columns.take(order),
        "pandas": lambda: frame.iloc[order],
        "polars": lambda: polars[order],
        "pyarrow": lambda: table.take(arrow),
        "numpy": lambda: {name: array[order] for name, array in arrays.items()},
    }


def _forms(columns: Any) -> tuple[pd.DataFrame, pa.Table, pl.DataFrame, dict[str, Any]]:
    return columns.to_pandas(), columns.to_arrow(), columns.to_polars(), columns.to_numpy()


def _best(calls: Calls, seconds: float) -> dict[str, float]:
    best = dict.fromkeys(calls, float("inf"))
    until = time.perf_counter() + seconds * len(calls)
    while True:
        for way, call in calls.items():
            started = time.perf_counter()
            call()
            best[way] = min(best[way], time.perf_counter() - started)
        if time.perf_counter() > until:
            return best


if __name__ == "__main__":
    main()
