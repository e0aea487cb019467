"""A PostgreSQL that is killed and started again: it keeps its folder and its port."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any

import colonnade
from colonnade import embedded
from examples.service.commands import free_port

if TYPE_CHECKING:
    from pathlib import Path

_START_SECONDS_MAX = 60.0
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "restart_after_crash": "on",
    "max_wal_size": "48MB",
    "min_wal_size": "32MB",
    "shared_buffers": "32MB",
    "fsync": "off",
}


class Database:
    """A server in a folder of its own, over TCP; stopped by `stop`."""

    def __init__(self, folder: Path) -> None:
        self._data = folder / "data"
        self._log = folder / "log"
        self._binaries = embedded.find_binaries()
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        folder.chmod(0o755)
        self._run(folder)

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._port

    def dsn(self, port: int | None = None) -> str:
        """Its address, or that of a proxy before it."""
        return f"postgresql://postgres@127.0.0.1:{port or self._port}/postgres"

    @property
    def is_running(self) -> bool:
        """Whether its main process runs."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it, and wait until it takes connections; if it runs already, only wait.

        Backends of a server that was killed may live for a moment, and keep a new one from
        starting; so it is tried again. Raises TimeoutError with the end of the log.
        """
        give_up = time.monotonic() + _START_SECONDS_MAX
        while not self._answers():
            if time.monotonic() > give_up:
                raise TimeoutError(f"the database does not start: {self._log.read_text()[-2000:]}")
            if not self.is_running:
                self._launch()
            time.sleep(0.1)

    def end(self, how: signal.Signals) -> None:
        """End it: SIGINT is a fast shutdown; SIGKILL leaves all behind."""
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait()

    def stop(self) -> None:
        """End it for good."""
        if self.is_running:
            self.end(signal.SIGQUIT)

    def _run(self, folder: Path) -> None:
        """Make the data directory."""
        account = _account()
        if account:
            shutil.chown(folder, account["user"], account["group"])
        command = [str(self._binaries.initdb), "-D", str(self._data), "-U", "postgres"]
        options = ["--auth=trust", "--no-sync", "--encoding=UTF8", "--wal-segsize=8"]
        made = subprocess.run(
            [*command, *options],
            cwd=folder,
            env=_environment(),
            capture_output=True,
            check=False,
            **account,
        )
        if made.returncode:
            raise RuntimeError(f"initdb failed: {made.stderr.decode(errors='replace')}")

    def _launch(self) -> None:
        settings = [f"-c{name}={value}" for name, value in _SETTINGS.items()]
        account = _account()
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [str(self._binaries.postgres), "-D", str(self._data), f"-p{self._port}", *settings],
                cwd=self._data,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                user=account.get("user"),
                group=account.get("group"),
                extra_groups=account.get("extra_groups"),
            )

    def _answers(self) -> bool:
        with (
            contextlib.suppress(colonnade.PostgresError, colonnade.InterfaceError, OSError),
            colonnade.sync.connect(self.dsn(), timeout=5) as connection,
        ):
            return bool(connection.fetchval("SELECT NOT pg_is_in_recovery()"))
        return False


def _account() -> dict[str, Any]:
    """PostgreSQL does not run as root; then it is `nobody`."""
    if os.geteuid():
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _environment() -> dict[str, str]:
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("PG")},
        "LC_ALL": "C",
    }
