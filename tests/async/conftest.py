"""A connection for each test, and a check that the test leaves nothing behind."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade import embedded
from tests.support.leftovers import BackendWatch, Leftovers
from tests.support.proxy import Proxy
from tests.support.servers import PASSWORD_ROLES, enable_tls

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from tests.support.servers import ServerUnderTest
    from tests.support.tls_shim import Certificates

_END_SECONDS_MAX = 10.0


@pytest.fixture(scope="session")
def watch(server: ServerUnderTest) -> Iterator[BackendWatch]:
    """A connection that watches the backends of the session's server, and ends them."""
    with BackendWatch(server.dsn) as watch:
        yield watch


@pytest.fixture(scope="session")
def tls_server(certificates: Certificates) -> Iterator[embedded.Server]:
    """A server with TLS, which has the same roles as the server with passwords."""
    for binaries in embedded.all_binaries():
        hba = ["hostnossl all tls_only all reject", "hostssl all tls_only all trust"]
        roles = [*PASSWORD_ROLES, embedded.Role("tls_only", method="trust")]
        with embedded.start(tcp=True, hba=hba, roles=roles, binaries=binaries) as server:
            if enable_tls(server, certificates):
                yield server
                return
    pytest.skip("none of the PostgreSQL installations was built with TLS")


@pytest.fixture(autouse=True)
async def nothing_left(watch: BackendWatch) -> AsyncIterator[None]:
    """Check that no test leaves tasks, sockets or backends behind."""
    leftovers = Leftovers(watch)
    yield
    # async-only: begin
    assert asyncio.all_tasks() == {asyncio.current_task()}
    # async-only: end
    give_up = time.monotonic() + _END_SECONDS_MAX
    while found := leftovers.found():
        # Sockets and backends end a moment after the request.
        await asyncio.sleep(0.002)
        if time.monotonic() > give_up:
            break
    assert found == []


@pytest.fixture
async def connection(dsn: str, nothing_left: None) -> AsyncIterator[colonnade.Connection]:
    """A connection to the session's server, over TCP."""
    del nothing_left
    async with await colonnade.connect(dsn) as connection:
        yield connection


@pytest.fixture
def proxy(dsn: str, nothing_left: None) -> Iterator[Proxy]:
    """A proxy in front of the session's server."""
    del nothing_left
    with Proxy(dsn) as proxy:
        yield proxy
