# async-only: file
"""Tasks that start to run when they are created, as with Python 3.12's eager task factory."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from tests.support.until import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.support.proxy import Proxy

FACTORY: Any = getattr(asyncio, "eager_task_factory", None)
pytestmark = [
    pytest.mark.every_loop,
    pytest.mark.skipif(FACTORY is None, reason="eager tasks came with Python 3.12"),
]
_SECONDS_MAX = 30.0


@pytest.fixture(autouse=True)
async def eager(nothing_left: None) -> AsyncIterator[None]:
    """Make every task of the test's loop eager."""
    del nothing_left
    loop = asyncio.get_running_loop()
    loop.set_task_factory(make_eager)
    yield
    loop.set_task_factory(None)


def make_eager(
    loop: asyncio.AbstractEventLoop, work: Any, *, eager_start: Any = None, **options: Any
) -> asyncio.Task[Any]:
    """Make an eager task; drop arguments of uvloop that only Python 3.14's factory accepts."""
    del eager_start
    task: asyncio.Task[Any] = FACTORY(loop, work, **options)
    return task


async def test_connections(dsn: str, socket_dsn: str) -> None:
    async def ask(where: str, number: int) -> int:
        async with await colonnade.connect(where) as connection:
            columns = await connection.fetch_columns("SELECT generate_series(1, $1) AS i", number)
            async with connection.transaction():
                rows = [row async for row in connection.cursor("SELECT generate_series(1, 100)")]
            assert len(rows) == 100
            found: int = await connection.fetchval("SELECT $1::int", len(columns))
            return found

    tasks = [asyncio.create_task(ask(where, n)) for n in range(4) for where in (dsn, socket_dsn)]
    async with asyncio.timeout(_SECONDS_MAX):
        assert await asyncio.gather(*tasks) == [0, 0, 1, 1, 2, 2, 3, 3]


async def test_a_query_is_sent_where_its_task_is_made(connection: colonnade.Connection) -> None:
    first = asyncio.create_task(connection.fetchval("SELECT 1"))
    second = asyncio.create_task(connection.fetchval("SELECT 2"))
    with pytest.raises(colonnade.InterfaceError, match="another operation is in progress"):
        await second
    assert await first == 1


@pytest.mark.parametrize("waits", [False, True], ids=["at once", "on the server"])
async def test_a_cancelled_query(connection: colonnade.Connection, waits: bool) -> None:
    for _ in range(5):
        task = asyncio.create_task(connection.fetchval("SELECT pg_sleep(60)"))
        if waits:
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(_SECONDS_MAX):
            assert await connection.fetchval("SELECT 1") == 1
    with pytest.raises(TimeoutError):
        await connection.execute("SELECT pg_sleep(60)", timeout=0.05)
    assert await connection.fetchval("SELECT 2") == 2


async def test_a_dropped_stream(connection: colonnade.Connection) -> None:
    async def look() -> int:
        stream = connection.iter_columns("SELECT generate_series(1, 1000000)", batch_rows=10)
        return len(await anext(stream))

    assert await asyncio.create_task(look()) == 10
    gc.collect()
    async with asyncio.timeout(_SECONDS_MAX):
        assert await connection.fetchval("SELECT 1") == 1


async def test_a_request_to_cancel_that_fails_at_once(
    dsn: str, connection: colonnade.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its connection is closed, and no attempts continue."""

    async def fail(*_: object) -> Any:
        raise ConnectionRefusedError

    transport, pid = connection.conversation.transport, connection.get_server_pid()
    task = asyncio.create_task(connection.execute("SELECT pg_sleep(60)"))
    monkeypatch.setattr("colonnade._driver.transport.asyncio._open", fail)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(connection.is_closed)
    assert transport.is_settled
    monkeypatch.undo()
    async with await colonnade.connect(dsn) as other:
        # The test itself must end the query on the server.
        assert await other.fetchval("SELECT pg_terminate_backend($1)", pid)


async def test_a_pool(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=2, max_size=4) as pool:

        async def use(number: int) -> int:
            async with pool.acquire() as connection, connection.transaction():
                found: int = await connection.fetchval("SELECT $1::int", number)
                return found

        tasks = [asyncio.create_task(use(n)) for n in range(100)]
        for task in tasks[::7]:
            task.cancel()
        async with asyncio.timeout(_SECONDS_MAX):
            found = await asyncio.gather(*tasks, return_exceptions=True)
            for number, outcome in enumerate(found):
                if number % 7:
                    assert outcome == number
                else:
                    assert isinstance(outcome, asyncio.CancelledError)
            assert await asyncio.gather(*(use(n) for n in range(20))) == list(range(20))
        stats = pool.get_stats()
        assert (stats.size, stats.idle, stats.waiting) == (stats.idle, stats.size, 0)


async def test_a_pool_whose_connections_fail_at_once(dsn: str) -> None:
    """There is one attempt at a time, with pauses; and every waiting caller gets the error."""
    is_down, attempts = False, 0

    async def connect(*args: Any, **kwargs: Any) -> colonnade.Connection:
        nonlocal attempts
        if is_down:
            attempts += 1
            raise FileNotFoundError("no such socket")
        return await colonnade.connect(*args, **kwargs)

    async with colonnade.create_pool(dsn, min_size=2, max_size=2, connect=connect) as pool:
        is_down = True
        async with pool.acquire() as one, pool.acquire() as other:
            waiting = [asyncio.create_task(pool.fetchval("SELECT 1")) for _ in range(200)]
            one.terminate()
            other.terminate()
        async with asyncio.timeout(_SECONDS_MAX):
            outcomes = await asyncio.gather(*waiting, return_exceptions=True)
        assert all(isinstance(outcome, FileNotFoundError) for outcome in outcomes)
        assert attempts <= len(waiting) + 2
        is_down = False
        await until(lambda: pool.get_idle_size() == 2)
        assert await pool.fetchval("SELECT 1") == 1


async def test_listening(dsn: str, proxy: Proxy) -> None:
    async with (
        await colonnade.connect(dsn) as speaker,
        colonnade.listen(proxy.dsn, "eager") as heard,
    ):
        await speaker.execute("NOTIFY eager, 'one'")
        async with asyncio.timeout(_SECONDS_MAX):
            assert (await anext(heard)).payload == "one"
        told: list[str] = []

        async def tell(*arguments: Any) -> None:
            told.append(arguments[-1])

        await speaker.add_listener("eager", tell)
        await speaker.execute("NOTIFY eager, 'two'")
        await until(lambda: told == ["two"])
        await speaker.remove_listener("eager", tell)
