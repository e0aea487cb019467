"""PgBouncer in front of a server, where it is installed."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

_START_SECONDS_MAX = 10.0
_POLL_SECONDS = 0.01


def program() -> str | None:
    """Where PgBouncer is; Debian keeps it out of users' way."""
    return shutil.which("pgbouncer", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def _knows_statements() -> bool:
    """Whether it can keep track of prepared statements."""
    printed = subprocess.run(
        [program() or "pgbouncer", "--version"], capture_output=True, text=True, check=True
    ).stdout
    major, minor, *_ = printed.split()[1].split(".")
    return (int(major), int(minor)) >= (1, 21)


class Pooler:
    """A PgBouncer of its own for one server; a context manager."""

    def __init__(self, dsn: str, mode: str, *, servers: int = 2) -> None:
        self._address = urlsplit(dsn)
        self._mode = mode
        self._servers = servers
        self._directory = tempfile.TemporaryDirectory(prefix="colonnade-pooler-")
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        directory = Path(self._directory.name)
        user = self._address.username or "postgres"
        (directory / "users.txt").write_text(f'"{user}" ""\n')
        (directory / "pgbouncer.ini").write_text(
            "[databases]\n"
            f"* = host={self._address.hostname} port={self._address.port}\n"
            "[pgbouncer]\n"
            f"listen_addr = 127.0.0.1\nlisten_port = {self.port}\nunix_socket_dir =\n"
            f"auth_type = trust\nauth_file = {directory / 'users.txt'}\n"
            f"pool_mode = {self._mode}\ndefault_pool_size = {self._servers}\n"
            + ("max_prepared_statements = 0\n" if _knows_statements() else "")
        )
        command = [program() or "pgbouncer", "-q", str(directory / "pgbouncer.ini")]
        if os.geteuid() == 0:
            # It refuses to be root.
            directory.chmod(0o755)
            command[1:1] = ["-u", "nobody"]
        log = (directory / "log").open("wb")
        with log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        for _ in _until(_START_SECONDS_MAX):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port)).close()
                return self
            if self._process.poll() is not None:
                break
        text = (directory / "log").read_text()
        self.__exit__()
        message = f"PgBouncer did not start: {text}"
        raise RuntimeError(message)

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
        self._directory.cleanup()

    @property
    def dsn(self) -> str:
        """The server's address, by way of the pooler."""
        login, _, _ = self._address.netloc.rpartition("@")
        return self._address._replace(netloc=f"{login}@127.0.0.1:{self.port}").geturl()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


def _until(seconds: float) -> Iterator[None]:
    give_up = time.monotonic() + seconds
    while time.monotonic() < give_up:
        yield
        time.sleep(_POLL_SECONDS)
