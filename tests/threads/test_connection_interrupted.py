"""Ctrl-C at every step of a call: the connection is usable or closed, without stray deadlines."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import pytest

import colonnade.sync
from colonnade import InterfaceError
from colonnade._driver.transport import threads
from colonnade.errors import QueryCanceledError
from tests.support.crowd import Crowd, see
from tests.support.interruptions import interrupted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# An interrupt within a finalizer reaches only the interpreter's hook.
pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

ROOMS = ("colonnade/_driver/_sync/", "colonnade/_driver/transport/")
STEPS_MAX = 3_000


def fetchval(connection: colonnade.sync.Connection) -> None:
    connection.fetchval("SELECT 1")


def fetchval_within_a_limit(connection: colonnade.sync.Connection) -> None:
    connection.fetchval("SELECT 1", timeout=60)


def fetch_columns_within_a_limit(connection: colonnade.sync.Connection) -> None:
    connection.fetch_columns("SELECT generate_series(1, 1000)", timeout=60)


def executemany(connection: colonnade.sync.Connection) -> None:
    connection.executemany("SELECT $1::int", [(n,) for n in range(3)])


def stream(connection: colonnade.sync.Connection) -> None:
    with connection.iter_columns("SELECT generate_series(1, 100)", batch_rows=60) as batches:
        for _ in batches:
            pass


def cancelled_query(connection: colonnade.sync.Connection) -> None:
    """A query with a timeout: most interrupts strike at its end."""
    with pytest.raises(TimeoutError):
        connection.fetch("SELECT pg_sleep(0.2)", timeout=0.001)


CALLS = [
    fetchval,
    fetchval_within_a_limit,
    fetch_columns_within_a_limit,
    executemany,
    stream,
    cancelled_query,
]


@pytest.mark.parametrize("call", CALLS)
def test_interrupted_at_every_step(dsn: str, call: Callable[[Any], None]) -> None:
    connection = colonnade.sync.connect(dsn)
    kept = 0
    for step in range(1, STEPS_MAX):
        if not interrupted(lambda: call(connection), step, ROOMS):  # noqa: B023 - called at once
            break
        assert threads.remaining() is None
        kept += not connection.is_closed()
        if connection.is_closed():
            connection = colonnade.sync.connect(dsn)
        assert connection.fetchval("SELECT $1::int", step, timeout=20) == step
        assert not connection.is_in_transaction()
    else:
        pytest.fail("it does not end")
    connection.close()
    gc.collect()
    assert step > 20
    assert kept > step / 4


def test_a_source_that_asks_the_connection_is_refused(
    connection: colonnade.sync.Connection,
) -> None:
    """The thread already holds the connection, and has not left it."""
    refusals: list[str] = []

    def lines() -> Iterator[bytes]:
        with pytest.raises(InterfaceError, match="another operation is in progress") as caught:
            connection.fetchval("SELECT 1")
        refusals.append(str(caught.value))
        yield b"1\n"

    connection.execute("CREATE TEMPORARY TABLE sink (i int)")
    assert connection.copy_to_table("sink", source=lines()) == "COPY 1"
    assert len(refusals) == 1


def test_a_copy_is_cancelled_while_its_thread_encodes(
    connection: colonnade.sync.Connection,
) -> None:
    """Meanwhile the other thread uses the session, but the copy can be cancelled."""
    connection.execute("CREATE TEMPORARY TABLE sink (i int8, t text)")
    data = {"i": list(range(300_000)), "t": ["x" * 100] * 300_000}
    with Crowd() as crowd:
        writing = crowd.start(connection.copy_columns_to_table, "sink", data)
        see(lambda: connection.conversation.owner is not None)
        while writing.is_alive:
            connection.cancel()
        with pytest.raises(QueryCanceledError):
            writing.end()
    assert not connection.is_closed()
