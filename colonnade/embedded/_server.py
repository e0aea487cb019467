"""A private server from its start to its removal."""

from __future__ import annotations

import atexit
import os
import socket
import threading
import time
from typing import TYPE_CHECKING, Self
from urllib.parse import quote

from colonnade._words.arguments import checked_timeout
from colonnade.embedded import _directory
from colonnade.embedded._account import current_account
from colonnade.embedded._binaries import find_binaries
from colonnade.embedded._configuration import (
    create_roles,
    write_hba,
    write_settings,
)
from colonnade.embedded._errors import EmbeddedServerError
from colonnade.embedded._process import AddressInUseError, launch, tail
from colonnade.embedded._template import copy_template, reachable_binaries

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from colonnade.embedded._account import Account
    from colonnade.embedded._binaries import Binaries
    from colonnade.embedded._configuration import Role
    from colonnade.embedded._directory import ServerDirectory
    from colonnade.embedded._process import ServerProcess

_LOOPBACK = "127.0.0.1"
_SOCKET_PORT = 5432
_PORT_ATTEMPTS_MAX = 20


class Server:
    """A running private PostgreSQL server, removed with its data by `stop` or at exit.

    `start` creates it. As a context manager it stops at the end of the block.
    """

    def __init__(
        self,
        directory: ServerDirectory,
        binaries: Binaries,
        process: ServerProcess,
        *,
        port: int,
        tcp: bool,
    ) -> None:
        self._directory = directory
        self._binaries = binaries
        self._process = process
        self._port = port
        self._tcp = tcp
        self._stopped = False
        # Reentrant: a signal handler may stop the server while the main thread does.
        self._stop_lock = threading.RLock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        state = "stopped" if self._stopped else "running"
        return f"<Server PostgreSQL {self.version} at {self.host}:{self.port}, {state}>"

    @property
    def binaries(self) -> Binaries:
        """The installation it runs."""
        return self._binaries

    @property
    def version(self) -> str:
        """The version of PostgreSQL, such as "18.6"."""
        return self._binaries.version

    @property
    def host(self) -> str:
        """127.0.0.1 when it listens on TCP, else the directory of its socket."""
        return _LOOPBACK if self._tcp else str(self.socket_dir)

    @property
    def port(self) -> int:
        """The TCP port, which also names the socket."""
        return self._port

    @property
    def pid(self) -> int:
        """The id of the server's main process."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the server's main process is alive and belongs to this process."""
        return not self._stopped and self._process.is_alive

    @property
    def socket_dir(self) -> Path:
        """The directory of the socket; only this user can enter it."""
        return self._directory.home

    @property
    def data_dir(self) -> Path:
        """The data directory."""
        return self._directory.data

    @property
    def dsn(self) -> str:
        """The superuser's address: over TCP when the server listens there, else the socket."""
        return self.dsn_for("postgres")

    @property
    def socket_dsn(self) -> str:
        """The superuser's address over the socket."""
        return self.dsn_for("postgres", tcp=False)

    def dsn_for(
        self,
        user: str,
        password: str | None = None,
        *,
        database: str = "postgres",
        tcp: bool | None = None,
    ) -> str:
        """Return the address for a user; `tcp` chooses between TCP and the socket."""
        over_tcp = self._tcp if tcp is None else tcp
        if over_tcp and not self._tcp:
            raise EmbeddedServerError("This server has only a socket: start it with tcp=True.")
        login = quote(user, safe="")
        if password is not None:
            login += ":" + quote(password, safe="")
        path = quote(database, safe="")
        if over_tcp:
            return f"postgresql://{login}@{_LOOPBACK}:{self.port}/{path}"
        host = quote(str(self.socket_dir), safe="/")
        return f"postgresql://{login}@/{path}?host={host}&port={self.port}"

    def log_tail(self) -> str:
        """Return the end of the server's log."""
        return tail(self._directory.log)

    def stop(self) -> None:
        """End the server, breaking its connections, and delete its data. It may be called twice."""
        # In a forked child the copies are stopped; a thread missing there may hold their lock.
        if self._stopped:
            return
        with self._stop_lock:
            # Each step can be repeated: the next stop finishes an interrupted one.
            self._process.end()
            self._directory.remove()
            self._stopped = True
            _running.discard(self)

    def _forget(self) -> None:
        """Give up ownership: a forked child must not stop its parent's server."""
        self._stopped = True
        self._process.forget()
        self._directory.forget()


def start(
    *,
    tcp: bool = False,
    settings: Mapping[str, str] | None = None,
    hba: Sequence[str] = (),
    roles: Sequence[Role] = (),
    version: int | None = None,
    binaries: Binaries | None = None,
    timeout: float = 30.0,
) -> Server:
    """Start a private server that lives at most as long as this process.

    Its data directory is new, with the superuser ``postgres``, who needs no password, and the
    database ``postgres``. Its socket is in a directory that only this user can enter. With `tcp` it
    listens on a free port of 127.0.0.1 as well: every user of this machine may then connect as
    superuser, unless `hba` forbids it.

    `settings` go to postgresql.conf; durability is off, because the data is temporary. `hba` are
    lines for the top of pg_hba.conf; `roles` are created, with their own lines after these.
    `version` selects a major version, `binaries` an installation. A server that accepts no
    connection within `timeout` seconds is stopped.

    The server ends with `Server.stop`, at the exit of this process, or soon after this process was
    killed; the next start removes the files of a killed process.

    Raises `EmbeddedServerError` if there is no installation, or if the server does not start.
    """
    checked_timeout(timeout)
    account = current_account()
    base = _directory.base_directory(account)
    _directory.sweep(base)
    chosen = reachable_binaries(binaries or find_binaries(version), account, base)
    directory = _directory.create(base, account)
    try:
        copy_template(chosen, account, base, directory.data)
        listen = {"listen_addresses": _LOOPBACK if tcp else ""}
        own = {"unix_socket_directories": str(directory.home)}
        write_settings(directory.data, {**listen, **(settings or {}), **own})
        write_hba(directory.data, hba, roles)
        account.take(directory.home)
        create_roles(directory.data, roles, chosen, account)
        return _launch(directory, chosen, account, tcp=tcp, timeout=timeout)
    except BaseException:
        directory.remove()
        raise


def _launch(
    directory: ServerDirectory, binaries: Binaries, account: Account, *, tcp: bool, timeout: float
) -> Server:
    deadline = time.monotonic() + timeout
    attempts_left = _PORT_ATTEMPTS_MAX
    while True:
        port = _free_port() if tcp else _SOCKET_PORT
        try:
            process = launch(binaries, account, directory, port, deadline)
        except AddressInUseError:
            # A port cannot be reserved for another program; the next attempt takes another one.
            attempts_left -= 1
            if not tcp or attempts_left == 0:
                raise
            continue
        server = Server(directory, binaries, process, port=port, tcp=tcp)
        _running.add(server)
        return server


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((_LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


# The servers of this process. Adding and discarding are atomic, so a fork leaves no lock held.
_running: set[Server] = set()


@atexit.register
def _stop_all() -> None:
    for server in list(_running):
        server.stop()


def _forget_all() -> None:
    for server in list(_running):
        server._forget()  # noqa: SLF001
    _running.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
