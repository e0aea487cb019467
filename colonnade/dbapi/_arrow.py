"""What pyarrow makes of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import pyarrow as pa

    from colonnade.columns import Columns


def reader_of(columns: Columns) -> pa.RecordBatchReader:
    """A reader over one batch."""
    import pyarrow as pa

    return pa.RecordBatchReader.from_stream(columns)


def schema_of(columns: Columns) -> pa.Schema:
    """Names and types."""
    import pyarrow as pa

    return cast("pa.Schema", pa.schema(columns))
