"""The files that a command writes: temporary files, standard output, devices and pipes."""

from __future__ import annotations

import io
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colonnade.cli.interrupts import ClosedPipeError

if TYPE_CHECKING:
    from colonnade.cli.files import WholeFiles

STDOUT = Path("-")
#: Smaller writes are collected in a buffer of this size.
_PIECE_BYTES = 1 << 16


class OutputFile(io.RawIOBase):
    """A file that counts the bytes written, and names itself in write errors."""

    def __init__(self, descriptor: int, name: str, *, owned: bool) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._name = name
        self._owned = owned
        self._waiting = bytearray()
        self._is_discarded = False
        self.bytes_written = 0

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Any, /) -> int:
        """Write or buffer all bytes, and return their number.

        Raises ClosedPipeError if the reader closed the pipe, and OSError with the file's name.
        """
        view = memoryview(data).cast("B")
        if self._is_discarded:
            return len(view)
        self.bytes_written += len(view)
        if len(self._waiting) + len(view) < _PIECE_BYTES:
            self._waiting += view
        else:
            self.flush()
            self._write_out(view)
        return len(view)

    def flush(self) -> None:
        """Pass all buffered bytes to the operating system."""
        if self._waiting:
            waiting, self._waiting = self._waiting, bytearray()
            self._write_out(memoryview(waiting))

    def tell(self) -> int:
        """Return the number of bytes written, buffered bytes included."""
        return self.bytes_written

    def discard(self) -> None:
        """Drop buffered and later bytes: a library may still finish its file after an error."""
        self._waiting.clear()
        if self._owned and not self._is_discarded and not self.closed:
            with suppress(OSError):
                os.close(self._descriptor)
        self._is_discarded = True

    def close(self) -> None:
        """Write the buffered bytes, and close the file."""
        if self.closed:
            return
        try:
            self.flush()
        finally:
            super().close()
            if self._owned and not self._is_discarded:
                os.close(self._descriptor)

    def _write_out(self, view: memoryview) -> None:
        try:
            while view:
                view = view[os.write(self._descriptor, view) :]
        except BrokenPipeError as error:
            raise ClosedPipeError from error
        except OSError as error:
            error.filename = self._name
            raise


class OutputFiles:
    """Opens the output files of a result, one after another."""

    def __init__(self, files: WholeFiles, place: Path, *, numbered: bool = False) -> None:
        self._files = files
        self._place = place
        self._numbered = numbered
        self._count = 0
        self._open: OutputFile | None = None

    def next_file(self) -> OutputFile:
        """Open and return the next file; standard output is not opened anew."""
        self._count += 1
        if self._place == STDOUT:
            sys.stdout.flush()
            self._open = OutputFile(sys.stdout.fileno(), "standard output", owned=False)
            return self._open
        place = part_name(self._place, self._count) if self._numbered else self._place
        path = self._files.begin(place)
        descriptor = os.open(path, os.O_WRONLY)
        self._open = OutputFile(descriptor, str(place), owned=True)
        return self._open

    def discard(self) -> None:
        """Discard a file that is still open."""
        if self._open is not None:
            self._open.discard()


def part_name(place: Path, number: int) -> Path:
    """Return the name of a part: the first of out.parquet is out-0001.parquet."""
    return place.with_name(f"{place.stem}-{number:04}{place.suffix}")


def is_terminal(place: Path) -> bool:
    """Whether the output goes to a terminal."""
    return place == STDOUT and sys.stdout.isatty()


def older_parts(place: Path) -> list[Path]:
    """List the existing parts of this output file, sorted by name."""
    named = re.compile(rf"{re.escape(place.stem)}-\d{{4,}}{re.escape(place.suffix)}")
    if not place.parent.is_dir():
        return []
    return sorted(path for path in place.parent.iterdir() if named.fullmatch(path.name))
