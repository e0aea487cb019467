"""Polars frames, in a form whose Arrow stream can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


def importable(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with an enum without labels in place of the type Null, at any depth.

    Polars exports Null with a buffer, which violates Arrow's format. An enum without labels has
    NULLs alone, too, and goes into every type. Polars exports Python objects as the bytes of their
    addresses, so they are refused.
    """
    for name, dtype in frame.schema.items():
        if "Object" in _type_words(dtype):
            msg = (
                f'column "{name}" holds Python objects, which Polars cannot export: cast it, or '
                f'pass a mapping with frame["{name}"].to_list()'
            )
            raise TypeError(msg)
    casts: dict[Any, Any] = {
        name: _without_null(dtype)
        for name, dtype in frame.schema.items()
        if "Null" in _type_words(dtype)
    }
    return frame.cast(casts) if casts else frame


def importable_series(name: str, value: Any) -> Any:
    """The series as `importable` makes it; another object as it is."""
    import polars as pl

    return importable(value.to_frame(name)).to_series() if isinstance(value, pl.Series) else value


def _type_words(dtype: Any) -> set[str]:
    """The names of the type and of those within it, but not the names of fields."""
    inner = getattr(dtype, "inner", None)
    parts = (
        [inner] if inner is not None else [field.dtype for field in getattr(dtype, "fields", ())]
    )
    return {type(dtype).__name__}.union(*map(_type_words, parts))


def _without_null(dtype: Any) -> Any:
    import polars as pl

    if isinstance(dtype, pl.Null):
        return pl.Enum([])
    if isinstance(dtype, pl.List):
        return pl.List(_without_null(dtype.inner))
    if isinstance(dtype, pl.Array):
        return pl.Array(_without_null(dtype.inner), dtype.size)
    if isinstance(dtype, pl.Struct):
        return pl.Struct({field.name: _without_null(field.dtype) for field in dtype.fields})
    return dtype
