"""The kinds of sources, and the choice among them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from colonnade._core import ArrowSource
from colonnade._driver.sources.arrays import ArraysPiece
from colonnade._driver.sources.column_values import values_of
from colonnade._driver.sources.numpy import numpy_values
from colonnade._driver.sources.own import BatchPiece
from colonnade._driver.sources.piece import ArrowPiece, Piece
from colonnade._words.shown import class_name
from colonnade.columns import Columns

_KINDS = (
    "Columns, an object with __arrow_c_stream__ or __arrow_c_array__ (pyarrow, Polars, DuckDB), "
    "a pandas frame, a mapping of column names to arrays, a structured array of NumPy, or an "
    "(async) iterable of them"
)

# Objects with Arrow's protocols that are not tables.
_ALONE = (
    ("pandas", "Series"),
    ("polars", "Series"),
    ("pyarrow", "Array"),
    ("pyarrow", "ChunkedArray"),
)

# Objects that pyarrow can check by the sizes of their buffers.
_TABLES = ("Table", "RecordBatch", "RecordBatchReader", "StructArray")


def piece(source: Any) -> Piece:
    """The rows of an object that is one source, not many."""
    found = _piece(source)
    if found is None:
        msg = f"source must be {_KINDS}, not {class_name(source)}"
        raise TypeError(msg)
    return found


def pieces(source: Any) -> Iterator[Piece]:
    """The rows of a source, or of each one in an iterable of sources."""
    found = _piece(source)
    if found is not None:
        yield found
    elif isinstance(source, Iterable) and not isinstance(source, str | bytes | bytearray):
        yield from map(piece, source)
    else:
        piece(source)


def _piece(source: Any) -> Piece | None:
    if isinstance(source, Columns):
        return BatchPiece(source._batch)  # noqa: SLF001 - its memory is copied
    if _is_of(source, "pandas", "DataFrame"):
        from colonnade._driver.sources.pandas import frame_columns

        return ArraysPiece(frame_columns(source))
    if _is_of(source, "polars", "LazyFrame"):
        msg = "a LazyFrame has no rows yet: pass frame.collect()"
        raise TypeError(msg)
    for module, name in _ALONE:
        # An array of structs is a batch of the structs' fields.
        if _is_of(source, module, name) and not _is_of(source, "pyarrow", "StructArray"):
            msg = f'a {name} is a single column: pass a mapping, as {{"name": {name.lower()}}}'
            raise TypeError(msg)
    if _is_of(source, "polars", "DataFrame"):
        from colonnade._driver.sources.polars import importable

        source = importable(source)
    if any(_is_of(source, "pyarrow", name) for name in _TABLES):
        from colonnade._driver.sources.pyarrow import PyarrowPiece

        return PyarrowPiece(source)
    if hasattr(source, "__arrow_c_stream__"):
        return ArrowPiece(ArrowSource.from_stream(source.__arrow_c_stream__()))
    if hasattr(source, "__arrow_c_array__"):
        return ArrowPiece(ArrowSource.from_batch(*source.__arrow_c_array__()))
    if isinstance(source, Mapping):
        columns = {str(name): values_of(str(name), value) for name, value in source.items()}
        return ArraysPiece(columns)
    if _is_of(source, "numpy", "ndarray") and source.dtype.names is not None:
        fields = source.dtype.names
        return ArraysPiece({name: numpy_values(name, source[name]) for name in fields})
    return None


def _is_of(source: Any, module: str, name: str) -> bool:
    """Whether an object is of a library's class; False if the library is not imported."""
    library = sys.modules.get(module)
    return library is not None and isinstance(source, getattr(library, name, ()))
