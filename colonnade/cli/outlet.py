"""Where bytes go: files that are whole or not there, standard output, devices and pipes."""

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
#: Pieces smaller than this are put together.
_PIECE_BYTES = 1 << 16


class OutputFile(io.RawIOBase):
    """A file that knows how much was written to it, and says where writing failed."""

    def __init__(self, descriptor: int, name: str, *, owned: bool) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._name = name
        self._owned = owned
        self._waiting = bytearray()
        self._is_discarded = False
        self.bytes_written = 0

    def writable(self) -> bool:
        """Yes."""
        return True

    def write(self, data: Any, /) -> int:
        """Write all of it, at once or with what follows."""
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
        """Give everything to the system."""
        if self._waiting:
            waiting, self._waiting = self._waiting, bytearray()
            self._write_out(memoryview(waiting))

    def tell(self) -> int:
        """How much was written."""
        return self.bytes_written

    def discard(self) -> None:
        """Throw away what is in it and what is still to come: a library may end its file late."""
        self._waiting.clear()
        if self._owned and not self._is_discarded and not self.closed:
            with suppress(OSError):
                os.close(self._descriptor)
        self._is_discarded = True

    def close(self) -> None:
        """Write what is left, and close."""
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


class Outlet:
    """Gives the files that a result goes to, one after another."""

    def __init__(self, files: WholeFiles, place: Path, *, numbered: bool = False) -> None:
        self._files = files
        self._place = place
        self._numbered = numbered
        self._count = 0
        self._open: OutputFile | None = None

    def next_file(self) -> OutputFile:
        """Begin the first file, or the next one."""
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
        """Close a file that is still open."""
        if self._open is not None:
            self._open.discard()


def part_name(place: Path, number: int) -> Path:
    """The name of a part: out.parquet has out-0001.parquet."""
    return place.with_name(f"{place.stem}-{number:04}{place.suffix}")


def is_terminal(place: Path) -> bool:
    """Whether what is written would land on a terminal."""
    return place == STDOUT and sys.stdout.isatty()


def older_parts(place: Path) -> list[Path]:
    """The parts of this name that there are."""
    named = re.compile(rf"{re.escape(place.stem)}-\d{{4,}}{re.escape(place.suffix)}")
    if not place.parent.is_dir():
        return []
    return sorted(path for path in place.parent.iterdir() if named.fullmatch(path.name))
