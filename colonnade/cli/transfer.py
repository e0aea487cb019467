"""Writes a result to files: splits it into parts, counts rows, and bounds memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from colonnade.cli.output import OutputFile, OutputFiles
    from colonnade.formats import Writer

    #: Called with the numbers of rows and bytes so far.
    Progress = Callable[[int, int], None]


class EnoughRowsError(Exception):
    """The limit of rows is reached."""


@dataclass(frozen=True)
class Limits:
    """The limits of each file in bytes and rows, and of all rows; None sets no limit."""

    file_bytes: int | None = None
    file_rows: int | None = None
    rows: int | None = None

    @property
    def are_parts(self) -> bool:
        """Whether the result is split into several files."""
        return self.file_bytes is not None or self.file_rows is not None


class Transfer:
    """Writes rows to the files; a unit of rows supports `len` and slicing."""

    def __init__(
        self,
        output_files: OutputFiles,
        make_writer: Callable[[OutputFile, Any], Writer],
        limits: Limits,
        progress: Progress | None = None,
    ) -> None:
        self._output_files = output_files
        self._make_writer = make_writer
        self._limits = limits
        self._progress = progress
        self._file: OutputFile | None = None
        self._writer: Writer | None = None
        self._file_rows = 0
        self._finished_bytes = 0
        self.rows = 0

    @property
    def bytes(self) -> int:
        """The number of bytes written to all files."""
        return self._finished_bytes + (self._file.bytes_written if self._file else 0)

    def take(self, unit: Any) -> None:
        """Write a unit of rows; the first unit begins a file even if it is empty.

        Raises EnoughRowsError when the limit of all rows is reached.
        """
        limit = self._limits.rows
        if limit is not None and self.rows + len(unit) >= limit:
            unit = unit[: limit - self.rows]
        if self._writer is None and not self.rows:
            self._begin_file(unit)
        while len(unit):
            unit = self._write_some(unit)
        if self._progress is not None:
            self._progress(self.rows, self.bytes)
        if limit is not None and self.rows >= limit:
            raise EnoughRowsError

    def finish(self) -> None:
        """Finish and close the current file."""
        if self._writer is not None and self._file is not None:
            self._writer.finish()
            self._file.close()
            self._finished_bytes += self._file.bytes_written
        self._file = self._writer = None

    def _write_some(self, unit: Any) -> Any:
        """Write as many rows as fit into the file, and return the rest."""
        if self._writer is None:
            self._begin_file(unit)
        count = self._room(unit)
        head = unit if count == len(unit) else unit[:count]
        if self._writer is not None and len(head):
            self._writer.write(head)
        self.rows += count
        self._file_rows += count
        if count < len(unit):
            self.finish()
        return unit[count:]

    def _room(self, unit: Any) -> int:
        """Return how many of the rows fit into the file; an empty file takes at least one."""
        count = len(unit)
        if self._limits.file_rows is not None:
            count = min(count, self._limits.file_rows - self._file_rows)
        if self._limits.file_bytes is not None and self._writer is not None:
            count = min(count, self._writer.fitting(unit, self._limits.file_bytes))
        return max(count, 0 if self._file_rows else 1)

    def _begin_file(self, unit: Any) -> None:
        self._file = self._output_files.next_file()
        self._file_rows = 0
        self._writer = self._make_writer(self._file, unit)
