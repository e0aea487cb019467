"""Detects leftovers of a test: open sockets and files of this process, backends of the server."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from pathlib import Path
from typing import Self

import psycopg

ROOT = Path(__file__).resolve().parents[2]
"""The root of the checkout."""

_DESCRIPTORS = Path("/proc/self/fd")
_TCP_TABLE = Path("/proc/self/net/tcp")
_PEER_FIELD, _STATE_FIELD = 2, 3
_CLOSE_WAIT = "08"
_END_SECONDS_MAX = 10.0


def open_sockets() -> set[str]:
    """The inode numbers of this process's sockets; empty without Linux's /proc."""
    return set(_sockets().values())


def tcp_sockets_since(before: set[str]) -> set[str]:
    """The TCP sockets opened since `before`.

    Other sockets belong to event loops, which open and close them at any time.
    """
    return {
        inode for number, inode in _sockets().items() if inode not in before and _is_tcp(number)
    }


def _is_tcp(number: int) -> bool:
    # The kernel's table of all connections would tell, too, but takes milliseconds to read.
    try:
        with socket.socket(fileno=os.dup(number)) as copy:
            families = (socket.AF_INET, socket.AF_INET6)
            return copy.family in families and copy.type == socket.SOCK_STREAM
    except OSError:
        # A thread has closed it meanwhile.
        return False


def is_ended_by(port: int) -> bool:
    """Whether the FIN of a local server has arrived at this end of a connection."""
    lines = (line.split() for line in _TCP_TABLE.read_text("ascii").splitlines())
    peer = f":{port:04X}"
    return any(
        words[_PEER_FIELD].endswith(peer) and words[_STATE_FIELD] == _CLOSE_WAIT for words in lines
    )


def open_files() -> set[str]:
    """The open files of this process; empty without Linux's /proc."""
    names = _descriptors().values()
    return {name for name in names if name.startswith("/") and name[:6] != "/proc/"}


def resident_kib() -> int:
    """The resident memory of this process in KiB; 0 without Linux's /proc."""
    status = Path("/proc/self/status")
    lines = status.read_text("ascii").splitlines() if status.exists() else []
    return next((int(line.split()[1]) for line in lines if line.startswith("VmRSS:")), 0)


def _sockets() -> dict[int, str]:
    named = _descriptors().items()
    return {number: name[8:-1] for number, name in named if name.startswith("socket:[")}


def _descriptors() -> dict[int, str]:
    found = {}
    for descriptor in _DESCRIPTORS.iterdir() if _DESCRIPTORS.is_dir() else ():
        with contextlib.suppress(OSError):
            found[int(descriptor.name)] = str(descriptor.readlink())
    return found


class BackendWatch:
    """Watches the server's backends through libpq; a context manager."""

    def __init__(self, dsn: str) -> None:
        self._connection = psycopg.connect(dsn, autocommit=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def backends(self) -> dict[int, str]:
        """The other clients' backends by process id, with their current or last query."""
        rows = self._connection.execute(
            "SELECT pid, concat_ws(': ', state, query) FROM pg_stat_activity "
            "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        return dict(rows.fetchall())

    def execute(self, sql: str, *args: object) -> None:
        """Run a command."""
        self._connection.execute(sql.encode(), args)

    def end(self, pid: int | None) -> None:
        """End a backend, and wait until it is gone."""
        self._connection.execute("SELECT pg_terminate_backend(%s)", (pid,))
        give_up = time.monotonic() + _END_SECONDS_MAX
        while pid in self.backends():
            assert time.monotonic() < give_up, "the backend has not ended"
            time.sleep(0.002)


class Leftovers:
    """The sockets and backends that a test opens, and has to end; made before it begins."""

    def __init__(self, watch: BackendWatch) -> None:
        self._watch = watch
        self._sockets = open_sockets()
        self._backends = watch.backends()

    def found(self) -> list[object]:
        """The leftovers: sockets by their inodes, backends with their queries."""
        backends = self._watch.backends().items()
        return [
            *tcp_sockets_since(self._sockets),
            *(backend for backend in backends if backend[0] not in self._backends),
        ]
