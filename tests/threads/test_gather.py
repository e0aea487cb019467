"""Gathers whose threads cannot start, and whose connections give no answer."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

import colonnade.sync
from colonnade import Query
from colonnade._driver.gather.threads import Workers
from tests.support.fault_proxy import FaultProxy
from tests.support.faults import Fault, Kind, Way

if TYPE_CHECKING:
    from collections.abc import Iterator

# No address space has room for two such stacks.
_HUGE_STACK_BYTES = 1 << 46


@pytest.fixture
def no_threads() -> Iterator[None]:
    before = threading.stack_size(_HUGE_STACK_BYTES)
    yield
    threading.stack_size(before)


@pytest.fixture
def pool(dsn: str) -> Iterator[colonnade.sync.Pool]:
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=4) as pool:
        yield pool


@pytest.mark.usefixtures("no_threads")
def test_a_shared_query_that_could_not_begin_is_not_waited_for(pool: colonnade.sync.Pool) -> None:
    query = {"a": Query.value("SELECT 1", shared=True)}
    with pytest.raises(RuntimeError, match="can't start new thread"):
        pool.gather(query)
    threading.stack_size(0)
    assert pool.gather(query, deadline=10)["a"] == 1


@pytest.mark.usefixtures("no_threads")
def test_no_query_goes_on_if_a_thread_cannot_start(pool: colonnade.sync.Pool) -> None:
    sleeping = {str(number): Query.value("SELECT pg_sleep(60)") for number in range(4)}
    with pytest.raises(RuntimeError, match="can't start new thread"):
        pool.gather(sleeping)
    assert pool.get_stats().busy == 0


def test_a_silent_connection_is_closed_in_the_end(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("colonnade._driver.gather.threads.RECOVERY_TIMEOUT_S", 0.5)
    with (
        FaultProxy(dsn) as proxy,
        proxy.door() as door,
        colonnade.sync.connect(dsn) as watcher,
        colonnade.sync.connect(door.dsn) as connection,
    ):
        pid = connection.get_server_pid()
        door.arm(Fault(Kind.SILENCE, Way.SERVER, 0))
        assert isinstance(_stopped(connection), colonnade.InterfaceError)
        assert connection.is_closed()
        # The requests to cancel have arrived: only the answer has not.
        give_up = time.monotonic() + 20
        while watcher.fetchval("SELECT state = 'active' FROM pg_stat_activity WHERE pid = $1", pid):
            assert time.monotonic() < give_up, "the query is still running"


def test_a_connection_without_a_key_to_cancel_is_closed(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with colonnade.sync.connect(dsn) as connection:
        # As through a proxy that gives no key.
        monkeypatch.setattr(connection.conversation, "cancel_request", None)
        assert isinstance(_stopped(connection, seconds=2), colonnade.InterfaceError)
        assert connection.is_closed()


def _stopped(connection: colonnade.sync.Connection, seconds: float = 60) -> Exception | None:
    """Stop the workers amid a query of this connection, and return what the query raised."""
    workers = Workers()
    raised: list[Exception | None] = []

    def work() -> None:
        workers.begins(connection.conversation)
        try:
            connection.fetchval("SELECT 1 FROM pg_sleep($1)", seconds)
        except Exception as error:  # noqa: BLE001 - the test compares it
            raised.append(error)
        else:
            raised.append(None)
        finally:
            workers.ended(connection.conversation)

    worker = threading.Thread(target=work)
    worker.start()
    time.sleep(0.1)
    workers.stop()
    worker.join(30)
    (error,) = raised
    return error
