"""Arrow's IPC stream and file formats, written and read with pyarrow."""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from colonnade.formats.format import Opened

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from pathlib import Path

    from colonnade import Attribute, Columns
    from colonnade.formats.format import Settings, Sink

_STREAM_MARK = b"\xff\xff\xff\xff"


class StreamEncoding:
    """Encodes a result as an IPC stream."""

    #: The function of `pyarrow.ipc` that makes the writer.
    _make: ClassVar[str] = "new_stream"

    def __init__(self, attributes: Sequence[Attribute], settings: Settings) -> None:
        del attributes
        self._codec = settings.codec

    def unit(self, batch: Columns) -> Columns:
        """Return the batch itself."""
        return batch

    def writer(self, sink: Sink, first: Columns) -> ArrowWriter:
        """Return the writer of one file, which has the schema of its first batch."""
        return ArrowWriter(sink, first, self._make, self._codec)


class FileEncoding(StreamEncoding):
    """Encodes a result as an IPC file, whose batches a reader can access in any order."""

    _make = "new_file"


class ArrowWriter:
    """Writes batches in Arrow's IPC format."""

    def __init__(self, sink: Sink, first: Columns, make: str, codec: str) -> None:
        ipc = importlib.import_module("pyarrow.ipc")
        self._sink = sink
        options = ipc.IpcWriteOptions(
            compression=None if codec == "none" else codec, emit_dictionary_deltas=True
        )
        self._writer = getattr(ipc, make)(sink, table_of(first).schema, options=options)
        self._raw_bytes = 0

    def write(self, unit: Columns) -> None:
        """Write the batch."""
        self._writer.write_table(table_of(unit))
        self._raw_bytes += unit.nbytes

    def fitting(self, unit: Columns, bytes_max: int) -> int:
        """Return how many of these rows fit before the file has about `bytes_max` bytes."""
        ratio = self._sink.tell() / self._raw_bytes if self._raw_bytes else 1.0
        return rows_fitting(unit, bytes_max - self._sink.tell(), ratio)

    def finish(self) -> None:
        """Write the end-of-stream marker, or the file's footer."""
        self._writer.close()


@contextmanager
def open_arrow(path: Path) -> Generator[Opened, None, None]:
    """Open a file of either IPC format. Its content decides, because endings are often mixed up."""
    pa = importlib.import_module("pyarrow")
    with path.open("rb") as file:
        is_stream = file.read(len(_STREAM_MARK)) == _STREAM_MARK
    # Not memory-mapped: the file must not change, or shrink, after its bytes were validated.
    with pa.OSFile(str(path)) as source:
        if is_stream:
            reader = pa.ipc.open_stream(source)
            yield Opened(reader.schema, iter(reader), None)
        else:
            reader = pa.ipc.open_file(source)
            batches = map(reader.get_batch, range(reader.num_record_batches))
            yield Opened(reader.schema, batches, None)


def table_of(columns: Columns) -> Any:
    """Return a pyarrow table over the same memory. `pyarrow.table` would import pandas."""
    reader = importlib.import_module("pyarrow").RecordBatchReader
    return reader.from_stream(columns).read_all()


def rows_fitting(unit: Columns, bytes_left: int, ratio: float) -> int:
    """Estimate how many rows fit into `bytes_left`, assuming that all rows have the same size."""
    size = unit.nbytes * ratio
    if size <= bytes_left or not size:
        return len(unit)
    return max(int(len(unit) * bytes_left / size), 0)
