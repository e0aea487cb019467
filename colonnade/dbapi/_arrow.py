"""Conversion of `Columns` to pyarrow objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import pyarrow as pa

    from colonnade.columns import Columns


def reader_of(columns: Columns) -> pa.RecordBatchReader:
    """Return a reader that yields the columns as one batch."""
    import pyarrow as pa

    return pa.RecordBatchReader.from_stream(columns)


def schema_of(columns: Columns) -> pa.Schema:
    """Return the Arrow schema: the names and types of the columns."""
    import pyarrow as pa

    return cast("pa.Schema", pa.schema(columns))
