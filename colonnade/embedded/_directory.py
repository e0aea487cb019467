"""The directories of private servers: one each, locked by its owner, removed by any survivor.

All server directories of a user are in one base directory. Each contains::

    owner       locked (flock) while the owning process lives
    server.log  what PostgreSQL prints
    r/          of the server's account, which may be `nobody`: no file in it is trusted
        data/       the data directory
        .s.PGSQL.*  the socket

Invariant: a directory is created and locked under the base's own lock. So a process that holds the
base's lock and can lock ``owner`` knows that the owner is dead.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from colonnade.embedded._errors import EmbeddedServerError

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Generator

    from colonnade.embedded._account import Account

_OWNER = "owner"
_PREFIX = "s-"
# Room for "/s-xxxxxxxx/r/.s.PGSQL.65535.lock" after the base's name. The limits are those of
# sun_path without its final NUL.
_SOCKET_PATH_BYTES_MAX = 103 if sys.platform == "darwin" else 107
_SOCKET_NAME_BYTES = len("/s-xxxxxxxx/r/.s.PGSQL.65535")
_ORPHAN_SECONDS_MAX = 5.0
_OPEN_LOCK = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class ServerDirectory:
    """The directory of one server, with the lock that proves its owner alive."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self.home = path / "r"
        self.data = self.home / "data"
        self.log = path / "server.log"
        self._lock: int | None = lock

    def remove(self) -> None:
        """Delete everything, then release the lock."""
        shutil.rmtree(self.path, ignore_errors=True)
        self.forget()

    def forget(self) -> None:
        """Close the lock file without deleting, for the copy in a forked child."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def create(base: Path, account: Account) -> ServerDirectory:
    """Create and lock a new directory for a server of this process."""
    with locked(base / "lock"):
        path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
        lock = os.open(path / _OWNER, _OPEN_LOCK, 0o600)
        _lock_at_once(lock)
    directory = ServerDirectory(path, lock)
    directory.home.mkdir(0o700)
    if account.uid is not None:
        path.chmod(0o711)
    return directory


def sweep(base: Path) -> None:
    """Stop and remove servers in the base directory whose owners are dead."""
    stale: list[ServerDirectory] = []
    with locked(base / "lock"):
        for path in base.glob(f"{_PREFIX}*"):
            try:
                if path.lstat().st_uid != os.geteuid():
                    # Its account can change what is in it.
                    continue
                lock = os.open(path / _OWNER, _OPEN_LOCK, 0o600)
            except OSError:
                # Its owner is removing it right now.
                continue
            if _lock_at_once(lock):
                stale.append(ServerDirectory(path, lock))
            else:
                os.close(lock)
    for directory in stale:
        _stop_orphan(directory.data)
        directory.remove()


def base_directory(account: Account) -> Path:
    """Return the base directory of this user, created if missing.

    It is in the temporary directory, or in /tmp if that name is too long for a socket or the
    account cannot enter it.
    """
    uid = os.geteuid()
    for parent in dict.fromkeys((tempfile.gettempdir(), "/tmp", "/var/tmp")):  # noqa: S108
        base = Path(parent, f"colonnade-{uid}").absolute()
        length = len(os.fsencode(base)) + _SOCKET_NAME_BYTES
        if length > _SOCKET_PATH_BYTES_MAX or not account.can_enter(base.parent):
            continue
        # Others may pass through root's directory, because `nobody` must, but cannot list it.
        try:
            base.mkdir(0o700)
        except FileExistsError:
            pass
        except OSError:
            continue
        found = base.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != uid:
            # Another user created this predictable name first: it is not trusted.
            base = Path(tempfile.mkdtemp(prefix=f"colonnade-{uid}-", dir=parent))
            length = len(os.fsencode(base)) + _SOCKET_NAME_BYTES
            if length > _SOCKET_PATH_BYTES_MAX:
                base.rmdir()
                continue
        base.chmod(0o700 if account.uid is None else 0o711)
        return base
    raise EmbeddedServerError(
        f"No temporary directory has a name short enough for a socket (at most "
        f"{_SOCKET_PATH_BYTES_MAX} bytes with the socket's own name) that PostgreSQL can enter: "
        f"tried {tempfile.gettempdir()}, /tmp and /var/tmp. Set TMPDIR to another one."
    )


@contextlib.contextmanager
def locked(path: Path) -> Generator[None, None, None]:
    """Hold an exclusive lock on a file, created if missing, against other processes and threads."""
    lock = os.open(path, _OPEN_LOCK, 0o600)
    try:
        if sys.platform != "win32":
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _lock_at_once(descriptor: int) -> bool:
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise
    return True


def _stop_orphan(data: Path) -> None:
    """End the server of a dead owner, by force at the deadline."""
    pid = _postmaster_of(data)
    if pid is None:
        return
    deadline = time.monotonic() + _ORPHAN_SECONDS_MAX
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGQUIT)
        while _postmaster_of(data) == pid and time.monotonic() < deadline:
            time.sleep(0.01)
        if _postmaster_of(data) == pid:
            os.kill(pid, signal.SIGKILL)


def _postmaster_of(data: Path) -> int | None:
    """Return the process id of the server that runs on a data directory, if there is one.

    Another process may have the id in the file by now, so its command line must also name the
    directory.
    """
    try:
        pid = int((data / "postmaster.pid").read_text(errors="replace").split("\n", 1)[0])
    except (OSError, ValueError):
        return None
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        command = _command_by_ps(pid)
    return pid if os.fsencode(data) in command else None


def _command_by_ps(pid: int) -> bytes:
    if Path("/proc/self").exists():
        return b""
    try:
        answer = subprocess.run(
            ["ps", "-ww", "-o", "command=", "-p", str(pid)],
            capture_output=True,
            timeout=_ORPHAN_SECONDS_MAX,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return b""
    return answer.stdout
