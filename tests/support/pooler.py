"""PgBouncer in front of a server, if it is installed."""

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
    from collections.abc import Iterator, Mapping

_START_SECONDS_MAX = 30.0
_NEWER = Path(__file__).resolve().parents[2] / "build" / "pgbouncer" / "pgbouncer"
_POLL_SECONDS = 0.01


def program() -> str | None:
    """The path of PgBouncer, which Debian installs outside users' PATH."""
    return shutil.which("pgbouncer", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def newer_program() -> str | None:
    """The PgBouncer that `make servers` has installed in ``build``, 1.24 or later."""
    return str(_NEWER) if _NEWER.exists() else None


def _knows_statements(program: str) -> bool:
    """Whether it can track prepared statements."""
    printed = subprocess.run(
        [program, "--version"], capture_output=True, text=True, check=True
    ).stdout
    major, minor, *_ = printed.split()[1].split(".")
    return (int(major), int(minor)) >= (1, 21)


class Pooler:
    """A separate PgBouncer for one server; a context manager.

    `settings` are lines of its configuration; `users` are the names and passwords in its user
    file.
    """

    def __init__(
        self,
        dsn: str,
        mode: str,
        *,
        servers: int = 2,
        executable: str | None = None,
        settings: Mapping[str, object] | None = None,
        users: Mapping[str, str] | None = None,
    ) -> None:
        self._address = urlsplit(dsn)
        self._program = executable or program() or newer_program() or "pgbouncer"
        self._users = {self._address.username or "postgres": "", **(users or {})}
        self._settings: dict[str, object] = {
            "auth_type": "trust",
            "pool_mode": mode,
            "default_pool_size": servers,
        }
        if _knows_statements(self._program):
            self._settings["max_prepared_statements"] = 0
        self._settings |= settings or {}
        self._directory = tempfile.TemporaryDirectory(prefix="colonnade-pooler-")
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        directory = Path(self._directory.name)
        users = "".join(f'"{user}" "{secret}"\n' for user, secret in self._users.items())
        (directory / "users.txt").write_text(users)
        settings = "".join(f"{name} = {value}\n" for name, value in self._settings.items())
        (directory / "pgbouncer.ini").write_text(
            "[databases]\n"
            f"* = host={self._address.hostname} port={self._address.port}"
            f" user={self._address.username or 'postgres'}\n"
            "[pgbouncer]\n"
            f"listen_addr = 127.0.0.1\nlisten_port = {self.port}\nunix_socket_dir =\n"
            f"auth_file = {directory / 'users.txt'}\n{settings}"
        )
        command = [self._program, "-q", str(directory / "pgbouncer.ini")]
        if os.geteuid() == 0:
            # PgBouncer refuses to run as root.
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
            # On SIGTERM, newer versions wait for their clients.
            self._process.kill()
            self._process.wait()
        self._directory.cleanup()

    @property
    def dsn(self) -> str:
        """The server's DSN through the pooler."""
        login, _, _ = self._address.netloc.rpartition("@")
        return self._with_login(login)

    def dsn_for(self, user: str, password: str) -> str:
        """The DSN of the pooler for one of its users."""
        return self._with_login(f"{user}:{password}")

    def _with_login(self, login: str) -> str:
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
