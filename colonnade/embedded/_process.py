"""The server's process: its start, its readiness, its guard against the owner's death, its end."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import threading
import time
from typing import TYPE_CHECKING

from colonnade.embedded._account import environment, has_death_signal
from colonnade.embedded._errors import EmbeddedServerError

if TYPE_CHECKING:
    from pathlib import Path

    from colonnade.embedded._account import Account
    from colonnade.embedded._binaries import Binaries
    from colonnade.embedded._directory import ServerDirectory

_POLL_SECONDS = 0.005
_LOG_TAIL_BYTES = 4096
_WATCHER_SECONDS_MAX = 5.0
# How long each kind of shutdown may take, the gentlest first.
_END_SIGNALS = (("SIGINT", 10.0), ("SIGQUIT", 5.0), ("SIGKILL", 5.0))
# The line of postmaster.pid that says whether the server accepts connections, counted from 0.
_STATUS_LINE = 7

# Interrupts the server if its standard input ends before a line arrives: the owner is dead.
_WATCHER = 'read -r line || kill -INT "$1" 2>/dev/null'


class AddressInUseError(EmbeddedServerError):
    """Another program has the port."""


class ServerProcess:
    """A running server, which ends however its owner ends."""

    def __init__(
        self, server: subprocess.Popen[bytes], watcher: subprocess.Popen[bytes] | None
    ) -> None:
        self._server = server
        self._watcher = watcher

    @property
    def pid(self) -> int:
        """The id of the postmaster, the parent of the server's other processes."""
        return self._server.pid

    @property
    def is_alive(self) -> bool:
        """Whether the main process has not ended."""
        return self._server.poll() is None

    def end(self) -> None:
        """Shut the server down, more and more firmly. It may be called twice."""
        for name, seconds_max in _END_SIGNALS:
            self._server.send_signal(signal.Signals[name])
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._server.wait(seconds_max)
                break
        self._dismiss_watcher()

    def forget(self) -> None:
        """Leave the processes to the parent, for the copy in a forked child."""
        self._server.returncode = 0
        if self._watcher is not None:
            self._watcher.returncode = 0
            if self._watcher.stdin is not None:
                self._watcher.stdin.close()

    def _dismiss_watcher(self) -> None:
        if self._watcher is None or self._watcher.stdin is None:
            return
        if not self._watcher.stdin.closed:
            with contextlib.suppress(BrokenPipeError):
                self._watcher.stdin.write(b"\n")
            self._watcher.stdin.close()
        try:
            self._watcher.wait(_WATCHER_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self._watcher.kill()
            self._watcher.wait()


def launch(
    binaries: Binaries,
    account: Account,
    directory: ServerDirectory,
    port: int,
    deadline: float,
) -> ServerProcess:
    """Start the server of a prepared data directory and wait until it accepts connections."""
    # The kernel's guard watches the thread that starts the server, and only the main thread
    # lives as long as the process.
    guarded = threading.current_thread() is threading.main_thread() and has_death_signal()
    log = os.open(
        directory.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
    )
    try:
        command = [str(binaries.postgres), "-D", str(directory.data), "-p", str(port)]
        server = account.spawn(command, directory.home, log, die_with_thread=guarded)
    finally:
        os.close(log)
    process = ServerProcess(server, None)
    try:
        if not guarded:
            process = ServerProcess(server, _watch(server.pid))
        _wait_until_ready(server, directory, port, deadline)
    except BaseException as error:
        process.end()
        if isinstance(error, EmbeddedServerError):
            raise _explained(error, binaries, directory) from None
        raise
    return process


def tail(log: Path) -> str:
    """Return the end of a log file, or nothing when there is none."""
    try:
        with log.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _LOG_TAIL_BYTES))
            return file.read().decode(errors="replace").strip()
    except OSError:
        return ""


def _watch(pid: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        ["/bin/sh", "-c", _WATCHER, "sh", str(pid)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        env=environment(),
        start_new_session=True,
    )


def _wait_until_ready(
    server: subprocess.Popen[bytes], directory: ServerDirectory, port: int, deadline: float
) -> None:
    address = os.fsencode(directory.home / f".s.PGSQL.{port}")
    while True:
        if _says_ready(directory.data) and _takes_connections(address):
            return
        code = server.poll()
        if code is not None:
            raise EmbeddedServerError(f"ended with exit code {code}")
        if time.monotonic() > deadline:
            raise EmbeddedServerError("accepted no connection in time (see `timeout`)")
        time.sleep(_POLL_SECONDS)


def _says_ready(data: Path) -> bool:
    try:
        lines = (data / "postmaster.pid").read_text(errors="replace").splitlines()
    except OSError:
        return False
    return len(lines) > _STATUS_LINE and lines[_STATUS_LINE].strip() == "ready"


def _takes_connections(address: bytes) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(address)
        except OSError:
            return False
    return True


def _explained(
    error: EmbeddedServerError, binaries: Binaries, directory: ServerDirectory
) -> EmbeddedServerError:
    log = tail(directory.log)
    text = (
        f"PostgreSQL {binaries.version} ({binaries.source}, {binaries.directory}) {error}. "
        f"The end of its log:\n{log or '(empty)'}"
    )
    kind = AddressInUseError if "Address already in use" in log else EmbeddedServerError
    return kind(text)
