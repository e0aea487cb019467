"""Proxies in front of the servers, and a check that no fault leaves anything behind."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.support.fault_proxy import FaultProxy
from tests.support.leftovers import BackendWatch, Leftovers
from tests.support.tls_shim import TlsShim, TlsVariant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from colonnade import embedded
    from tests.support.servers import ServerUnderTest
    from tests.support.tls_shim import Certificates

_END_SECONDS_MAX = 20.0
TYPES = (
    "DROP TYPE IF EXISTS faulted_pair; DROP TYPE IF EXISTS faulted_mood; "
    "CREATE TYPE faulted_mood AS ENUM ('sad', 'happy'); "
    "CREATE TYPE faulted_pair AS (a int4, m faulted_mood)"
)


@pytest.fixture(scope="session")
def plain_proxy(server: ServerUnderTest) -> Iterator[FaultProxy]:
    """A proxy in front of the session's server, which has the types that exchanges use."""
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(TYPES)
    with FaultProxy(server.dsn) as proxy:
        yield proxy


@pytest.fixture(scope="session")
def password_proxy(password_server: embedded.Server) -> Iterator[FaultProxy]:
    """A proxy in front of the server with passwords."""
    with FaultProxy(password_server.dsn) as proxy:
        yield proxy


@pytest.fixture(scope="session")
def tls_proxy(password_server: embedded.Server, certificates: Certificates) -> Iterator[FaultProxy]:
    """A proxy in front of the server with passwords, over TLS."""
    with tls_front(password_server, certificates) as proxy:
        yield proxy


@contextlib.contextmanager
def tls_front(server: embedded.Server, certificates: Certificates) -> Iterator[FaultProxy]:
    """A proxy with TLS in front of a server without it."""
    path = server.socket_dir / f".s.PGSQL.{server.port}"
    with (
        TlsShim(path, certificates, TlsVariant.GOOD) as shim,
        FaultProxy(f"postgresql://postgres@{shim.host}:{shim.port}/postgres") as proxy,
    ):
        yield proxy


@pytest.fixture(scope="session")
def watches(
    server: ServerUnderTest, password_server: embedded.Server
) -> Iterator[list[BackendWatch]]:
    """Connections that watch the backends of both servers."""
    with BackendWatch(server.dsn) as plain, BackendWatch(password_server.dsn) as knowing:
        yield [plain, knowing]


@pytest.fixture(autouse=True)
def nothing_left(
    watches: list[BackendWatch],
    plain_proxy: FaultProxy,
    password_proxy: FaultProxy,
    tls_proxy: FaultProxy,
) -> Iterator[None]:
    """Check that no sweep leaves sockets, threads or backends behind."""
    del plain_proxy, password_proxy, tls_proxy
    threads, leftovers = set(threading.enumerate()), [Leftovers(watch) for watch in watches]

    def left() -> list[object]:
        # Threads of a loop's executor end with the loop.
        begun = set(threading.enumerate()) - threads
        found = [thread for thread in begun if not thread.name.startswith("asyncio_")]
        return [*found, *(each for one in leftovers for each in one.found())]

    yield
    give_up = time.monotonic() + _END_SECONDS_MAX
    while (found := left()) and time.monotonic() < give_up:
        # Sockets and backends end a moment after the request.
        time.sleep(0.01)
    assert found == []
