"""Situations of blocking connections only: threads, and Ctrl-C."""

from __future__ import annotations

import _socket
import contextlib
import signal
import socket
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade.errors import ConnectionDoesNotExistError, InterfaceError
from tests.support.leftovers import open_sockets, tcp_sockets_since
from tests.support.proxy import Proxy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MANY = "SELECT i, repeat('x', 100) AS t FROM generate_series(1, 200000) i"
WAIT_SECONDS_MAX = 20.0


@pytest.fixture(autouse=True)
def no_sockets_left() -> Iterator[None]:
    before = open_sockets()
    yield
    assert tcp_sockets_since(before) == set()


@pytest.fixture
def connection(dsn: str) -> Iterator[colonnade.sync.Connection]:
    with colonnade.sync.connect(dsn) as connection:
        yield connection


def in_threads(*functions: Callable[[], None]) -> None:
    """Run the functions in parallel; raise the first failing one's exception."""
    failures: list[BaseException] = []

    def run(function: Callable[[], None]) -> None:
        try:
            function()
        except BaseException as failure:  # noqa: BLE001 - raised in the test's thread
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_SECONDS_MAX)
        assert not thread.is_alive()
    if failures:
        raise failures[0]


# Threads


def test_threads_wait_at_the_same_time(dsn: str) -> None:
    """Each query ends only while the other runs: a waiting thread does not hold the interpreter."""

    def fetch(mine: int, other: int) -> None:
        with colonnade.sync.connect(dsn) as connection:
            connection.fetchval(f"SELECT 1 FROM pg_advisory_lock({mine})")
            deadline = time.monotonic() + WAIT_SECONDS_MAX
            seen = f"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = {other}"
            while not connection.fetchval(seen):
                assert time.monotonic() < deadline
            met.wait(WAIT_SECONDS_MAX)

    met = threading.Barrier(2)
    in_threads(lambda: fetch(4711, 4712), lambda: fetch(4712, 4711))


def test_the_interpreter_is_free_while_a_thread_waits(dsn: str) -> None:
    with Proxy(dsn) as proxy, colonnade.sync.connect(f"{proxy.dsn}?sslmode=disable") as connection:
        proxy.hold_after(100_000)
        rows: list[int] = []
        thread = threading.Thread(target=lambda: rows.append(len(connection.fetch_columns(MANY))))
        thread.start()
        proxy.wait_held()
        # The main thread gets here only if the other one releases the interpreter within its
        # result.
        assert rows == []
        proxy.release()
        thread.join(WAIT_SECONDS_MAX)
        assert rows == [200_000]


def test_the_interpreter_is_free_while_a_thread_decodes(
    connection: colonnade.sync.Connection,
) -> None:
    """With a switch interval of hours, threads switch only when one releases the interpreter."""
    turns: list[int] = []
    done = threading.Event()

    def count() -> None:
        while not done.is_set():
            turns.append(1)
            time.sleep(0)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(3600)
    try:
        thread = threading.Thread(target=count)
        thread.start()
        before = len(turns)
        connection.fetch_columns(MANY)
        after = len(turns)
        done.set()
        thread.join(WAIT_SECONDS_MAX)
    finally:
        sys.setswitchinterval(interval)
    assert after - before > 10


def test_many_threads_with_a_connection_each(dsn: str) -> None:
    def work() -> None:
        with colonnade.sync.connect(dsn) as connection:
            for _ in range(3):
                columns = connection.fetch_columns(MANY)
                assert columns["i"][-1] == 200_000
                assert len(connection.fetch("SELECT generate_series(1, 1000)")) == 1000

    in_threads(*[work] * 4)


def test_two_threads_at_one_connection(dsn: str) -> None:
    with Proxy(dsn) as proxy, colonnade.sync.connect(f"{proxy.dsn}?sslmode=disable") as connection:
        proxy.hold_after(0)
        values: list[int] = []
        thread = threading.Thread(target=lambda: values.append(connection.fetchval("SELECT 1")))
        thread.start()
        proxy.wait_held()
        with pytest.raises(InterfaceError, match="another operation is in progress"):
            connection.fetch("SELECT 2")
        proxy.release()
        thread.join(WAIT_SECONDS_MAX)
        assert values == [1]
        assert connection.fetchval("SELECT 3") == 3


def test_terminated_by_another_thread(dsn: str) -> None:
    with Proxy(dsn) as proxy:
        connection = colonnade.sync.connect(f"{proxy.dsn}?sslmode=disable")
        proxy.hold_after(0)
        failures: list[Exception] = []

        def fetch() -> None:
            try:
                connection.fetch(MANY)
            except (InterfaceError, ConnectionDoesNotExistError) as error:
                failures.append(error)

        thread = threading.Thread(target=fetch)
        thread.start()
        proxy.wait_held()
        connection.terminate()
        thread.join(WAIT_SECONDS_MAX)
        assert not thread.is_alive()
        assert len(failures) == 1
        assert connection.is_closed()


# Ctrl-C


@contextlib.contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """Raise KeyboardInterrupt in the main thread after a delay, like Ctrl-C."""
    former = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)


def test_interrupted_while_waiting(connection: colonnade.sync.Connection) -> None:
    for call in (connection.fetch, connection.fetch_columns, connection.execute):
        begun = time.monotonic()
        with pytest.raises(KeyboardInterrupt), interrupted_after(0.05):
            call("SELECT pg_sleep(100)")
        assert time.monotonic() - begun < 5
        assert connection.fetchval("SELECT 'mine'") == "mine"


def test_interrupted_while_connecting(dsn: str) -> None:
    with Proxy(dsn) as proxy:
        proxy.hold_after(0)
        with pytest.raises(KeyboardInterrupt), interrupted_after(0.05):
            colonnade.sync.connect(f"{proxy.dsn}?sslmode=disable")


def test_interrupted_anywhere(dsn: str) -> None:
    """At any time of a query: the connection is usable or closed, and gets its own results."""
    connection = colonnade.sync.connect(dsn)
    seconds, closed, completed, rounds = 0.00002, 0, 0, 0
    while completed < 3:
        rounds += 1
        rows = None
        with contextlib.suppress(KeyboardInterrupt), interrupted_after(seconds):
            rows = connection.fetch_columns(MANY)
        if rows is not None:
            assert len(rows) == 200_000
            completed += 1
        if connection.is_closed():
            closed += 1
            connection.close()
            connection = colonnade.sync.connect(dsn)
        assert connection.fetchval("SELECT 'mine'") == "mine"
        seconds = seconds * 1.2 + 0.0001
        assert seconds < WAIT_SECONDS_MAX
    # The connection is closed only if its state is unknown: between the socket and the session. On
    # a busy machine, interrupts strike there more often.
    assert closed <= rounds / 2
    connection.close()


def test_interrupted_amid_a_copy(connection: colonnade.sync.Connection) -> None:
    connection.execute("CREATE TEMPORARY TABLE t (i int)")

    def endless() -> Iterator[bytes]:
        while True:
            yield b"1\n" * 10_000

    with pytest.raises(KeyboardInterrupt), interrupted_after(0.1):
        connection.copy_to_table("t", source=endless())
    if not connection.is_closed():
        assert connection.fetchval("SELECT count(*) FROM t") == 0


def test_interrupted_amid_a_stream(connection: colonnade.sync.Connection) -> None:
    def consume() -> None:
        # The block closes the stream, because a traceback would keep it alive. More rows than any
        # machine can read before the interrupt.
        endless = "SELECT generate_series(1, 1000000000) AS i"
        with connection.iter_columns(endless, batch_rows=10) as stream:
            for batch in stream:
                assert len(batch) == 10

    with pytest.raises(KeyboardInterrupt), interrupted_after(0.1):
        consume()
    if not connection.is_closed():
        assert connection.fetchval("SELECT 'mine'") == "mine"


def test_interrupted_as_its_query_was_sent(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody knows then how much was sent: the connection is closed, and its query cancelled."""

    def send(link: socket.socket, data: memoryview) -> int:
        sent = _socket.socket.send(link, data)
        if b"pg_sleep" in bytes(data):
            raise KeyboardInterrupt
        return sent

    active = "SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND state = 'active'"
    with colonnade.sync.connect(dsn) as watcher, colonnade.sync.connect(dsn) as connection:
        pid = connection.get_server_pid()
        with monkeypatch.context() as patch:
            patch.setattr(socket.socket, "send", send, raising=False)
            with pytest.raises(KeyboardInterrupt):
                connection.execute("SELECT pg_sleep(600)")
        assert connection.is_closed()
        assert any(watcher.fetchval(active, pid) == 0 for _ in range(10_000))
