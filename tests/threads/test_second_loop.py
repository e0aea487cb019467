"""A pool and a connection under a different event loop than their own."""

from __future__ import annotations

import asyncio
import gc
import threading
import warnings
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade.errors import InterfaceError
from tests.support.leftovers import open_sockets, tcp_sockets_since

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

CLOSED = "this {} belongs to another event loop, which is closed: make a {} within the loop"


@pytest.fixture(autouse=True)
def no_complaint() -> Iterator[None]:
    """Check that neither asyncio nor the driver complains about leftovers."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield
        gc.collect()


async def made(dsn: str) -> tuple[colonnade.Pool, colonnade.Connection]:
    pool = await colonnade.create_pool(dsn, min_size=2, max_size=3)
    assert await pool.fetchval("SELECT 1") == 1
    return pool, await colonnade.connect(dsn)


async def _acquired(pool: colonnade.Pool) -> Any:
    return await pool.acquire()


async def _streamed(connection: colonnade.Connection | colonnade.Pool) -> None:
    async for _ in connection.iter_columns("SELECT 1"):
        pass


async def _piped(connection: colonnade.Connection | colonnade.Pool) -> None:
    async with connection.pipeline() as pipeline:
        pipeline.fetchval("SELECT 1")


POOL_CALLS: list[Callable[[Any], Coroutine[Any, Any, Any]]] = [
    lambda pool: pool.fetchval("SELECT 1"),
    lambda pool: pool.fetch_columns("SELECT 1"),
    lambda pool: pool.execute("SELECT 1"),
    _acquired,
    _streamed,
    _piped,
]
CONNECTION_CALLS: list[Callable[[Any], Coroutine[Any, Any, Any]]] = [
    lambda connection: connection.fetchval("SELECT 1"),
    lambda connection: connection.fetch_columns("SELECT 1"),
    lambda connection: connection.execute("SELECT 1"),
    lambda connection: connection.executemany("SELECT $1::int", [(1,)]),
    lambda connection: connection.copy_columns_to_table("t", {"a": [1]}),
    lambda connection: connection.reset(),
    _streamed,
    _piped,
]


async def refused(call: Coroutine[Any, Any, Any], what: str) -> None:
    with pytest.raises(InterfaceError, match=CLOSED.format(what, what)):
        await call


def test_a_second_loop_is_told_and_can_close(dsn: str) -> None:
    before = open_sockets()
    pool, connection = asyncio.run(made(dsn))

    async def use() -> None:
        for call in POOL_CALLS:
            await refused(call(pool), "pool")
        for call in CONNECTION_CALLS:
            await refused(call(connection), "connection")
        await connection.close()
        await pool.close()

    asyncio.run(use())
    assert connection.is_closed()
    assert repr(pool) == "<Pool closed>"
    assert tcp_sockets_since(before) == set()


def test_they_are_terminated_without_any_loop(dsn: str) -> None:
    before = open_sockets()
    pool, connection = asyncio.run(made(dsn))
    connection.terminate()
    pool.terminate()
    assert tcp_sockets_since(before) == set()


def test_what_was_lent_when_the_loop_ended(dsn: str) -> None:
    before = open_sockets()

    async def lend() -> tuple[colonnade.Pool, Any]:
        pool = await colonnade.create_pool(dsn, min_size=1, max_size=1)
        return pool, await pool.acquire()

    pool, lent = asyncio.run(lend())

    async def use() -> None:
        await refused(lent.fetchval("SELECT 1"), "connection")
        await pool.close()
        with pytest.raises(InterfaceError, match="released back to the pool"):
            await lent.fetchval("SELECT 1")

    asyncio.run(use())
    assert tcp_sockets_since(before) == set()


def test_a_loop_that_runs_in_another_thread_keeps_its_pool(dsn: str) -> None:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        pool, connection = asyncio.run_coroutine_threadsafe(made(dsn), loop).result(30)

        async def use() -> None:
            for call in (pool.fetchval("SELECT 1"), pool.close(), connection.execute("SELECT 1")):
                with pytest.raises(InterfaceError, match="is not the one running here"):
                    await call

        asyncio.run(use())
        again = asyncio.run_coroutine_threadsafe(pool.fetchval("SELECT 2"), loop)
        assert again.result(30) == 2
        for end in (pool.close(), connection.close()):
            asyncio.run_coroutine_threadsafe(end, loop).result(30)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
