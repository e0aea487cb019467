"""Output files that appear only when they are complete."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from colonnade.cli import interrupts

if TYPE_CHECKING:
    from types import TracebackType


class WholeFiles:
    """Files that get their final names together, when the block ends without an error.

    Until then each file has a temporary name in the same directory; if the block raises, the files
    are removed. Devices, pipes and sockets are written to directly.
    """

    def __init__(self, *, sync: bool = False) -> None:
        self._sync = sync
        self._unfinished: dict[Path, Path] = {}
        self._outdated: list[Path] = []

    def begin(self, place: Path) -> Path:
        """Create and return the temporary file for this final path.

        Raises FileNotFoundError if the directory does not exist.
        """
        if _is_special(place):
            return place
        if not place.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, "there is no such directory", str(place.parent))
        unfinished = place.with_name(f".{place.name}.{secrets.token_hex(4)}.part")
        # Recorded before the file exists: an interrupt in between must not leave it behind.
        self._unfinished[unfinished] = place
        try:
            os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        except OSError as error:
            del self._unfinished[unfinished]
            # The user knows the final name, not the temporary one.
            error.filename = str(place)
            raise
        return unfinished

    def remove_at_the_end(self, place: Path) -> None:
        """Remove this outdated file when the new files get their names."""
        self._outdated.append(place)

    @property
    def places(self) -> list[Path]:
        """The final paths, in the order in which the files were begun."""
        return list(self._unfinished.values())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._finish()
        finally:
            for unfinished in self._unfinished:
                with suppress(FileNotFoundError):
                    unfinished.unlink()

    def _finish(self) -> None:
        if self._sync:
            for unfinished in self._unfinished:
                _sync(unfinished)
        with interrupts.held_back():
            placed: list[Path] = []
            try:
                for unfinished, place in self._unfinished.items():
                    unfinished.replace(place)
                    placed.append(place)
            except OSError:
                # One rename failed: remove the files that already have their names.
                for place in placed:
                    place.unlink()
                raise
            for place in self._outdated:
                place.unlink(missing_ok=True)
        if self._sync:
            for directory in {place.parent for place in placed}:
                _sync(directory)


def _is_special(place: Path) -> bool:
    try:
        mode = place.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
