"""Columns as a Polars DataFrame."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from colonnade._columns.conversion.arrow import StreamSource
from colonnade._columns.conversion.kinds import require_unique_names
from colonnade._words.extras import needed_by
from colonnade.errors import InterfaceWarning

if TYPE_CHECKING:
    import polars as pl

    from colonnade._core import Batch


def polars_frame(batch: Batch) -> pl.DataFrame:
    """Return the batch as a DataFrame over the same memory, except for types that Polars lacks.

    256-bit decimals, on which Polars panics, become decimals of 38 digits if all values of the
    column fit, else text with a warning. Intervals become durations if none has months, else text
    with a warning. uuid becomes text, because Polars has no such type. json becomes plain text,
    because Polars would make it an extension type without string methods. The same holds within
    lists and structs.
    """
    with needed_by("Columns.to_polars()", "polars"):
        import polars as pl
    require_unique_names(batch, "Columns.to_polars()")
    converted, decimals, intervals = batch.with_plain_types()
    reasons = (
        (decimals, "Polars' decimals have at most 38 digits, and the column has more.", "float64"),
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
                    f"converted to text for Polars: {shown}",
                    detail=detail,
                    hint=f"Choose the type with {choice}{other}.",
                ),
                stacklevel=3,
            )
    try:
        return pl.DataFrame(StreamSource(converted, "view"))
    except pl.exceptions.PanicException as error:
        # For a type that it lacks. `except Exception` would not catch it.
        raise TypeError(f"Polars cannot hold a column of this table: {error}") from None
