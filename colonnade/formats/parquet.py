"""Parquet, written and read with pyarrow."""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from colonnade.formats.arrow import rows_fitting, table_of
from colonnade.formats.format import Opened, UnsuitableFormatError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from pathlib import Path

    from colonnade import Attribute, Columns
    from colonnade.formats.format import Settings, Sink

#: The size of a row group before compression. A reader holds a whole group in memory.
_GROUP_BYTES = 64 << 20
_GROUP_ROWS_MAX = 1 << 20
#: A file of a limited size has at least this many groups, so that it ends close to the limit.
_GROUPS_MIN = 8
#: The rows of each batch when reading.
_BATCH_ROWS = 65_536

#: A response is compressed by default, like a file.
_STREAM_CODEC = "zstd"
#: The most bytes of one piece: a web server's loop copies it at once.
_PIECE_BYTES = 256 << 10


class ParquetEncoding:
    """Encodes a result as row groups."""

    def __init__(self, attributes: Sequence[Attribute], settings: Settings) -> None:
        del attributes
        self._settings = settings

    def unit(self, batch: Columns) -> Columns:
        """Return the batch itself."""
        return batch

    def writer(self, sink: Sink, first: Columns) -> ParquetWriter:
        """Return the writer of one file, which has the schema of its first batch."""
        return ParquetWriter(sink, first, self._settings.codec, self._settings.file_bytes)


class ParquetWriter:
    """Collects batches and writes them as row groups."""

    def __init__(
        self, sink: Sink, first: Columns, codec: str, bytes_max: int | None = None
    ) -> None:
        self._pa = importlib.import_module("pyarrow")
        parquet = importlib.import_module("pyarrow.parquet")
        schema = table_of(first).schema
        self._check(schema)
        self._sink = sink
        self._group_bytes = min(_GROUP_BYTES, (bytes_max or _GROUP_BYTES * 8) // _GROUPS_MIN)
        try:
            self._writer = parquet.ParquetWriter(sink, schema, compression=codec)
        except self._pa.ArrowNotImplementedError as error:
            raise UnsuitableFormatError(f"Parquet cannot hold this table: {error}") from None
        self._waiting: list[Any] = []
        self._waiting_rows = 0
        self._waiting_bytes = 0
        self._raw_bytes = 0

    def write(self, unit: Columns) -> None:
        """Collect the rows, and write a row group once there are enough."""
        self._waiting.append(table_of(unit))
        self._waiting_rows += len(unit)
        self._waiting_bytes += unit.nbytes
        if self._waiting_bytes >= self._group_bytes or self._waiting_rows >= _GROUP_ROWS_MAX:
            self._write_group()

    def fitting(self, unit: Columns, bytes_max: int) -> int:
        """Return how many of these rows fit before the file has about `bytes_max` bytes."""
        ratio = self._sink.tell() / self._raw_bytes if self._raw_bytes else 1.0
        used = self._sink.tell() + int(self._waiting_bytes * ratio)
        return rows_fitting(unit, bytes_max - used, ratio)

    def finish(self) -> None:
        """Write the last group and the footer."""
        self._write_group()
        self._writer.close()

    def _write_group(self) -> None:
        if not self._waiting:
            return
        group = self._pa.concat_tables(self._waiting)
        self._waiting.clear()
        self._raw_bytes += self._waiting_bytes
        self._waiting_bytes = self._waiting_rows = 0
        self._writer.write_table(group, row_group_size=max(group.num_rows, 1))

    def _check(self, schema: Any) -> None:
        for field in schema:
            if "month_day_nano_interval" in str(field.type):
                name = field.name
                raise UnsuitableFormatError(
                    f'Parquet has no type for the intervals of the column "{name}"',
                    hint=f'ask for their text with schema={{"{name}": "utf8"}}, or for durations '
                    f'with schema={{"{name}": "duration[us]"}}',
                )


class ParquetStream:
    """Encodes a result as a file that is sent row group by row group."""

    def __init__(self) -> None:
        self._sink = _Pending()
        self._writer: ParquetWriter | None = None

    def encode(self, batch: Columns) -> Iterator[bytes]:
        """Return the bytes of the row group that the batch completes, if any."""
        if self._writer is None:
            self._writer = ParquetWriter(self._sink, batch, _STREAM_CODEC)
        self._writer.write(batch)
        return self._sink.taken()

    def finish(self) -> Iterator[bytes]:
        """Return the last row group and the footer, without which no reader opens the file."""
        if self._writer is not None:
            self._writer.finish()
        return self._sink.taken()

    def spoil(self) -> bytes:
        """Return nothing: the footer is missing."""
        return b""


class _Pending:
    """A file in memory, whose bytes are taken away."""

    closed = False

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def write(self, data: Any) -> int:
        """Append bytes."""
        piece = bytes(data)
        self._pieces.append(piece)
        self._size += len(piece)
        return len(piece)

    def tell(self) -> int:
        """Return the number of bytes written so far."""
        return self._size

    def flush(self) -> None:
        """Do nothing: there is no buffer."""

    def taken(self) -> Iterator[bytes]:
        """Return the bytes written since the last call, in pieces of limited size."""
        pieces, self._pieces = self._pieces, []
        joined = b"".join(pieces)
        return (joined[at : at + _PIECE_BYTES] for at in range(0, len(joined), _PIECE_BYTES))


@contextmanager
def open_parquet(path: Path) -> Generator[Opened, None, None]:
    """Open a file. Reading goes group by group, because pyarrow would read many groups ahead."""
    with importlib.import_module("pyarrow.parquet").ParquetFile(path) as file:
        yield Opened(file.schema_arrow, _batches(file), file.metadata.num_rows)


def _batches(file: Any) -> Iterator[Any]:
    for group in range(file.metadata.num_row_groups):
        yield from file.iter_batches(batch_size=_BATCH_ROWS, row_groups=[group], use_threads=False)
