"""The private folder of the reports that processes publish: `PID.json`, one for each."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAME = "colonnade-observe"
_FILES_MOST = 1000
# Process ids of another container mean nothing here, but its processes go on writing.
_OLD_SECONDS = 5.0
_SURELY_OLD_SECONDS = 120.0


def folders() -> list[Path]:
    """The folders in which this user's processes publish, the preferred one first.

    A service often has no XDG_RUNTIME_DIR where its user's shell has one, so readers look in all.
    """
    temporary = _temporary_folder()
    return [*_runtime_folders(), temporary, *_others(temporary)]


def made_folder() -> Path:
    """Create the private folder unless it is there, and return it.

    Raises OSError if there is no place for it, or if others could write to the one that is there.
    """
    for folder in _runtime_folders():
        with contextlib.suppress(OSError):
            return _made(folder)
    temporary = _temporary_folder()
    try:
        return _made(temporary)
    except PermissionError:
        if not _is_strangers(temporary):
            raise
    # Another user created this predictable name first, and only they can remove it.
    for folder in _others(temporary):
        return folder
    return Path(tempfile.mkdtemp(prefix=f"{temporary.name}-", dir=temporary.parent))


def _runtime_folders() -> list[Path]:
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    return [Path(runtime, _NAME)] if Path(runtime).is_absolute() else []


def _temporary_folder() -> Path:
    return Path(tempfile.gettempdir(), f"{_NAME}-{os.geteuid()}")


def _others(temporary: Path) -> list[Path]:
    """The folders that were made because the usual name was a stranger's."""
    return sorted(filter(is_private, temporary.parent.glob(f"{temporary.name}-*")))


def _is_strangers(folder: Path) -> bool:
    try:
        return folder.lstat().st_uid != os.geteuid()
    except OSError:
        return False


def _made(folder: Path) -> Path:
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if not is_private(folder):
        raise PermissionError(
            f"{folder} is not a private folder of this user: remove it, or pass path="
        )
    return folder


def is_private(folder: Path) -> bool:
    """Whether this is a folder, no link, that only this user can look into."""
    try:
        facts = folder.lstat()
    except OSError:
        return False
    is_ours = facts.st_uid == os.geteuid() and not facts.st_mode & 0o077
    return stat.S_ISDIR(facts.st_mode) and is_ours


def reports() -> dict[int, Path]:
    """The reports of this user's processes that have not ended, by process id."""
    return {
        process: path
        for folder in reversed(folders())
        for process, path in _files(folder)
        if exists(process) or not _is_older(path, _OLD_SECONDS)
    }


def remove_old(folder: Path) -> None:
    """Remove the reports of processes that have ended without doing so."""
    for process, path in _files(folder):
        if not exists(process) and _is_older(path, _SURELY_OLD_SECONDS):
            with contextlib.suppress(OSError):
                path.unlink()


def exists(process: int) -> bool:
    """Whether a process of this id exists, also one of another user."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _files(folder: Path) -> Iterator[tuple[int, Path]]:
    if not is_private(folder):
        return
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for _, entry in zip(range(_FILES_MOST), entries, strict=False):
            stem, dot, ending = entry.name.partition(".")
            if (dot, ending) == (".", "json") and stem.isascii() and stem.isdigit():
                yield int(stem), Path(entry.path)


def _is_older(path: Path, seconds: float) -> bool:
    try:
        return time.time() - path.lstat().st_mtime > seconds
    except OSError:
        return False
