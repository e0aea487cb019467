"""Partitions as a Dask DataFrame.

    import colonnade.parallel.dask

    frame = colonnade.parallel.dask.read("flights", dsn, parts=16)
    frame.groupby("carrier").distance.mean().compute()

Each partition is read by the worker that needs it, over a connection of its own, and only the
columns that the computation uses.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Unpack

from colonnade._columns.conversion.pandas import PandasFrames
from colonnade._words.signatures import options_of
from colonnade.parallel.plan_request import Request, check_request, plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from colonnade.columns import Decimals, Dtypes
    from colonnade.parallel.partition import Partition
    from colonnade.parallel.plan_request import Options
    from colonnade.parallel.snapshot_plan import Partitions

__all__ = ["from_plan", "read"]


@options_of(Request)
def read(
    table_or_query: str,
    dsn: str,
    *,
    parts: int,
    dtypes: Dtypes = "nullable",
    decimals: Decimals | None = None,
    **options: Unpack[Options],
) -> Any:
    """A `dask.dataframe.DataFrame` over a table or query, of `parts` partitions or fewer.

    Workers connect to `dsn`, which they receive with any password in it. This process keeps the
    snapshot while it has the frame, or one computed from it; without the snapshot, workers raise
    InterfaceError. A Dask client may keep frames until it is closed; with `from_plan` the caller
    closes the plan. `dtypes` is the family of pandas types as in `Columns.to_pandas`, "nullable" or
    "arrow": with "numpy" a column of integers has another type in partitions with NULLs than in
    those without. `decimals` is the type for numeric, as in `Columns.to_pandas`: float64 by
    default. A partition with a value that float64 cannot hold causes a warning in the worker that
    reads it, unless `decimals` is "float64". The other parameters are those of
    `colonnade.parallel.plan`.

    Raises ImportError without Dask.
    """
    check_request(read, options)
    made = plan(table_or_query, dsn, parts=parts, **options)
    return from_plan(made, dtypes=dtypes, decimals=decimals)


def from_plan(
    made: Partitions, *, dtypes: Dtypes = "nullable", decimals: Decimals | None = None
) -> Any:
    """A `dask.dataframe.DataFrame` over the partitions of a plan, like that of `read`.

    It can be computed until the owner of the plan closes it.
    """
    frames: Any = importlib.import_module("dask.dataframe")
    meta = made.empty.to_pandas(dtypes, decimals=decimals)
    return frames.from_map(_Reader(made, dtypes, decimals), list(made), meta=meta)


class _Reader:
    """Reads a partition in a worker. In the process that created it, it keeps the snapshot."""

    def __init__(self, kept: Partitions | None, dtypes: Dtypes, decimals: Decimals | None) -> None:
        self._kept = kept
        self._dtypes: Dtypes = dtypes
        self._decimals: Decimals | None = decimals

    def __call__(self, partition: Partition, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """The partition's rows, of these columns or of all."""
        if columns is not None:
            partition = partition.select(columns)
        frames = PandasFrames(self._dtypes, None, self._decimals)
        source, schema = partition.source, frames.asked(partition.asked_schema)
        with source.connect() as connection, source.within(connection):
            read = connection.fetch_columns(
                partition.sql, *source.args, schema=schema, infinity=source.infinity
            )
        return read._to_pandas(frames)  # noqa: SLF001 - they know which values are inexact

    def __reduce__(self) -> tuple[Any, ...]:
        """Without the plan, which exists only in this process."""
        return _Reader, (None, self._dtypes, self._decimals)

    def __dask_tokenize__(self) -> tuple[str, str, str | None, int]:
        """Each read is distinct: an earlier one saw the database at another moment."""
        return type(self).__name__, self._dtypes, self._decimals, id(self._kept)
