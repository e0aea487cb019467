# Generated from tests/async/test_stopped_server.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""A suspended server or a cut network: every call ends within its timeout."""

from __future__ import annotations

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
    from collections.abc import Iterator

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
def stoppable(
    own_server: embedded.Server, monkeypatch: pytest.MonkeyPatch
) -> Iterator[colonnade.sync.Connection]:
    monkeypatch.setattr("colonnade._driver.transport.blocking.RECOVERY_TIMEOUT_S", RECOVERY_S)
    connection = colonnade.sync.connect(f"{own_server.dsn}?sslmode=disable")
    yield connection
    connection.terminate()
    time.sleep(0.01)


@contextlib.contextmanager
def stopped(server: embedded.Server, connection: colonnade.sync.Connection) -> Iterator[None]:
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


def test_a_timeout(own_server: embedded.Server, stoppable: colonnade.sync.Connection) -> None:
    with stopped(own_server, stoppable):
        with within(0.1 + RECOVERY_S), pytest.raises(TimeoutError):
            stoppable.fetch("SELECT 1", timeout=0.1)
        with within(RECOVERY_S), pytest.raises(InterfaceError, match="connection is closed"):
            stoppable.fetch("SELECT 1")
    assert stoppable.is_closed()


def test_close(own_server: embedded.Server, stoppable: colonnade.sync.Connection) -> None:
    with stopped(own_server, stoppable), within(RECOVERY_S):
        stoppable.close()
    assert stoppable.is_closed()


def test_close_when_the_server_takes_no_more(
    own_server: embedded.Server, stoppable: colonnade.sync.Connection
) -> None:
    """More bytes are waiting to be sent than the sockets can hold."""
    with stopped(own_server, stoppable):
        with within(0.1 + RECOVERY_S), pytest.raises(TimeoutError):
            stoppable.fetch("SELECT $1::bytea", bytes(30_000_000), timeout=0.1)
        with within(RECOVERY_S):
            stoppable.close()
    assert stoppable.is_closed()


def test_close_with_a_stream(
    own_server: embedded.Server, stoppable: colonnade.sync.Connection
) -> None:
    stream = stoppable.iter_columns("SELECT generate_series(1, 10000000)", batch_rows=10)
    assert len(next(stream)) == 10
    with stopped(own_server, stoppable):
        with within(0.1), pytest.raises(TimeoutError):
            stoppable.close(timeout=0.1)
        assert stoppable.is_closed()
        with within(0), contextlib.suppress(InterfaceError, OSError):
            stream.close()


def test_terminate(own_server: embedded.Server, stoppable: colonnade.sync.Connection) -> None:
    with stopped(own_server, stoppable), within(0):
        stoppable.terminate()
    assert stoppable.is_closed()


def test_connect(own_server: embedded.Server, stoppable: colonnade.sync.Connection) -> None:
    with stopped(own_server, stoppable):
        with within(0.1), pytest.raises(TimeoutError, match=r"within 0.1 s"):
            colonnade.sync.connect(own_server.dsn, timeout=0.1)
        with within(0.1), pytest.raises(TimeoutError, match=r"within 0.1 s"):
            colonnade.sync.connect(own_server.dsn, ssl="disable", timeout=0.1)
        with within(1), pytest.raises(TimeoutError, match="connect_timeout"):
            colonnade.sync.connect(f"{own_server.dsn}?connect_timeout=1")
