"""Columns as a Polars frame."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from colonnade._frames.arrow import StreamSource
from colonnade._frames.kinds import require_unique_names
from colonnade._frames.libraries import needed_by
from colonnade.errors import InterfaceWarning

if TYPE_CHECKING:
    import polars as pl

    from colonnade._core import Batch


def polars_frame(batch: Batch) -> pl.DataFrame:
    """The batch as a frame over the same memory, but for what Polars does not take.

    Decimals of 256 bits, on which it panics, become decimals of 38 digits where every value of the
    column has that few, else text, with a warning. json becomes plain text: Polars would keep it
    as an extension type, without the methods of strings.
    """
    with needed_by("Columns.to_polars()", "polars"):
        import polars as pl
    require_unique_names(batch, "Columns.to_polars()")
    narrow, as_text = batch.narrow_decimals()
    if as_text:
        names = [batch.fields[index].name for index in as_text]
        shown = ", ".join(f'"{name}"' for name in names)
        warnings.warn(
            InterfaceWarning(
                f"given to Polars as text: {shown}",
                detail="Polars' decimals end at 38 digits, and the column has more.",
                hint=f'Choose for yourself with schema={{"{names[0]}": "float64"}}, or "utf8".',
            ),
            stacklevel=3,
        )
    return pl.DataFrame(StreamSource(narrow.without_extension("arrow.json"), "view"))
