"""Files that are whole or not there."""

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
    """Files that take their places together, when the block ends well.

    Until then they lie beside their places, under names of their own; when the block ends in any
    other way they are removed. A place that is a device, a pipe or a socket is written to as it is.
    """

    def __init__(self, *, sync: bool = False) -> None:
        self._sync = sync
        self._unfinished: dict[Path, Path] = {}
        self._outdated: list[Path] = []

    def begin(self, place: Path) -> Path:
        """The file to write for this place. The directory must be there."""
        if _is_special(place):
            return place
        if not place.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, "there is no such directory", str(place.parent))
        unfinished = place.with_name(f".{place.name}.{secrets.token_hex(4)}.part")
        # Noted before it is made: an interrupt in between must not leave it behind.
        self._unfinished[unfinished] = place
        try:
            os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        except OSError as error:
            del self._unfinished[unfinished]
            # The name that the user knows.
            error.filename = str(place)
            raise
        return unfinished

    def remove_at_the_end(self, place: Path) -> None:
        """Have a file go that the new ones make meaningless."""
        self._outdated.append(place)

    @property
    def places(self) -> list[Path]:
        """Where the files will be, in the order they were begun."""
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
                # One of several could not be placed: none of them stays.
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
