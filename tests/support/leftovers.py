"""Detects leftovers of a test: open sockets and files of this process, backends of the server."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Self

import psycopg

ROOT = Path(__file__).resolve().parents[2]
"""The root of the checkout."""

_DESCRIPTORS = Path("/proc/self/fd")
_TCP_TABLES = (Path("/proc/self/net/tcp"), Path("/proc/self/net/tcp6"))
_PEER_FIELD, _STATE_FIELD, _INODE_FIELD = 2, 3, 9
_CLOSE_WAIT = "08"
_END_SECONDS_MAX = 10.0


def open_sockets() -> set[str]:
    """The inode numbers of this process's sockets; empty without Linux's /proc."""
    return {name[8:-1] for name in _descriptors() if name.startswith("socket:[")}


def tcp_sockets_since(before: set[str]) -> set[str]:
    """The TCP sockets opened since `before`.

    Other sockets belong to event loops, which open and close them at any time.
    """
    added = open_sockets() - before
    if not added:
        return added
    tables = (table.read_text("ascii") for table in _TCP_TABLES if table.exists())
    lines = (line.split() for table in tables for line in table.splitlines())
    return added & {words[_INODE_FIELD] for words in lines}


def is_ended_by(port: int) -> bool:
    """Whether the FIN of a local server has arrived at this end of a connection."""
    lines = (line.split() for line in _TCP_TABLES[0].read_text("ascii").splitlines())
    peer = f":{port:04X}"
    return any(
        words[_PEER_FIELD].endswith(peer) and words[_STATE_FIELD] == _CLOSE_WAIT for words in lines
    )


def open_files() -> set[str]:
    """The open files of this process; empty without Linux's /proc."""
    return {name for name in _descriptors() if name.startswith("/") and name[:6] != "/proc/"}


def resident_kib() -> int:
    """The resident memory of this process in KiB; 0 without Linux's /proc."""
    status = Path("/proc/self/status")
    lines = status.read_text("ascii").splitlines() if status.exists() else []
    return next((int(line.split()[1]) for line in lines if line.startswith("VmRSS:")), 0)


def _descriptors() -> set[str]:
    found = set()
    for descriptor in _DESCRIPTORS.iterdir() if _DESCRIPTORS.is_dir() else ():
        with contextlib.suppress(OSError):
            found.add(str(descriptor.readlink()))
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
