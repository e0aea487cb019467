"""`/export` from rows: batches of rows become Arrow's columns by pyarrow, value by value."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

MEDIA_TYPE = "application/vnd.apache.arrow.stream"
#: Rows of a batch: a usual prefetch of a cursor.
BATCH = 5_000
SCHEMA = pa.schema(
    [
        ("month", pa.int32()),
        ("day", pa.int32()),
        ("hour", pa.int32()),
        ("carrier", pa.string()),
        ("flight", pa.int32()),
        ("tailnum", pa.string()),
        ("origin", pa.string()),
        ("dest", pa.string()),
        ("distance", pa.float64()),
        ("arr_delay", pa.float64()),
    ]
)


class Writer:
    """Makes the bytes of a stream out of batches of rows."""

    def __init__(self) -> None:
        self._sink = io.BytesIO()
        self._writer = pa.ipc.new_stream(self._sink, SCHEMA)

    def batch(self, rows: Sequence[Sequence[Any]]) -> bytes:
        """The bytes of some rows."""
        columns = zip(*rows, strict=True)
        arrays = [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)]
        self._writer.write_batch(pa.record_batch(arrays, schema=SCHEMA))
        return self._taken()

    def end(self) -> bytes:
        """The mark that tells a reader that the stream is whole."""
        self._writer.close()
        return self._taken()

    def _taken(self) -> bytes:
        written = self._sink.getvalue()
        self._sink.seek(0)
        self._sink.truncate()
        return written
