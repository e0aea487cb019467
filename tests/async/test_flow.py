"""The flow of large results: no read waits for bytes that will not come, none reads too much."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade._driver.transport.low_water import LARGE_BYTES, MARK_BYTES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from tests.support.proxy import Proxy

pytestmark = pytest.mark.every_loop

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
async def connection(
    request: pytest.FixtureRequest, nothing_left: None
) -> AsyncIterator[colonnade.Connection]:
    """A connection over TCP and over TLS: each has its own way to be woken less often."""
    del nothing_left
    async with await colonnade.connect(request.getfixturevalue(request.param)) as connection:
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
async def test_a_large_result_with_a_small_tail(
    connection: colonnade.Connection, size: int
) -> None:
    for tail in (0, 1, 100):
        query, rows = result_of(size, tail)
        assert len(await connection.fetch_columns(query)) == rows
        assert await connection.fetchval("SELECT 1") == 1


async def test_rows_and_copies_and_streams(connection: colonnade.Connection) -> None:
    query, rows = result_of(LARGE_BYTES * 2, 1)
    assert len(await connection.fetch(query)) == rows
    assert await connection.execute(query) == f"SELECT {rows}"
    batches = [len(batch) async for batch in connection.iter_columns(query, batch_rows=1000)]
    assert sum(batches) == rows
    assert await connection.fetchval("SELECT 1") == 1


# async-only: begin
@pytest.mark.parametrize(
    ("query", "part"),
    [
        ("SELECT i FROM generate_series(1, 400000) i", 10),
        (result_of(LARGE_BYTES)[0], 2),
        # Each array is a list of 250 objects.
        ("SELECT array_fill(i, '{250}') FROM generate_series(1, 3000) i", 10),
    ],
)
async def test_records_are_made_of_smaller_reads(
    connection: colonnade.Connection, query: str, part: int
) -> None:
    # All records of one read are made at once, and a record takes longer than a row of columns.
    # Where values are long, the objects of a larger read take as long.
    rows = len(await connection.fetch_columns(query))
    whole = connection.conversation.transport.window_bytes
    assert len(await connection.fetch(query)) == rows
    window = connection.conversation.transport.window_bytes
    assert window == pytest.approx(whole / part, rel=0.1)
    # A value larger than a read is read in larger pieces.
    assert await connection.fetchval("SELECT repeat('x', $1)", LARGE_BYTES) == "x" * LARGE_BYTES


async def test_short_rows_behind_long_ones_are_read_in_small_pieces_again(
    connection: colonnade.Connection,
) -> None:
    query, _ = result_of(LARGE_BYTES, 400_000)
    await connection.fetch(query)
    assert connection.conversation.transport.window_bytes < 32 * 1024


# async-only: end
@pytest.mark.parametrize("dribble", [1, 10, 1000])
async def test_a_stall_and_then_a_few_bytes_at_a_time(proxy: Proxy, dribble: int) -> None:
    query, rows = result_of(LARGE_BYTES + MARK_BYTES + 5_000, 1)
    async with await colonnade.connect(f"{proxy.dsn}?sslmode=disable") as connection:
        proxy.hold_after(LARGE_BYTES + MARK_BYTES)
        resume(proxy, dribble)
        assert len(await connection.fetch_columns(query)) == rows
        assert await connection.fetchval("SELECT 1") == 1


async def test_stalls_all_along(proxy: Proxy) -> None:
    query, rows = result_of(LARGE_BYTES * 3, 1)
    async with await colonnade.connect(f"{proxy.dsn}?sslmode=disable") as connection:
        proxy.stall_every(LARGE_BYTES // 2, 0.02)
        assert len(await connection.fetch_columns(query)) == rows
        assert await connection.fetchval("SELECT 1") == 1


def resume(proxy: Proxy, dribble: int) -> None:
    """Let the rest pass a moment after the proxy holds it."""
    import threading

    def run() -> None:
        proxy.wait_held()
        time.sleep(PAUSE_S)
        proxy.release(dribble=dribble)

    threading.Thread(target=run, daemon=True).start()


async def test_a_slow_server(connection: colonnade.Connection) -> None:
    rows = LARGE_BYTES * 2 // ROW_BYTES
    query = (
        f"SELECT repeat('x', {ROW_BYTES}), CASE WHEN i % 2000 = 0 THEN pg_sleep(0.05) END "
        f"FROM generate_series(1, {rows}) i"
    )
    begun = time.monotonic()
    assert len(await connection.fetch(query)) == rows
    assert time.monotonic() - begun < 0.05 * rows / 2000 + 5


async def test_a_large_result_that_is_cancelled(connection: colonnade.Connection) -> None:
    query = f"SELECT repeat('x', {ROW_BYTES}) FROM generate_series(1, 1000000)"
    for batches in (1, 10):
        stream = connection.iter_columns(query, batch_rows=1000)
        for _ in range(batches):
            assert len(await anext(stream)) == 1000
        await stream.aclose()
        assert await connection.fetchval("SELECT 1") == 1
    with pytest.raises(TimeoutError):
        await connection.execute(query, timeout=0.3)
    assert await connection.fetchval("SELECT 1") == 1


# Back-pressure


async def test_a_slow_consumer_holds_the_server_back(proxy: Proxy) -> None:
    query, rows = result_of(100_000_000)
    async with await colonnade.connect(f"{proxy.dsn}?sslmode=disable") as connection:
        stream = connection.iter_columns(query, batch_rows=1000)
        assert len(await anext(stream)) == 1000
        before, still = -1, 0
        while still < 5:
            await asyncio.sleep(0.02)
            still = still + 1 if proxy.first.received_bytes == before else 0
            before = proxy.first.received_bytes
        # A few batches, and the contents of two socket buffers.
        assert before < 25_000_000
        got = 1000
        async for batch in stream:
            got += len(batch)
        assert got == rows


# async-only: begin
async def test_the_loop_is_free_while_a_result_comes_in(connection: colonnade.Connection) -> None:
    """Other callbacks run between the reads of one result."""
    query, rows = result_of(LARGE_BYTES * 8)
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    counting = asyncio.ensure_future(count())
    assert len(await connection.fetch_columns(query)) == rows
    counting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await counting
    # At most two full receive buffers are read in one turn.
    assert turns >= LARGE_BYTES * 8 // (2 * 256 * 1024)


# async-only: end
