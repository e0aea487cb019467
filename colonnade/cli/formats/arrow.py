"""Arrow's own formats, and Parquet; both need pyarrow."""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

from colonnade.cli.failures import CommandError, missing_library
from colonnade.cli.formats import Format

if TYPE_CHECKING:
    from colonnade import Columns
    from colonnade.cli.outlet import OutputFile

#: Values of a row group before they are compressed; a group is what a reader has in memory.
_GROUP_BYTES = 64 << 20
_GROUP_ROWS_MAX = 1 << 20
#: In a file of a limited size there are at least so many groups, so that the limit is kept closely.
_GROUPS_MIN = 8
_CODECS = {
    Format.PARQUET: ("zstd", "snappy", "gzip", "brotli", "lz4", "none"),
    Format.ARROW: ("none", "zstd", "lz4"),
    Format.FEATHER: ("none", "zstd", "lz4"),
}


def require_pyarrow(purpose: str) -> None:
    """Load it, or fail, before anything is asked of the server."""
    if importlib.util.find_spec("pyarrow") is None:
        raise missing_library("pyarrow", "cli,pyarrow", purpose)
    importlib.import_module("pyarrow")


def checked_codec(form: Format, codec: str | None) -> str:
    """The name of a compression that the format has; its usual one where none is asked for."""
    known = _CODECS.get(form, ("none",))
    if codec is None:
        return known[0]
    if codec not in known:
        raise CommandError(f"{form} has no compression {codec!r}; it has {', '.join(known)}")
    return codec


class ArrowWriter:
    """Writes batches as record batches of the IPC format, as a stream or as a file."""

    def __init__(self, file: OutputFile, first: Columns, form: Format, codec: str) -> None:
        ipc = importlib.import_module("pyarrow.ipc")
        self._file = file
        options = ipc.IpcWriteOptions(
            compression=None if codec == "none" else codec, emit_dictionary_deltas=True
        )
        make = ipc.new_stream if form is Format.ARROW else ipc.new_file
        self._writer = make(file, table_of(first).schema, options=options)
        self._raw_bytes = 0

    def write(self, unit: Columns) -> None:
        """Write these rows."""
        self._writer.write_table(table_of(unit))
        self._raw_bytes += unit.nbytes

    def fitting(self, unit: Columns, bytes_max: int) -> int:
        """How many of these rows the file can take until it has about so many bytes."""
        ratio = self._file.bytes_written / self._raw_bytes if self._raw_bytes else 1.0
        return rows_fitting(unit, bytes_max - self._file.bytes_written, ratio)

    def finish(self) -> None:
        """Write what stands at the end."""
        self._writer.close()


class ParquetWriter:
    """Writes batches as row groups of some size."""

    def __init__(
        self, file: OutputFile, first: Columns, codec: str, bytes_max: int | None = None
    ) -> None:
        self._pa = importlib.import_module("pyarrow")
        parquet = importlib.import_module("pyarrow.parquet")
        schema = table_of(first).schema
        self._check(schema)
        self._file = file
        self._group_bytes = min(_GROUP_BYTES, (bytes_max or _GROUP_BYTES * 8) // _GROUPS_MIN)
        self._writer = parquet.ParquetWriter(file, schema, compression=codec)
        self._waiting: list[Any] = []
        self._waiting_rows = 0
        self._waiting_bytes = 0
        self._raw_bytes = 0

    def write(self, unit: Columns) -> None:
        """Keep these rows until there are enough of them for a group."""
        self._waiting.append(table_of(unit))
        self._waiting_rows += len(unit)
        self._waiting_bytes += unit.nbytes
        if self._waiting_bytes >= self._group_bytes or self._waiting_rows >= _GROUP_ROWS_MAX:
            self._write_group()

    def fitting(self, unit: Columns, bytes_max: int) -> int:
        """How many of these rows the file can take until it has about so many bytes."""
        ratio = self._file.bytes_written / self._raw_bytes if self._raw_bytes else 1.0
        used = self._file.bytes_written + int(self._waiting_bytes * ratio)
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
                raise CommandError(
                    f'Parquet has no type for the intervals of the column "{field.name}"',
                    f"ask for their text with --schema {field.name}=utf8, or for a length of time "
                    f'with --schema "{field.name}=duration[us]"',
                )


def table_of(columns: Columns) -> Any:
    """A table over the same memory. `pyarrow.table` would import pandas, to see that it is none."""
    reader = importlib.import_module("pyarrow").RecordBatchReader
    return reader.from_stream(columns).read_all()


def rows_fitting(unit: Columns, bytes_left: int, ratio: float) -> int:
    """How many rows take so many bytes, if all are alike."""
    size = unit.nbytes * ratio
    if size <= bytes_left or not size:
        return len(unit)
    return max(int(len(unit) * bytes_left / size), 0)
