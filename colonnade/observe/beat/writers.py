"""Where a beat is written: a file with one record, or a named pipe."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
import weakref
from pathlib import Path
from typing import Protocol

from colonnade._words.shown import shown
from colonnade.observe.beat.beat_file import (
    MAGIC,
    RECORD_BYTES,
    Record,
    boot_id,
    ended,
    is_held,
    lock,
)

_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
# A predecessor that stops removes its file; it cannot do so for ever.
_TRIES_MOST = 10


class BeatWriter(Protocol):
    """Takes the beats of one process."""

    def beat(self) -> None:
        """Write a beat. Raises OSError if that fails; the next one may succeed."""

    def close(self) -> None:
        """End the beats; a file is removed."""

    def forget(self) -> None:
        """In a forked child: leave the file to the parent."""


def open_writer(name: str) -> BeatWriter:
    """Open the pipe or the file of this name, which is created if it does not exist.

    Raises OSError if beats cannot be written there.
    """
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISFIFO(Path(name).lstat().st_mode):
            return _PipeWriter(name)
    return _FileWriter(name)


def remove_ended(name: str) -> None:
    """Remove the remains of killed processes in the folder of this file.

    A process that takes over such a file in this moment creates it again with its next beat.
    """
    found: list[str] = []
    # This process may be allowed to make files in the folder, but not to list it.
    with contextlib.suppress(OSError):
        found = ended(str(Path(name).parent))
    for old in found:
        with contextlib.suppress(OSError):
            if Path(old).lstat().st_uid == os.geteuid():
                Path(old).unlink()


class _FileWriter:
    """A file with one record, locked for as long as the process lives."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._boot = boot_id()
        self._descriptor, self._is_locked = _opened(name)
        _opened_writers.add(self)

    def beat(self) -> None:
        if not _is_in_place(self._descriptor, self._name):
            # Someone has removed or replaced the file.
            descriptor, self._is_locked = _opened(self._name)
            os.close(self._descriptor)
            self._descriptor = descriptor
        record = Record(self._boot, os.getpid(), self._is_locked, time.monotonic_ns())
        os.pwrite(self._descriptor, record.encoded(), 0)

    def close(self) -> None:
        if self._descriptor < 0:
            return
        with contextlib.suppress(OSError):
            _remove(self._descriptor, self._name)
        self.forget()

    def forget(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self) -> None:
        # Of a loop that was closed before its beat was stopped.
        if getattr(self, "_descriptor", -1) >= 0:
            self.forget()


class _PipeWriter:
    """A named pipe: each beat is a line, and is lost if nobody reads."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._boot = boot_id()
        self._descriptor: int | None = None
        self._open()
        _opened_writers.add(self)

    def beat(self) -> None:
        if self._descriptor is None:
            self._open()
        if self._descriptor is None:
            return
        record = Record(self._boot, os.getpid(), False, time.monotonic_ns())
        try:
            os.write(self._descriptor, record.encoded())
        except BlockingIOError:
            # The pipe is full: its reader has enough to read.
            return
        except BrokenPipeError:
            self.close()

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def forget(self) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_descriptor", None) is not None:
            self.close()

    def _open(self) -> None:
        try:
            descriptor = os.open(self._name, os.O_WRONLY | _FLAGS)
        except OSError as error:
            # Nobody has the other end open, yet or any more.
            if error.errno == errno.ENXIO:
                return
            raise
        if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise _refusal(errno.EEXIST, "is not the named pipe any more", self._name)
        self._descriptor = descriptor


_opened_writers: weakref.WeakSet[_FileWriter | _PipeWriter] = weakref.WeakSet()


def _opened(name: str) -> tuple[int, bool]:
    """Open and lock the file; return its descriptor, and whether the system can lock it."""
    for _ in range(_TRIES_MOST):
        try:
            descriptor = os.open(name, os.O_RDWR | os.O_CREAT | _FLAGS, 0o644)
        except OSError as error:
            if error.errno == errno.ELOOP:
                said = "is a symbolic link, and a beat follows none"
                raise _refusal(errno.ELOOP, said, name) from error
            if isinstance(error, FileNotFoundError):
                said = f"cannot be made: create the folder {shown(str(Path(name).parent))} first"
                raise _refusal(errno.ENOENT, said, name) from error
            raise
        try:
            _check_ours(descriptor, name)
            is_locked = lock(descriptor)
            if _is_in_place(descriptor, name):
                os.ftruncate(descriptor, RECORD_BYTES)
                return descriptor, is_locked
        except BlockingIOError as error:
            if is_held(descriptor) is not False:
                os.close(descriptor)
                said = (
                    "is the beat of another process that runs: give each process a file of its "
                    "own, for example by {pid} in the path"
                )
                raise _refusal(errno.EEXIST, said, name) from error
            # A user that may read the file has locked it: the file is left to them.
            _remove(descriptor, name)
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
    raise _refusal(errno.EBUSY, "is replaced by someone again and again", name)


def _remove(descriptor: int, name: str) -> None:
    if _is_in_place(descriptor, name):
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()


def _check_ours(descriptor: int, name: str) -> None:
    """Refuse a file that another user or another program may have put there."""
    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode):
        raise _refusal(errno.EEXIST, "is neither a regular file nor a named pipe", name)
    if facts.st_uid != os.geteuid():
        said = f"belongs to another user ({facts.st_uid}): choose a private folder"
        raise _refusal(errno.EACCES, said, name)
    if facts.st_nlink > 1:
        raise _refusal(errno.EEXIST, "is a file with several names (hard links)", name)
    if facts.st_size and os.pread(descriptor, len(MAGIC), 0) != MAGIC:
        raise _refusal(errno.EEXIST, "holds something else, and is not overwritten", name)


def _is_in_place(descriptor: int, name: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), Path(name).lstat())
    except FileNotFoundError:
        return False


def _refusal(number: int, said: str, name: str) -> OSError:
    # The class follows from the number: FileExistsError, PermissionError, ...
    return OSError(number, said, name)


def _forget_all() -> None:
    for writer in list(_opened_writers):
        writer.forget()


# A forked child that kept the file open would keep its lock after the death of the parent, and
# the reader of a pipe would never see its end.
os.register_at_fork(after_in_child=_forget_all)
