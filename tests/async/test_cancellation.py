# async-only: file
"""A cancelled task leaves its connection usable or closed; no later call gets its result."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade.errors import ConnectionDoesNotExistError, InterfaceError, QueryCanceledError
from tests.support.proxy import Proxy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    Call = Callable[[colonnade.Connection], Awaitable[object]]

pytestmark = pytest.mark.every_loop

MANY = "SELECT i, repeat('x', 100) FROM generate_series(1, 20000) i"


async def lines() -> AsyncIterator[bytes]:
    for _ in range(200):
        yield b"1\n" * 1000


async def fetch(connection: colonnade.Connection) -> object:
    return await connection.fetch(MANY)


async def fetch_columns(connection: colonnade.Connection) -> object:
    return await connection.fetch_columns(MANY)


async def iter_columns(connection: colonnade.Connection) -> object:
    return [len(batch) async for batch in connection.iter_columns(MANY, batch_rows=1000)]


async def execute(connection: colonnade.Connection) -> object:
    return await connection.execute(f"{MANY}; {MANY}")


async def execute_with_arguments(connection: colonnade.Connection) -> object:
    return await connection.execute(f"{MANY} WHERE i > $1", 5)


async def copy_in(connection: colonnade.Connection) -> object:
    return await connection.copy_to_table("sink", source=lines())


async def copy_out(connection: colonnade.Connection) -> object:
    async def take(chunk: bytes) -> None:
        del chunk

    return await connection.copy_from_query(MANY, output=take)


async def copy_columns_in(connection: colonnade.Connection) -> object:
    return await connection.copy_columns_to_table("sink", {"i": [1] * 20_000})


async def look_up(connection: colonnade.Connection) -> object:
    """Query types that need a look-up in the catalogs: a partial look-up must not be cached."""
    await connection.reload_schema_state()
    # The tables of the catalogs have had array types since PostgreSQL 14.
    suffix = "[]" if connection.get_server_version().major >= 14 else ""
    columns = await connection.fetch_columns(
        f"SELECT 1 AS one, null::pg_catalog.pg_ts_config{suffix} AS many"
    )
    assert "struct" in columns.fields[1].arrow_type
    return columns


CALLS = [
    fetch,
    fetch_columns,
    iter_columns,
    execute,
    execute_with_arguments,
    copy_in,
    copy_out,
    copy_columns_in,
    look_up,
]


async def wait_held(proxy: Proxy, task: asyncio.Task[object] | None = None) -> bool:
    """Whether the proxy holds bytes before the task is done."""
    async with asyncio.timeout(20):
        while not (proxy.held.is_set() or (task and task.done())):  # noqa: ASYNC110 - of a thread
            await asyncio.sleep(0.001)
    return proxy.held.is_set()


async def cancel(task: asyncio.Task[object]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def check_usable(connection: colonnade.Connection, number: int) -> None:
    """Check that the next call gets its own result."""
    async with asyncio.timeout(20):
        assert await connection.fetchval("SELECT $1::int", number) == number
        columns = await connection.fetch_columns("SELECT $1::int AS n", number)
    assert columns.to_pylist() == [{"n": number}]


@pytest.fixture
async def through(proxy: Proxy) -> AsyncIterator[colonnade.Connection]:
    """A connection through the proxy, with a table to copy into."""
    async with await colonnade.connect(f"{proxy.dsn}?sslmode=disable") as connection:
        await connection.execute("CREATE TEMPORARY TABLE sink (i int)")
        yield connection


@pytest.mark.parametrize("call", CALLS)
async def test_cancelled_at_every_turn_of_the_loop(
    connection: colonnade.Connection, call: Call
) -> None:
    """Cancelled after 0, 1, 2, ... turns: before the first byte, amid the answer, at its end."""
    await connection.execute("CREATE TEMPORARY TABLE sink (i int)")
    turns = 0
    while turns < 400:
        task = asyncio.ensure_future(call(connection))
        for _ in range(turns):
            await asyncio.sleep(0)
        if task.done():
            await task
            break
        await cancel(task)
        await check_usable(connection, turns)
        turns += 1 + turns // 4


@pytest.mark.parametrize("call", CALLS)
async def test_cancelled_while_the_server_is_silent(
    proxy: Proxy, through: colonnade.Connection, call: Call
) -> None:
    """The answer stops after `held` bytes, the task is cancelled, the answer continues."""
    for size in (0, 1, 5, 6, 30, 60, 61, 100, 150, 500, 5_000, 70_000):
        proxy.hold_after(size)
        task = asyncio.ensure_future(call(through))
        if not await wait_held(proxy, task):
            await task
            break
        await cancel(task)
        proxy.release()
        await check_usable(through, size)
    assert not through.is_closed()


async def test_connect_cancelled_at_many_bytes(dsn: str) -> None:
    # PostgreSQL 13 sends 318 bytes during startup, later versions send more.
    for size in (0, 1, 8, 9, 10, 50, 200, 300, 310):
        with Proxy(dsn) as proxy:
            proxy.hold_after(size)
            task = asyncio.ensure_future(colonnade.connect(f"{proxy.dsn}?sslmode=disable"))
            await wait_held(proxy)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task


async def test_connect_cancelled_at_every_turn_of_the_loop(dsn: str) -> None:
    unheard: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unheard.append(context))
    for turns in range(60):
        task = asyncio.ensure_future(colonnade.connect(dsn))
        for _ in range(turns):
            await asyncio.sleep(0)
        if task.done():
            await (await task).close()
            break
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    gc.collect()
    await asyncio.sleep(0.05)
    assert unheard == []


async def test_cancelled_twice(proxy: Proxy, through: colonnade.Connection) -> None:
    """The second call is cancelled while it waits for the end of the first."""
    proxy.hold_after(0)
    for _ in range(3):
        task = asyncio.ensure_future(fetch(through))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await cancel(task)
    proxy.release()
    await check_usable(through, 5)


async def test_a_stopped_query_stops_on_the_server(connection: colonnade.Connection) -> None:
    task = asyncio.ensure_future(connection.execute("SELECT pg_sleep(100)"))
    await asyncio.sleep(0.01)
    await cancel(task)
    await check_usable(connection, 1)


async def test_a_transaction_outlives_a_cancelled_query(connection: colonnade.Connection) -> None:
    await connection.execute("BEGIN")
    task = asyncio.ensure_future(connection.execute("SELECT pg_sleep(100)"))
    await asyncio.sleep(0.01)
    await cancel(task)
    await connection.execute("ROLLBACK")
    assert not connection.is_in_transaction()


async def test_where_cancelling_fails_the_connection_is_closed(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("colonnade._driver.transport.asyncio.RECOVERY_TIMEOUT_S", 0.1)
    connection = await colonnade.connect(f"{proxy.dsn}?sslmode=disable")
    proxy.hold_after(0)
    task = asyncio.ensure_future(fetch(connection))
    await wait_held(proxy)
    await cancel(task)
    with pytest.raises(InterfaceError, match="connection is closed"):
        await connection.fetch("SELECT 1")
    assert connection.is_closed()


# The end of a connection during a query


async def test_closed_during_a_query(connection: colonnade.Connection) -> None:
    task = asyncio.ensure_future(connection.fetch("SELECT pg_sleep(100)"))
    await asyncio.sleep(0.01)
    async with asyncio.timeout(10):
        await connection.close()
        with pytest.raises(QueryCanceledError, match="canceling statement"):
            await task
    assert connection.is_closed()


async def test_terminated_during_a_query(connection: colonnade.Connection) -> None:
    task = asyncio.ensure_future(connection.fetch("SELECT pg_sleep(0.2)"))
    await asyncio.sleep(0.01)
    connection.terminate()
    async with asyncio.timeout(10):
        with pytest.raises((InterfaceError, ConnectionDoesNotExistError), match="closed"):
            await task
    assert connection.is_closed()
    connection.terminate()
    await connection.close()


async def test_closed_while_a_cancelled_query_ends(proxy: Proxy) -> None:
    connection = await colonnade.connect(f"{proxy.dsn}?sslmode=disable")
    proxy.hold_after(0)
    task = asyncio.ensure_future(fetch(connection))
    await wait_held(proxy)
    await cancel(task)
    closing = asyncio.ensure_future(connection.close())
    await asyncio.sleep(0)
    proxy.release()
    await closing
    assert connection.is_closed()


async def test_close_within_a_timeout(proxy: Proxy) -> None:
    connection = await colonnade.connect(f"{proxy.dsn}?sslmode=disable")
    proxy.hold_after(0)
    task = asyncio.ensure_future(fetch(connection))
    await wait_held(proxy)
    with pytest.raises(TimeoutError):
        await connection.close(timeout=0.05)
    assert connection.is_closed()
    async with asyncio.timeout(10):
        with pytest.raises(QueryCanceledError):
            await task


# Two at once


async def test_two_operations_at_once(connection: colonnade.Connection) -> None:
    first = asyncio.ensure_future(connection.fetchval("SELECT 1 FROM pg_sleep(0.05)"))
    await asyncio.sleep(0)
    for call in (fetch, fetch_columns, iter_columns, execute, copy_in, copy_out):
        with pytest.raises(InterfaceError, match="another operation is in progress"):
            await call(connection)
    assert repr(connection).endswith("busy>")
    assert await first == 1
    await check_usable(connection, 2)


async def test_two_tasks_at_one_stream(proxy: Proxy, through: colonnade.Connection) -> None:
    proxy.hold_after(0)
    async with through.iter_columns("SELECT 1 AS n") as stream:
        first = asyncio.ensure_future(anext(stream))
        await wait_held(proxy)
        with pytest.raises(InterfaceError, match="another operation is in progress"):
            await anext(stream)
        proxy.release()
        async with asyncio.timeout(10):
            assert len(await first) == 1
    await check_usable(through, 3)


async def test_a_stream_dropped_after_its_loop(dsn: str) -> None:
    """Dropping a stream after its loop has closed warns only of the unclosed connection."""

    async def begin() -> tuple[colonnade.Connection, colonnade.ColumnStream]:
        connection = await colonnade.connect(dsn)
        stream = connection.iter_columns(MANY, batch_rows=10)
        await anext(stream)
        return connection, stream

    def run() -> None:
        loop = asyncio.new_event_loop()
        connection, stream = loop.run_until_complete(begin())
        connection.terminate()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
        del stream

    await asyncio.to_thread(run)
