"""The file of a `Beat`: its one record, and the conclusions of readers.

A record holds the time of the last beat on the machine's monotonic clock, which all its processes
share: steps of the wall clock change nothing. The identifier of the boot tells the clocks of two
machines and of two starts apart. The process that beats holds a lock on the file for writing, which
the kernel releases when the process ends; that works across containers, where process ids mean
nothing. Locks for reading, which strangers can have, mean nothing either.

The module imports little, because probes start a process for it every few seconds.
"""

from __future__ import annotations

import binascii
import errno
import os
import stat
import struct
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    Path: TypeAlias = str | os.PathLike[str]

#: Every file of a beat begins with this.
MAGIC = b"colonnade-beat "
#: The length of each record, so that one replaces another in a single write.
RECORD_BYTES = 128
_BOOT_ID = "/proc/sys/kernel/random/boot_id"
# struct flock of Linux on 64 bits: type, whence, start, length, process.
_LOCK = struct.Struct("@hhqqi4x")
_F_RDLCK, _F_WRLCK, _F_UNLCK = 0, 1, 2
# The whole of it, for one writer.
_FOR_WRITER = _LOCK.pack(_F_WRLCK, os.SEEK_SET, 0, 0, 0)
# A lock that only a writer can hold: anyone who may read the file could hold one for reading.
_FOR_READERS = _LOCK.pack(_F_RDLCK, os.SEEK_SET, 0, 0, 0)
# A read can meet a write half-way; then the next read does not.
_READS_MOST = 5
_FILES_MOST = 10_000


class StrangeFileError(Exception):
    """The path does not lead to the file of a beat; the text names what is there."""


class Record:
    """The content of the file: the process that beats, its machine, and its last beat."""

    def __init__(self, boot: str, pid: int, is_locked: bool, beat_ns: int) -> None:
        self.boot = boot
        self.pid = pid
        self.is_locked = is_locked
        self.beat_ns = beat_ns

    def encoded(self) -> bytes:
        """Return the bytes of the record."""
        text = f"1 boot={self.boot} pid={self.pid} lock={self.is_locked:d} beat={self.beat_ns}"
        body = MAGIC + text.encode()
        line = body + b" crc=%08x" % binascii.crc32(body)
        return line.ljust(RECORD_BYTES - 1) + b"\n"


def decoded(data: bytes) -> Record | None:
    """Return the record in these bytes; None if they are damaged.

    Raises StrangeFileError if they are something else.
    """
    if not data.startswith(MAGIC):
        raise StrangeFileError("is not the file of a beat")
    body, _, crc = data.rstrip().rpartition(b" crc=")
    if len(data) != RECORD_BYTES or crc != b"%08x" % binascii.crc32(body):
        return None
    try:
        version, *words = body.removeprefix(MAGIC).decode("ascii").split(" ")
        facts = dict(word.split("=", 1) for word in words)
        record = Record(facts["boot"], int(facts["pid"]), facts["lock"] == "1", int(facts["beat"]))
    except (KeyError, ValueError):
        return None
    return record if version == "1" else None


def boot_id() -> str:
    """The identifier of this start of the machine; "-" on systems that have none."""
    try:
        with open(_BOOT_ID, "rb") as file:  # noqa: PTH123 - pathlib takes longer to import
            return file.read(36).decode("ascii")
    except (OSError, ValueError):
        return "-"


def lock(descriptor: int) -> bool:
    """Lock a file for as long as its description is open; whether the system can.

    Raises BlockingIOError if another holds it, for writing or for reading.
    """
    # Unix has it. The commands and `_LOCK` are those of Linux.
    import fcntl

    command: int | None = getattr(fcntl, "F_OFD_SETLK", None)
    if command is None:
        return False
    try:
        fcntl.fcntl(descriptor, command, _FOR_WRITER)
    except BlockingIOError:
        raise
    except PermissionError as error:
        # POSIX lets a system say this instead.
        raise BlockingIOError(error.errno, error.strerror) from error
    except OSError:
        return False
    return True


def is_held(descriptor: int) -> bool | None:
    """Whether a process that beats holds the file; None if the system does not tell."""
    import fcntl

    command: int | None = getattr(fcntl, "F_OFD_GETLK", None)
    if command is None:
        return None
    try:
        answer = fcntl.fcntl(descriptor, command, _FOR_READERS)
    except OSError:
        return None
    return bool(_LOCK.unpack(answer)[0] != _F_UNLCK)


def is_alive(path: Path, max_age: float) -> bool:
    """Return whether the event loop that beats in this file did so within `max_age` seconds.

    False if there is no such file, if it is no file of a beat, if its process has ended, or if it
    was written on another machine or before the last start of this one. Where `path` is a folder,
    at least one process must beat in it, and all must be alive, except for ended ones.

    Raises only for bad arguments: TypeError or ValueError.
    """
    return judge(path, max_age)[0]


def judge(path: Path, max_age: float) -> tuple[bool, str]:
    """Return what `is_alive` does, with the reason in words."""
    name = checked_path(path)
    check_seconds("max_age", max_age)
    try:
        if stat.S_ISDIR(os.lstat(name).st_mode):
            return _judge_folder(name, max_age)
        outcome, said = _judge_file(name, max_age)
    except (StrangeFileError, OSError) as error:
        return False, f"{name!r} {_reason(error)}"
    return outcome == "alive", said


def _judge_folder(folder: str, max_age: float) -> tuple[bool, str]:
    """Judge all processes of a folder; ended ones do not count."""
    told: dict[str, list[str]] = {"alive": [], "hung": [], "ended": []}
    for name in _names(folder):
        try:
            outcome, said = _judge_file(name, max_age)
        except (StrangeFileError, OSError):
            continue
        told[outcome].append(said)
    if told["hung"]:
        return False, "; ".join(told["hung"])
    if told["alive"]:
        return True, "; ".join(told["alive"])
    return False, f"no process beats in the folder {folder!r}"


def ended(folder: str) -> list[str]:
    """The files of a folder whose processes have ended, and which nobody holds."""
    found: list[str] = []
    for name in _names(folder):
        try:
            record, held = _read(name)
        except (StrangeFileError, OSError):
            continue
        if record.is_locked and held is False:
            found.append(name)
    return found


def _names(folder: str) -> list[str]:
    with os.scandir(folder) as entries:
        return sorted(entry.path for _, entry in zip(range(_FILES_MOST), entries, strict=False))


def _judge_file(name: str, max_age: float) -> tuple[str, str]:
    """Return `alive`, `hung` or `ended`, and the reason.

    Raises StrangeFileError or OSError if there is no file of a beat.
    """
    record, held = _read(name)
    if record.boot != boot_id():
        return "ended", f"{name!r} was written on another machine, or before this one last started"
    age = (time.monotonic_ns() - record.beat_ns) / 1e9
    if record.is_locked and held is False:
        return "ended", f"process {record.pid} has ended; its last beat was {age:.1f} s ago"
    if age < 0:
        return "hung", f"{name!r} is of a process with another clock, {-age:.1f} s ahead"
    if age > max_age:
        late = f"process {record.pid} has not beaten for {age:.1f} s, more than {max_age:g} s"
        return "hung", f"{late}: its event loop hangs, or it is stopped"
    return "alive", f"process {record.pid} beat {age:.1f} s ago"


def _read(name: str) -> tuple[Record, bool | None]:
    """Return the record, and whether its process holds the file (None if that is unknown)."""
    # A pipe must not keep the reader waiting.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    descriptor = os.open(name, flags)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISFIFO(mode):
            raise StrangeFileError("is a pipe: its reader sees the beats, no one else can")
        if not stat.S_ISREG(mode):
            raise StrangeFileError("is not a regular file")
        for _ in range(_READS_MOST):
            held = is_held(descriptor)
            record = decoded(os.pread(descriptor, RECORD_BYTES + 1, 0))
            if record is not None:
                return record, held
        raise StrangeFileError("is damaged")
    finally:
        os.close(descriptor)


def _reason(error: Exception) -> str:
    if isinstance(error, StrangeFileError):
        return str(error)
    if isinstance(error, FileNotFoundError):
        return "does not exist"
    if isinstance(error, OSError) and error.errno == errno.ELOOP:
        return "is a symbolic link, which is not followed"
    words = error.strerror if isinstance(error, OSError) else None
    return f"cannot be read: {words or error}"


def checked_path(path: Path) -> str:
    """Return the path as a str. Raises TypeError or ValueError for anything else."""
    given: object = path
    name = os.fspath(given) if isinstance(given, str | os.PathLike) else None
    if not isinstance(name, str):
        from colonnade._words.shown import class_name

        raise TypeError(f"path must be a str or a path object, not {class_name(path)}")
    if not name or "\0" in name:
        raise ValueError("path must be a name without NUL characters, and not empty")
    # A subclass may have a `repr` of its own, which no message is to call.
    return str.__str__(name)


def check_seconds(option: str, value: float) -> None:
    """As `arguments.check_seconds`, whose module is imported for an odd value only."""
    if type(value) not in {int, float} or not 0 < value <= 10**9:
        from colonnade._words import arguments

        arguments.check_seconds(option, value)
