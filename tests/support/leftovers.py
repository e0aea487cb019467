"""What a test may leave behind: open sockets of this process, backends of the server."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Self

import psycopg

_DESCRIPTORS = Path("/proc/self/fd")
_TCP_TABLES = (Path("/proc/self/net/tcp"), Path("/proc/self/net/tcp6"))
_INODE_FIELD = 9


def open_sockets() -> set[str]:
    """The TCP sockets of this process, as the kernel knows them; none without Linux's /proc.

    Sockets of other kinds belong to event loops, which make and close them as they like.
    """
    found = set()
    for descriptor in _DESCRIPTORS.iterdir() if _DESCRIPTORS.is_dir() else ():
        with contextlib.suppress(OSError):
            found.add(str(descriptor.readlink()))
    return {inode for inode in _tcp_inodes() if f"socket:[{inode}]" in found}


def _tcp_inodes() -> set[str]:
    lines = [line for table in _TCP_TABLES if table.exists() for line in _lines(table)]
    return {line.split()[_INODE_FIELD] for line in lines}


def _lines(table: Path) -> list[str]:
    return table.read_text("ascii").splitlines()[1:]


class BackendWatch:
    """Sees the server's backends through libpq; a context manager."""

    def __init__(self, dsn: str) -> None:
        self._connection = psycopg.connect(dsn, autocommit=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def backends(self) -> dict[int, str]:
        """The other clients' backends by process id, with what they run or ran last."""
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
        self._connection.execute("SELECT pg_terminate_backend(%s, 10000)", (pid,))
