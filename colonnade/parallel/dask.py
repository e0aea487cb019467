"""Partitions as a Dask DataFrame.

    import colonnade.parallel.dask

    frame = colonnade.parallel.dask.read("flights", dsn, parts=16)
    frame.groupby("carrier").distance.mean().compute()

Each partition is read by the worker that needs it, over a connection of its own, and only the
columns that the computation uses.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from colonnade._conversion.pandas import PandasFrames
from colonnade.parallel.planning import plan

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from colonnade.columns import Decimals, Dtypes
    from colonnade.parallel.cuts import Cuts
    from colonnade.parallel.partition import Partition
    from colonnade.parallel.planning import Snapshot
    from colonnade.parallel.plans import Plan
    from colonnade.types import Infinity

__all__ = ["from_plan", "read"]


def read(
    table_or_query: str,
    dsn: str,
    *,
    parts: int,
    partition_by: str | None = None,
    cuts: Cuts = "quantile",
    args: Sequence[object] = (),
    snapshot: Snapshot = "export",
    schema: Any = None,
    infinity: Infinity = "raise",
    dtypes: Dtypes = "nullable",
    decimals: Decimals | None = None,
    connect_options: Mapping[str, Any] | None = None,
) -> Any:
    """A `dask.dataframe.DataFrame` over a table or query, of `parts` partitions or fewer.

    Workers connect to `dsn`, which travels to them with the password that it holds. The snapshot is
    kept by this process for as long as it has the frame, or one that was made of it: where it is
    gone, workers raise InterfaceError. A client of Dask may hold on to frames until it is closed;
    `from_plan` leaves the end to the caller. `dtypes` is the family of pandas' types as in
    `Columns.to_pandas`, "nullable" or "arrow": with "numpy" a column of integers has another type
    in partitions with NULLs than in those without. `decimals` is what numeric becomes, as there:
    float64 by default, and each partition that has a value which it does not hold warns where it is
    read, unless `decimals` is "float64". The other parameters are those of
    `colonnade.parallel.plan`.

    Raises ImportError without Dask.
    """
    made = plan(
        table_or_query,
        dsn,
        parts=parts,
        partition_by=partition_by,
        cuts=cuts,
        args=args,
        snapshot=snapshot,
        schema=schema,
        infinity=infinity,
        connect_options=connect_options,
    )
    return from_plan(made, dtypes=dtypes, decimals=decimals)


def from_plan(made: Plan, *, dtypes: Dtypes = "nullable", decimals: Decimals | None = None) -> Any:
    """A `dask.dataframe.DataFrame` over the partitions of a plan, as `read` makes one.

    It can be computed until the plan is closed, which is its owner's to do.
    """
    frames: Any = importlib.import_module("dask.dataframe")
    meta = made.empty.to_pandas(dtypes, decimals=decimals)
    return frames.from_map(_Reader(made, dtypes, decimals), list(made), meta=meta)


class _Reader:
    """Reads a partition in a worker. In the process that made it, it keeps the snapshot."""

    def __init__(self, kept: Plan | None, dtypes: Dtypes, decimals: Decimals | None) -> None:
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
        return read._to_pandas(frames)  # noqa: SLF001 - they know what is not exact

    def __reduce__(self) -> tuple[Any, ...]:
        """Without the plan, which is here and nowhere else."""
        return _Reader, (None, self._dtypes, self._decimals)

    def __dask_tokenize__(self) -> tuple[str, str, str | None, int]:
        """Each reading is its own: what was read before has seen another moment."""
        return type(self).__name__, self._dtypes, self._decimals, id(self._kept)
