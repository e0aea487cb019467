"""Columns as a Polars frame."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from colonnade._conversion.arrow import StreamSource
from colonnade._conversion.kinds import require_unique_names
from colonnade._conversion.libraries import needed_by
from colonnade.errors import InterfaceWarning

if TYPE_CHECKING:
    import polars as pl

    from colonnade._core import Batch


def polars_frame(batch: Batch) -> pl.DataFrame:
    """The batch as a frame over the same memory, but for what Polars does not take.

    Decimals of 256 bits, on which it panics, become decimals of 38 digits where every value of the
    column has that few, else text, with a warning. So do intervals: durations where none has
    months, else text. uuid becomes text: Polars has no such type. json becomes plain text: Polars
    would keep it as an extension type, without the methods of strings. All of this holds within
    lists and structs too.
    """
    with needed_by("Columns.to_polars()", "polars"):
        import polars as pl
    require_unique_names(batch, "Columns.to_polars()")
    converted, decimals, intervals = batch.for_polars()
    reasons = (
        (decimals, "Polars' decimals end at 38 digits, and the column has more.", "float64"),
        (intervals, "Polars' durations have no months, and the column has some.", "utf8"),
    )
    for columns, detail, dtype in reasons:
        if columns:
            names = [batch.fields[index].name for index in columns]
            shown = ", ".join(f'"{name}"' for name in names)
            choice = f'schema={{"{names[0]}": "{dtype}"}}'
            other = ', or "utf8"' if dtype != "utf8" else ""
            warnings.warn(
                InterfaceWarning(
                    f"given to Polars as text: {shown}",
                    detail=detail,
                    hint=f"Choose for yourself with {choice}{other}.",
                ),
                stacklevel=3,
            )
    return pl.DataFrame(StreamSource(converted, "view"))
