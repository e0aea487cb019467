"""The servers of the tests, and the roles of the server with passwords."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unittest import mock

import psycopg
from psycopg import sql

from colonnade import embedded
from colonnade.embedded import _process
from colonnade.embedded._account import current_account
from colonnade.embedded._configuration import write_hba
from colonnade.embedded._process import launch
from tests.support.processes import is_alive

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from colonnade.embedded._directory import ServerDirectory
    from tests.support.tls_shim import Certificates


_END_SECONDS_MAX = 30.0
_START_SECONDS_MAX = 60.0


@dataclass(frozen=True)
class ServerUnderTest:
    """The addresses of the session's server.

    ``embedded`` and ``socket_dsn`` are missing when the environment names the server.
    """

    dsn: str
    socket_dsn: str | None = None
    embedded: embedded.Server | None = None


#: Every password method, with an ASCII password and one that SCRAM has to prepare (a non-breaking
#: space becomes a space, the fraction is normalised to three characters).
PASSWORD_ROLES = (
    embedded.Role("scram_plain", "correct horse", "scram-sha-256"),
    embedded.Role("scram_words", "pässwörd\N{NO-BREAK SPACE}½ 密码", "scram-sha-256"),
    embedded.Role("md5_plain", "correct horse", "md5"),
    embedded.Role("md5_words", "pässwörd 密码", "md5"),
    embedded.Role("cleartext_plain", "correct horse", "password"),
    embedded.Role("cleartext_words", "pässwörd 密码", "password"),
)


def start_standby(**options: Any) -> embedded.Server:
    """Start a server that stays in recovery, like a standby that waits for its primary."""

    def write_signal(data: Path, *arguments: Any) -> None:
        write_hba(data, *arguments)
        signal, owner = data / "standby.signal", data.stat()
        signal.touch()
        os.chown(signal, owner.st_uid, owner.st_gid)

    with mock.patch("colonnade.embedded._server.write_hba", write_signal):
        return embedded.start(**options)


def enable_tls(server: embedded.Server, certificates: Certificates) -> bool:
    """Enable TLS with the good certificate; return False if the server was built without TLS."""
    owner = server.data_dir.stat()
    file = server.data_dir / "server.pem"
    file.touch(0o600)
    file.write_bytes(certificates.good_file.read_bytes())
    os.chown(file, owner.st_uid, owner.st_gid)
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        try:
            for name in ("ssl_cert_file", "ssl_key_file"):
                connection.execute(f"ALTER SYSTEM SET {name} = 'server.pem'".encode())
            connection.execute("ALTER SYSTEM SET ssl = on")
        except psycopg.errors.Error:
            return False
        connection.execute("SELECT pg_reload_conf()")
    # A new connection shows whether the server accepted the configuration.
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        shown = connection.execute("SHOW ssl").fetchone()
    return shown == ("on",)


#: The signals that shut a server down, and whether it then waits for its clients.
ENDINGS = {"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}


def shut_down(server: embedded.Server, ending: str) -> None:
    """Tell a server to shut down; `start_again` waits until it has."""
    os.kill(server.pid, ENDINGS[ending])


def crash(server: embedded.Server, backend: int) -> None:
    """Kill a backend; the server then ends all others, and recovers.

    The server is suspended until the backend is dead: otherwise it might accept a connection
    before it notices, and end that one as well.
    """
    os.kill(server.pid, signal.SIGSTOP)
    try:
        os.kill(backend, signal.SIGKILL)
        give_up = time.monotonic() + _END_SECONDS_MAX
        while is_alive(backend):
            assert time.monotonic() < give_up, "the backend does not end"
            time.sleep(0.002)
    finally:
        os.kill(server.pid, signal.SIGCONT)


def start_again(server: embedded.Server) -> None:
    """Start a server that was told to shut down, with the same port and data."""
    server._process._server.wait(_END_SECONDS_MAX)
    server._process.end()
    deadline = time.monotonic() + _START_SECONDS_MAX
    server._process = launch(
        server.binaries, current_account(), server._directory, server.port, deadline
    )


@contextlib.contextmanager
def starting_up(server: embedded.Server, ending: str = "fast") -> Iterator[None]:
    """Restart a server; during the block it recovers and accepts no connections."""
    released = server.data_dir / "released"
    # The loop also ends by itself, because a killed server leaves its child behind.
    looks = f'for _ in $(seq 3000); do test -e "{released}" && exit 1; sleep 0.02; done'
    owner = server.data_dir.stat()
    released.unlink(missing_ok=True)
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        quoted = sql.Literal(looks)
        connection.execute(sql.SQL("ALTER SYSTEM SET restore_command = {}").format(quoted))
        # The first accepted connection shows that startup has finished.
        connection.execute("ALTER SYSTEM SET hot_standby = off")
    shut_down(server, ending)
    server._process._server.wait(_END_SECONDS_MAX)
    mark = server.data_dir / "recovery.signal"
    mark.touch()
    os.chown(mark, owner.st_uid, owner.st_gid)
    with mock.patch("colonnade.embedded._process._wait_until_ready", _wait_until_it_listens):
        start_again(server)
    try:
        yield
    finally:
        released.touch()
        deadline = time.monotonic() + _START_SECONDS_MAX
        _process._wait_until_ready(
            server._process._server, server._directory, server.port, deadline
        )


def _wait_until_it_listens(
    process: object, directory: ServerDirectory, port: int, deadline: float
) -> None:
    """Wait until the server answers, even with a refusal."""
    del process
    address = os.fsencode(directory.home / f".s.PGSQL.{port}")
    while not _process._takes_connections(address):
        assert time.monotonic() < deadline, "the server does not listen"
        time.sleep(0.002)


def start_replica(primary: embedded.Server, **options: Any) -> embedded.Server:
    """Start a hot standby of a primary, from a new base backup."""

    def take_backup(*arguments: Any) -> None:
        account, data = arguments[1], arguments[3]
        with psycopg.connect(primary.dsn, autocommit=True) as connection:
            modern = connection.info.server_version >= 150000
            begin, end = (
                ("pg_backup_start('replica', true)", "pg_backup_stop(false)")
                if modern
                else ("pg_start_backup('replica', true, false)", "pg_stop_backup(false, false)")
            )
            connection.execute(f"SELECT {begin}".encode())
            shutil.copytree(primary.data_dir, data, ignore=_NOT_IN_BACKUPS, symlinks=True)
            row = connection.execute(f"SELECT labelfile FROM {end}".encode()).fetchone()
        assert row is not None
        (data / "backup_label").write_text(row[0], "utf-8")
        (data / "standby.signal").touch()
        account.take(data)

    settings = {"primary_conninfo": f"{primary.dsn}?application_name=replica"}
    settings |= options.pop("settings", {})
    with mock.patch("colonnade.embedded._server.copy_template", take_backup):
        return embedded.start(tcp=True, settings=settings, **options)


_NOT_IN_BACKUPS = shutil.ignore_patterns("postmaster.*", "pgsql_tmp*", "0000000*")
