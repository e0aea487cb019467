# Generated from tests/async/test_flow.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""The flow of large results: no read waits for bytes that will not come, none reads too much."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade._driver.transport.low_water import LARGE_BYTES, MARK_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.proxy import Proxy

DEADLINE_S = 10.0
ROW_BYTES = 1000
# The overhead of a row on the wire: tag and length, number of columns, length of the value.
ON_WIRE_BYTES = ROW_BYTES + 5 + 2 + 4
PAUSE_S = 0.1


@pytest.fixture(autouse=True)
def in_time() -> Iterator[None]:
    begun = time.monotonic()
    yield
    assert time.monotonic() - begun < DEADLINE_S


@pytest.fixture(params=["dsn", "socket_dsn"], ids=["tcp", "unix"])
def connection(
    request: pytest.FixtureRequest, nothing_left: None
) -> Iterator[colonnade.sync.Connection]:
    """A connection over TCP and over TLS: each has its own way to be woken less often."""
    del nothing_left
    with colonnade.sync.connect(request.getfixturevalue(request.param)) as connection:
        yield connection


def result_of(size: int, tail: int = 0) -> tuple[str, int]:
    """A query whose result has this many bytes, and its number of rows."""
    rows = size // ON_WIRE_BYTES
    query = f"SELECT repeat('x', {ROW_BYTES}) AS t FROM generate_series(1, {rows})"
    query += f" UNION ALL SELECT 'x' FROM generate_series(1, {tail})"
    return query, rows + tail


@pytest.mark.parametrize(
    "size",
    [
        LARGE_BYTES - MARK_BYTES,
        LARGE_BYTES - 1,
        LARGE_BYTES,
        LARGE_BYTES + 1,
        LARGE_BYTES + MARK_BYTES - 1,
        LARGE_BYTES + MARK_BYTES,
        LARGE_BYTES * 4,
    ],
)
def test_a_large_result_with_a_small_tail(connection: colonnade.sync.Connection, size: int) -> None:
    for tail in (0, 1, 100):
        query, rows = result_of(size, tail)
        assert len(connection.fetch_columns(query)) == rows
        assert connection.fetchval("SELECT 1") == 1


def test_rows_and_copies_and_streams(connection: colonnade.sync.Connection) -> None:
    query, rows = result_of(LARGE_BYTES * 2, 1)
    assert len(connection.fetch(query)) == rows
    assert connection.execute(query) == f"SELECT {rows}"
    batches = [len(batch) for batch in connection.iter_columns(query, batch_rows=1000)]
    assert sum(batches) == rows
    assert connection.fetchval("SELECT 1") == 1


@pytest.mark.parametrize("dribble", [1, 10, 1000])
def test_a_stall_and_then_a_few_bytes_at_a_time(proxy: Proxy, dribble: int) -> None:
    query, rows = result_of(LARGE_BYTES + MARK_BYTES + 5_000, 1)
    with colonnade.sync.connect(f"{proxy.dsn}?sslmode=disable") as connection:
        proxy.hold_after(LARGE_BYTES + MARK_BYTES)
        resume(proxy, dribble)
        assert len(connection.fetch_columns(query)) == rows
        assert connection.fetchval("SELECT 1") == 1


def test_stalls_all_along(proxy: Proxy) -> None:
    query, rows = result_of(LARGE_BYTES * 3, 1)
    with colonnade.sync.connect(f"{proxy.dsn}?sslmode=disable") as connection:
        proxy.stall_every(LARGE_BYTES // 2, 0.02)
        assert len(connection.fetch_columns(query)) == rows
        assert connection.fetchval("SELECT 1") == 1


def resume(proxy: Proxy, dribble: int) -> None:
    """Let the rest pass a moment after the proxy holds it."""
    import threading

    def run() -> None:
        proxy.wait_held()
        time.sleep(PAUSE_S)
        proxy.release(dribble=dribble)

    threading.Thread(target=run, daemon=True).start()


def test_a_slow_server(connection: colonnade.sync.Connection) -> None:
    rows = LARGE_BYTES * 2 // ROW_BYTES
    query = (
        f"SELECT repeat('x', {ROW_BYTES}), CASE WHEN i % 2000 = 0 THEN pg_sleep(0.05) END "
        f"FROM generate_series(1, {rows}) i"
    )
    begun = time.monotonic()
    assert len(connection.fetch(query)) == rows
    assert time.monotonic() - begun < 0.05 * rows / 2000 + 5


def test_a_large_result_that_is_cancelled(connection: colonnade.sync.Connection) -> None:
    query = f"SELECT repeat('x', {ROW_BYTES}) FROM generate_series(1, 1000000)"
    for batches in (1, 10):
        stream = connection.iter_columns(query, batch_rows=1000)
        for _ in range(batches):
            assert len(next(stream)) == 1000
        stream.close()
        assert connection.fetchval("SELECT 1") == 1
    with pytest.raises(TimeoutError):
        connection.execute(query, timeout=0.3)
    assert connection.fetchval("SELECT 1") == 1


# Back-pressure


def test_a_slow_consumer_holds_the_server_back(proxy: Proxy) -> None:
    query, rows = result_of(100_000_000)
    with colonnade.sync.connect(f"{proxy.dsn}?sslmode=disable") as connection:
        stream = connection.iter_columns(query, batch_rows=1000)
        assert len(next(stream)) == 1000
        before, still = -1, 0
        while still < 5:
            time.sleep(0.02)
            still = still + 1 if proxy.first.received_bytes == before else 0
            before = proxy.first.received_bytes
        # A few batches, and the contents of two socket buffers.
        assert before < 25_000_000
        got = 1000
        for batch in stream:
            got += len(batch)
        assert got == rows
