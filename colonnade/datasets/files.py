"""The files of one partition, each of limited size."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from colonnade.formats.format import Settings
from colonnade.formats.parquet import ParquetEncoding

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from colonnade import Columns
    from colonnade.formats import Writer


class Limits(NamedTuple):
    """The most rows and bytes of a file; None for no limit."""

    rows: int | None
    nbytes: int | None


class WrittenFile(NamedTuple):
    """A finished file."""

    name: str
    rows: int
    nbytes: int
    changed_ns: int
    """The time of its last change: a run that goes on compares it, to see that nothing changed."""


class _Sink:
    """A file that drops what is written after `discard`: pyarrow ends its files when it likes."""

    closed = False

    def __init__(self, path: Path) -> None:
        self._file: BinaryIO | None = path.open("xb")
        self._size = 0

    def write(self, data: Any) -> int:
        """Append bytes."""
        size = memoryview(data).nbytes
        if self._file is not None:
            self._file.write(data)
            self._size += size
        return size

    def tell(self) -> int:
        """Return the number of bytes written."""
        return self._size

    def flush(self) -> None:
        """Do nothing: `close` does."""

    def close(self) -> None:
        """Flush and close the file."""
        if self._file is not None:
            self._file.close()

    def discard(self) -> None:
        """Close the file, and ignore what is written from now on."""
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
            self._file = None


class PartitionFiles:
    """Writes the `columns` of rows to `part-0001.parquet` and so on, in a folder that exists.

    `ended` is called after each file, with the last row that is in it. A file ends only between
    rows whose `keys` differ, so that a later run can go on after that row.
    """

    def __init__(
        self,
        folder: Path,
        limits: Limits,
        codec: str,
        columns: Sequence[str],
        *,
        keys: tuple[str, ...] = (),
        first: int = 1,
        ended: Callable[[WrittenFile, Columns], object] | None = None,
    ) -> None:
        self._folder = folder
        self._limits = limits
        self._encoding = ParquetEncoding((), Settings(codec=codec, file_bytes=limits.nbytes))
        self._columns = columns
        self._keys = keys
        self._number = first
        self._ended = ended
        self._writer: Writer | None = None
        self._file: _Sink | None = None
        self._rows = 0
        self._last: Columns | None = None
        self.done: list[WrittenFile] = []
        self._done_bytes = 0

    @property
    def nbytes(self) -> int:
        """The bytes written so far."""
        return self._done_bytes + (self._file.tell() if self._file is not None else 0)

    def take(self, rows: Columns) -> None:
        """Write rows; the first call begins a file even if there are none."""
        if self._writer is None and not self.done:
            self._begin(rows)
        while len(rows):
            if self._is_full(rows):
                self._end()
            if self._writer is None:
                self._begin(rows)
            count = self._room(rows)
            self._write(rows if count == len(rows) else rows[:count])
            rows = rows[count:]

    def finish(self) -> list[WrittenFile]:
        """End the last file, and return all of them."""
        if self._writer is not None:
            self._end()
        return self.done

    def discard(self) -> None:
        """Close the unfinished file; the caller removes it."""
        if self._file is not None:
            self._file.discard()

    def _begin(self, rows: Columns) -> None:
        path = self._folder / f"part-{self._number:04}.parquet"
        self._file = _Sink(path)
        self._writer = self._encoding.writer(self._file, rows.select(*self._columns))
        self._rows = 0
        self._last = rows[:0]

    def _write(self, rows: Columns) -> None:
        if self._writer is not None:
            self._writer.write(rows.select(*self._columns))
            self._rows += len(rows)
            self._last = rows[-1:]

    def _is_full(self, rows: Columns) -> bool:
        """Whether the file has reached a limit, and may end before these rows."""
        if self._writer is None or not self._rows:
            return False
        return self._left(rows) <= 0 and not self._is_same(self._last, rows[:1])

    def _left(self, rows: Columns) -> int:
        count = len(rows)
        if self._limits.rows is not None:
            count = min(count, self._limits.rows - self._rows)
        if self._limits.nbytes is not None and self._writer is not None:
            written = rows.select(*self._columns)
            count = min(count, self._writer.fitting(written, self._limits.nbytes))
        return count

    def _room(self, rows: Columns) -> int:
        """How many rows to write now: at least one, and all that have the last one's keys."""
        count = max(self._left(rows), 1)
        while count < len(rows) and self._is_same(rows[count - 1 : count], rows[count : count + 1]):
            count += 1
        return count

    def _is_same(self, one: Columns | None, other: Columns) -> bool:
        if not self._keys or one is None:
            return False
        return one.select(*self._keys).to_pydict() == other.select(*self._keys).to_pydict()

    def _end(self) -> None:
        if self._writer is None or self._file is None or self._last is None:
            return
        self._writer.finish()
        self._file.close()
        path = self._folder / f"part-{self._number:04}.parquet"
        found = path.stat()
        file = WrittenFile(path.name, self._rows, found.st_size, found.st_mtime_ns)
        self.done.append(file)
        self._done_bytes += file.nbytes
        self._number += 1
        self._writer = self._file = None
        if self._ended is not None:
            self._ended(file, self._last)
