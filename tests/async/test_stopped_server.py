"""A suspended server or a cut network: every call ends within its timeout."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade import embedded
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

pytestmark = pytest.mark.every_loop

# The limit in seconds for giving up a query, instead of ten.
RECOVERY_S = 0.4
# Additional seconds for a busy machine.
SLACK_S = 2.5


@pytest.fixture(scope="module")
def own_server() -> Iterator[embedded.Server]:
    """A server that these tests may suspend."""
    with embedded.start(tcp=True) as server:
        yield server


@pytest.fixture
async def stoppable(
    own_server: embedded.Server, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[colonnade.Connection]:
    monkeypatch.setattr("colonnade._driver.transport.asyncio.RECOVERY_TIMEOUT_S", RECOVERY_S)
    connection = await colonnade.connect(f"{own_server.dsn}?sslmode=disable")
    yield connection
    connection.terminate()
    await asyncio.sleep(0.01)


@contextlib.contextmanager
def stopped(server: embedded.Server, connection: colonnade.Connection) -> Iterator[None]:
    """Suspend the backend, and the process that accepts connections."""
    processes = [server.pid, connection.get_server_pid()]
    for process in processes:
        assert process is not None
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            assert process is not None
            # The backend may already have ended.
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """Check that the block takes no longer, plus an allowance for a busy machine."""
    began = time.monotonic()
    yield
    assert time.monotonic() - began < seconds + SLACK_S


async def test_a_timeout(own_server: embedded.Server, stoppable: colonnade.Connection) -> None:
    with stopped(own_server, stoppable):
        with within(0.1 + RECOVERY_S), pytest.raises(TimeoutError):
            await stoppable.fetch("SELECT 1", timeout=0.1)
        with within(RECOVERY_S), pytest.raises(InterfaceError, match="connection is closed"):
            await stoppable.fetch("SELECT 1")
    assert stoppable.is_closed()


async def test_close(own_server: embedded.Server, stoppable: colonnade.Connection) -> None:
    with stopped(own_server, stoppable), within(RECOVERY_S):
        await stoppable.close()
    assert stoppable.is_closed()


async def test_close_when_the_server_takes_no_more(
    own_server: embedded.Server, stoppable: colonnade.Connection
) -> None:
    """More bytes are waiting to be sent than the sockets can hold."""
    with stopped(own_server, stoppable):
        with within(0.1 + RECOVERY_S), pytest.raises(TimeoutError):
            await stoppable.fetch("SELECT $1::bytea", bytes(30_000_000), timeout=0.1)
        with within(RECOVERY_S):
            await stoppable.close()
    assert stoppable.is_closed()


async def test_close_with_a_stream(
    own_server: embedded.Server, stoppable: colonnade.Connection
) -> None:
    stream = stoppable.iter_columns("SELECT generate_series(1, 10000000)", batch_rows=10)
    assert len(await anext(stream)) == 10
    with stopped(own_server, stoppable):
        with within(0.1), pytest.raises(TimeoutError):
            await stoppable.close(timeout=0.1)
        assert stoppable.is_closed()
        with within(0), contextlib.suppress(InterfaceError, OSError):
            await stream.aclose()


async def test_terminate(own_server: embedded.Server, stoppable: colonnade.Connection) -> None:
    with stopped(own_server, stoppable), within(0):
        stoppable.terminate()
    assert stoppable.is_closed()


async def test_connect(own_server: embedded.Server, stoppable: colonnade.Connection) -> None:
    with stopped(own_server, stoppable):
        with within(0.1), pytest.raises(TimeoutError, match=r"within 0.1 s"):
            await colonnade.connect(own_server.dsn, timeout=0.1)
        with within(0.1), pytest.raises(TimeoutError, match=r"within 0.1 s"):
            await colonnade.connect(own_server.dsn, ssl="disable", timeout=0.1)
        with within(1), pytest.raises(TimeoutError, match="connect_timeout"):
            await colonnade.connect(f"{own_server.dsn}?connect_timeout=1")


# async-only: begin
async def test_a_cancelled_task(
    own_server: embedded.Server, stoppable: colonnade.Connection
) -> None:
    with stopped(own_server, stoppable):
        task = asyncio.ensure_future(stoppable.fetch("SELECT 1"))
        await asyncio.sleep(0.01)
        task.cancel()
        with within(0), pytest.raises(asyncio.CancelledError):
            await task
        with within(RECOVERY_S):
            await stoppable.close()
    assert stoppable.is_closed()


async def test_close_during_a_query(
    own_server: embedded.Server, stoppable: colonnade.Connection
) -> None:
    with stopped(own_server, stoppable):
        task = asyncio.ensure_future(stoppable.fetch("SELECT 1"))
        await asyncio.sleep(0.01)
        with within(0.1), pytest.raises(TimeoutError):
            await stoppable.close(timeout=0.1)
        with within(0), pytest.raises((colonnade.PostgresError, InterfaceError)):
            await task
    assert stoppable.is_closed()


# async-only: end
