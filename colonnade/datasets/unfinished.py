"""A dataset that is not complete yet: a folder beside the final one, and a record of its parts.

The record is a file of JSON lines, to which a line is added for each finished part. A line that was
cut by a crash is ignored, and files that no line names are removed when the run is continued. Each
line has a checksum of itself and of the lines before it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import sys
import zlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from colonnade.datasets.files import WrittenFile
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

_RECORD = "record.ndjson"
_LOCK = "lock"
_CHECKSUM = "checksum"
# A dataset that gives way to this one.
_OLDER = "older"
# The names that `write` gives to its folders and files, and no others: none leads elsewhere.
_FOLDER = re.compile(r"(?:[\w%-]+=[\w%-]+(?:/(?!\Z)|\Z))*", re.ASCII)
_FILE = re.compile(r"part-\d{4,}\.parquet", re.ASCII)
_BEGIN_ANEW = "overwrite=True without resume=True removes it and begins anew"


class Unfinished:
    """The folder `.NAME.unfinished` beside the final folder; one process at a time has it."""

    def __init__(self, final: Path, *, sync: bool) -> None:
        self.final = final
        self.folder = final.with_name(f".{final.name}.unfinished")
        self.data = self.folder / "data"
        self._sync = sync
        self._lock: int | None = None
        self._is_new = False
        self._checksum = 0
        #: The parts of this and of earlier runs: the path of the folder, its keys and its files.
        self.parts: list[tuple[str, list[str | None], list[WrittenFile]]] = []
        self._runs: list[str] = []
        self._runs_with_parts: set[int] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Keep what a later run can continue, and remove the rest."""
        if self._lock is None:
            return
        if error is not None and self.kept is not None:
            error.add_note(self.kept)
        elif error is not None and self._is_new:
            self._remove()
        self._unlock()

    @property
    def kept(self) -> str | None:
        """A sentence about the parts that an interrupted run has left; None if there are none."""
        if not self.parts:
            return None
        parts = (
            "1 finished part is"
            if len(self.parts) == 1
            else f"{len(self.parts)} finished parts are"
        )
        return f"{parts} kept in {self.folder}: resume=True goes on from there"

    def begin(self, identity: dict[str, Any]) -> None:
        """Make the folder, without anything that is there."""
        self._take()
        self._is_new = True
        older = self.folder / _OLDER
        if older.exists() and not self.final.exists():
            # A run was killed just before its dataset had taken this one's place.
            older.rename(self.final)
        shutil.rmtree(self.data, ignore_errors=True)
        self.data.mkdir()
        self._checksum = 0
        (self.folder / _RECORD).write_text(self._line({"dataset": identity}), "utf-8")

    def resume(self, identity: dict[str, Any]) -> bool:
        """Continue an earlier run of the same dataset; False if there is none.

        Raises InterfaceError if it was another dataset, or if its files have changed.
        """
        if not (self.folder / _RECORD).exists():
            return False
        self._take()
        try:
            lines = self._whole_lines()
            if not lines:
                return False
            known = dict(lines[0]["dataset"])
            read = [_read(line) for line in lines[1:]]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise InterfaceError(
                f"{self.folder / _RECORD} is damaged: the export cannot be continued",
                hint=_BEGIN_ANEW,
            ) from None
        _compare(known, identity, self.folder)
        for run_or_part in read:
            if isinstance(run_or_part, str):
                self._runs.append(run_or_part)
            else:
                self._runs_with_parts.add(len(self._runs))
                self.parts.append(run_or_part)
        self._remove_unknown()
        return True

    def record_run(self, snapshot: str) -> None:
        """Record the snapshot that the following parts were read on."""
        self._runs.append(snapshot)
        self._append({"run": snapshot})

    def record_part(
        self, folder: str, keys: Sequence[str | None], files: Sequence[WrittenFile]
    ) -> None:
        """Record a finished part; from now on it is kept."""
        if self._sync:
            for file in files:
                _sync(self.data / folder / file.name)
            _sync(self.data / folder)
        self._append({"folder": folder, "keys": list(keys), "files": files})
        self._runs_with_parts.add(len(self._runs))
        self.parts.append((folder, list(keys), list(files)))

    @property
    def snapshots(self) -> tuple[str, ...]:
        """The snapshots of the runs that finished a part, or of the only one."""
        runs = [
            name for number, name in enumerate(self._runs, 1) if number in self._runs_with_parts
        ]
        return tuple(runs or self._runs[-1:])

    def complete(self) -> None:
        """Give the dataset its final name, in the place of an older one.

        The caller has checked the files that are there.
        """
        if self._sync:
            for folder, _, _ in os.walk(self.data):
                _sync(Path(folder))
        older = self.folder / _OLDER
        if self.final.exists():
            shutil.rmtree(older, ignore_errors=True)
            self.final.rename(older)
        try:
            self.data.rename(self.final)
        except OSError:
            if older.exists():
                older.rename(self.final)
            raise
        if self._sync:
            _sync(self.final.parent)
        self._remove()
        self._unlock()

    def _remove(self) -> None:
        """Remove the folder; the lock goes last, because it keeps others from beginning in it."""
        for path in tuple(self.folder.iterdir()):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != _LOCK:
                path.unlink(missing_ok=True)
        if sys.platform == "win32":
            # A file that is open cannot be removed there.
            self._unlock()
        with suppress(OSError):
            (self.folder / _LOCK).unlink()
            self.folder.rmdir()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _take(self) -> None:
        """Make the folder this process's own. Raises InterfaceError if another one has it."""
        if self._lock is not None:
            return
        path = self.folder / _LOCK
        try:
            self.folder.mkdir(exist_ok=True)
            self._check_own()
            self._lock = os.open(path, os.O_RDWR | os.O_CREAT)
        except (FileNotFoundError, FileExistsError):
            if self.folder.is_file():
                raise
            raise InterfaceError(f"another process has just written {self.final}") from None
        try:
            _lock(self._lock)
            is_there = os.path.samestat(os.fstat(self._lock), path.stat())
        except OSError:
            is_there = False
        if not is_there:
            self._unlock()
            raise InterfaceError(f"another process is writing {self.final}")

    def _check_own(self) -> None:
        """Raise InterfaceError for a path that another user may have made to have files changed."""
        for path in (self.folder, self.data, self.folder / _RECORD, self.folder / _LOCK):
            if path.is_symlink():
                raise InterfaceError(f"{path} is a symbolic link: remove it to export here")
        if os.name == "posix":
            parent, found = self.folder.parent.stat(), self.folder.stat()
            # In a directory such as /tmp, where everybody may make folders.
            is_shared = parent.st_mode & stat.S_ISVTX and parent.st_mode & stat.S_IWOTH
            if is_shared and found.st_uid not in {os.geteuid(), parent.st_uid}:
                raise InterfaceError(f"{self.folder} is another user's: choose another place")

    def _append(self, line: dict[str, Any]) -> None:
        with (self.folder / _RECORD).open("a", encoding="utf-8") as record:
            record.write(self._line(line))
            record.flush()
            if self._sync:
                os.fsync(record.fileno())

    def _whole_lines(self) -> list[Any]:
        """The record's lines; one that a crash has cut is removed."""
        path = self.folder / _RECORD
        raw = path.read_bytes()
        whole = raw[: raw.rfind(b"\n") + 1]
        if len(whole) < len(raw):
            os.truncate(path, len(whole))
        return [self._checked(json.loads(line)) for line in whole.splitlines()]

    def _line(self, content: dict[str, Any]) -> str:
        self._checksum = zlib.crc32(_json(content).encode("ascii"), self._checksum)
        return _json({**content, _CHECKSUM: self._checksum}) + "\n"

    def _checked(self, line: Any) -> dict[str, Any]:
        """The content of a line. Raises ValueError if it, or one before it, was changed."""
        if not isinstance(line, dict):
            raise TypeError(line)
        checksum = line.pop(_CHECKSUM)
        self._checksum = zlib.crc32(_json(line).encode("ascii"), self._checksum)
        if checksum != self._checksum:
            raise ValueError(line)
        return line

    def _remove_unknown(self) -> None:
        known = {
            self.data / folder / file.name: (file.nbytes, file.changed_ns)
            for folder, _, files in self.parts
            for file in files
        }
        for path, written in known.items():
            found = path.stat() if path.is_file() else None
            if found is None or (found.st_size, found.st_mtime_ns) != written:
                raise InterfaceError(
                    f"{path} is missing or was changed after it was written", hint=_BEGIN_ANEW
                )
        for folder, _, names in os.walk(self.data, topdown=False):
            for name in names:
                if Path(folder, name) not in known:
                    Path(folder, name).unlink()
            if Path(folder) != self.data:
                # Only a folder without files is removed.
                with suppress(OSError):
                    Path(folder).rmdir()
        self.data.mkdir(exist_ok=True)


def _lock(descriptor: int) -> None:
    """Lock a file until it is closed. Raises OSError if another process has locked it."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _json(content: dict[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=True, separators=(",", ":"))


def _read(line: dict[str, Any]) -> str | tuple[str, list[str | None], list[WrittenFile]]:
    """The snapshot of a run, or a part. Raises ValueError, TypeError or KeyError for others."""
    if "run" in line:
        return str(line["run"])
    folder, keys = str(line["folder"]), line["keys"]
    files = [WrittenFile(*file) for file in line["files"]]
    if _FOLDER.fullmatch(folder) is None or not all(_FILE.fullmatch(file.name) for file in files):
        raise ValueError(line)
    if not all(isinstance(key, str | None) for key in keys):
        raise TypeError(keys)
    return folder, list(keys), files


def _compare(known: dict[str, Any], asked: dict[str, Any], folder: Path) -> None:
    for name, value in asked.items():
        if known.get(name) != value:
            raise InterfaceError(
                f"the unfinished export in {folder} has another {name}: it cannot be continued",
                hint=_BEGIN_ANEW,
            )


def _sync(path: Path) -> None:
    if os.name == "nt" and path.is_dir():
        # Windows opens no directories.
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
