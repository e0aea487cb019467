"""A connection closed during a call: the call fails with InterfaceError, and nothing is left."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import colonnade.sync
from colonnade.errors import InterfaceError
from tests.support.crowd import Crowd, see

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.leftovers import BackendWatch

    Connection = colonnade.sync.Connection

CLOSED = "the connection was closed by .* during this call"
SLOW = "SELECT 1 FROM pg_sleep(60)"
ENDLESS = "SELECT generate_series(1, 1000000000) AS i"


def fetching(connection: Connection) -> None:
    connection.fetchval(SLOW)


def fetching_columns(connection: Connection) -> None:
    connection.fetch_columns(SLOW, timeout=60)


def streaming(connection: Connection) -> None:
    for _ in connection.iter_columns(ENDLESS, batch_rows=1000):
        pass


def copying_out(connection: Connection) -> None:
    def forget(_: bytes) -> None:
        pass

    connection.copy_from_query(ENDLESS, output=forget)


def executing_many(connection: Connection) -> None:
    connection.executemany("SELECT $1::int, pg_sleep(0.01)", ((n,) for n in range(100_000)))


def copying_records(connection: Connection) -> None:
    connection.execute("CREATE TEMPORARY TABLE sink (i int8)")
    connection.copy_records_to_table("sink", records=((n,) for n in range(10**9)))


def copying_columns(connection: Connection) -> None:
    connection.execute("CREATE TEMPORARY TABLE sink (i int8)")

    def batches() -> Iterator[dict[str, Any]]:
        while True:
            yield {"i": np.arange(100_000)}

    connection.copy_columns_to_table("sink", batches())


def in_a_cursor(connection: Connection) -> None:
    with connection.transaction():
        cursor = connection.cursor("SELECT 1 FROM pg_sleep(60)").open()
        cursor.fetch(10)


def in_a_pipeline(connection: Connection) -> None:
    with connection.pipeline() as pipeline:
        pipeline.fetchval("SELECT 1")
        pipeline.fetchval(SLOW)


CALLS = [
    fetching,
    fetching_columns,
    streaming,
    copying_out,
    executing_many,
    copying_records,
    copying_columns,
    in_a_cursor,
    in_a_pipeline,
]


def is_busy(connection: Connection) -> bool:
    return connection.conversation.owner is not None


def is_at_work(connection: Connection, watch: BackendWatch, pid: int | None) -> bool:
    """Whether a call is inside, and the server has begun its statement.

    A cancel request that overtakes the statement on its way has no effect: a backend that then
    sleeps does not notice that its client has gone.
    """
    return is_busy(connection) and watch.backends().get(pid or 0, "").startswith("active")


def finish(dsn: str, pid: int | None) -> None:
    """End the backend of a connection that was closed without a message to the server."""
    with colonnade.sync.connect(dsn) as other:
        other.fetchval("SELECT pg_terminate_backend($1)", pid)


@pytest.mark.parametrize("end", ["close", "terminate"])
@pytest.mark.parametrize("call", CALLS)
def test_by_another_thread(
    dsn: str, watch: BackendWatch, call: Callable[[Connection], None], end: str
) -> None:
    connection = colonnade.sync.connect(dsn)
    pid = connection.get_server_pid()
    with Crowd() as crowd:
        calling = crowd.start(call, connection)
        see(lambda: is_at_work(connection, watch, pid))
        getattr(connection, end)()
        assert connection.is_closed()
        with pytest.raises(InterfaceError, match=CLOSED):
            calling.end()
    with pytest.raises(InterfaceError, match="connection is closed"):
        connection.fetchval("SELECT 1")
    assert connection.conversation.transport._socket.fileno() == -1
    if end == "terminate":
        finish(dsn, pid)
    see(lambda: pid not in watch.backends())


@pytest.mark.parametrize("end", ["close", "terminate"])
@pytest.mark.parametrize("call", CALLS)
def test_by_the_handler_of_a_signal(
    dsn: str, watch: BackendWatch, call: Callable[[Connection], None], end: str
) -> None:
    connection = colonnade.sync.connect(dsn)
    pid = connection.get_server_pid()

    def handler(*_: object) -> None:
        getattr(connection, end)()
        assert connection.is_closed()

    main = threading.main_thread().ident or 0

    def strike() -> None:
        see(lambda: is_at_work(connection, watch, pid))
        signal.pthread_kill(main, signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with Crowd() as crowd:
            crowd.start(strike)
            with pytest.raises(InterfaceError, match=CLOSED):
                call(connection)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert connection.conversation.transport._socket.fileno() == -1
    if end == "terminate":
        finish(dsn, pid)


def test_by_a_source_of_the_call_itself(dsn: str) -> None:
    connection = colonnade.sync.connect(dsn)
    connection.execute("CREATE TEMPORARY TABLE sink (i int8)")

    def batches() -> Iterator[dict[str, Any]]:
        yield {"i": np.arange(10)}
        connection.close()
        yield {"i": np.arange(10)}

    with pytest.raises(InterfaceError, match=CLOSED):
        connection.copy_columns_to_table("sink", batches())
    assert connection.is_closed()


def test_by_what_encodes_an_argument(dsn: str) -> None:
    """The call is inside the session, which cannot be used at that moment."""
    connection = colonnade.sync.connect(dsn)

    class Number:
        def __index__(self) -> int:
            connection.close()
            return 1

    assert connection.fetchval("SELECT $1::int8", 1) == 1
    with pytest.raises(InterfaceError, match="closed"):
        connection.fetchval("SELECT $1::int8", Number())
    assert connection.is_closed()
    assert connection.conversation.transport._socket.fileno() == -1


def test_a_pool_is_terminated_under_its_calls(dsn: str) -> None:
    with Crowd() as crowd:
        pool = colonnade.sync.create_pool(dsn, min_size=2, max_size=2)
        lent = [pool.acquire() for _ in range(2)]
        numbers = [one.get_server_pid() for one in lent]
        connections = [one._con for one in lent if one._con is not None]
        calls = [crowd.start(one.fetchval, SLOW) for one in lent]
        see(lambda: all(map(is_busy, connections)))
        pool.terminate()
        for calling in calls:
            with pytest.raises(InterfaceError, match=CLOSED):
                calling.end()
    for number in numbers:
        finish(dsn, number)


def test_a_pools_connection_is_closed_under_its_call(dsn: str) -> None:
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=1) as pool, Crowd() as crowd:
        one = pool.acquire()
        connection = one._con
        assert connection is not None
        number = one.get_server_pid()
        calling = crowd.start(one.fetchval, SLOW)
        see(lambda: is_busy(connection))
        one.close()
        with pytest.raises(InterfaceError, match=CLOSED):
            calling.end()
        assert pool.fetchval("SELECT 1") == 1
    finish(dsn, number)


def test_an_idle_stream_and_pipeline_end_in_good_order(dsn: str) -> None:
    """No call is inside: the server gets Terminate, and the stream reports the closing."""
    connection = colonnade.sync.connect(dsn)
    stream = connection.iter_columns(ENDLESS, batch_rows=1000)
    next(stream)
    connection.close()
    with pytest.raises(InterfaceError, match="connection is closed"):
        next(stream)
    connection = colonnade.sync.connect(dsn)
    with connection.pipeline() as pipeline:
        assert pipeline.fetchval("SELECT 1").wait() == 1
        connection.close()
