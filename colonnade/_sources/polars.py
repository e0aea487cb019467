"""Frames of Polars, as their Arrow stream can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


def importable(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with NULLs of type text in place of those without a type, at any depth.

    Polars exports the latter with a buffer, which Arrow's format does not have for them.
    """
    casts: dict[Any, Any] = {
        name: _with_text(dtype) for name, dtype in frame.schema.items() if "Null" in str(dtype)
    }
    return frame.cast(casts) if casts else frame


def _with_text(dtype: Any) -> Any:
    import polars as pl

    if isinstance(dtype, pl.Null):
        return pl.String()
    if isinstance(dtype, pl.List):
        return pl.List(_with_text(dtype.inner))
    if isinstance(dtype, pl.Array):
        return pl.Array(_with_text(dtype.inner), dtype.size)
    if isinstance(dtype, pl.Struct):
        return pl.Struct({field.name: _with_text(field.dtype) for field in dtype.fields})
    return dtype
