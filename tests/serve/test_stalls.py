"""Readers that take nothing and do not go away: `stall_timeout` frees what they hold."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import psycopg
import pytest
import quart

import colonnade
from colonnade import serve
from colonnade.serve.quart import table_response
from tests.serve.serving import serving
from tests.support.until import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

pytestmark = pytest.mark.every_loop

# A series in FROM would be written to disk before its first row.
SQL = "SELECT i, repeat('x', 100) AS t FROM (SELECT generate_series(1, 100000000) AS i) AS series"
#: More than a socket's buffers hold.
LARGE = b"x" * (64 << 20)


@pytest.fixture
async def pool(dsn: str) -> AsyncIterator[colonnade.Pool]:
    pool = await colonnade.create_pool(dsn, min_size=1, max_size=3)
    yield pool
    pool.terminate()


def asking(address: str, request: bytes = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n") -> socket.socket:
    """A client that has asked, and does not read."""
    sock = socket.create_connection(("127.0.0.1", urlsplit(address).port or 0))
    sock.sendall(request)
    return sock


async def test_three_stalled_readers_hold_no_pool(
    pool: colonnade.Pool, dsn: str, caplog: pytest.LogCaptureFixture
) -> None:
    app = serve.TableResponse(lambda: pool.iter_columns(SQL), stall_timeout=0.5)
    async with serving(app) as address:
        resting = asyncio.all_tasks()
        with contextlib.ExitStack() as block, caplog.at_level(logging.WARNING, "colonnade.serve"):
            for _ in range(3):
                block.enter_context(asking(address))
            await until(lambda: pool.get_size() == 3)
            await until(lambda: pool.get_idle_size() == 3)
            assert await pool.fetchval("SELECT 1") == 1
            with psycopg.connect(dsn, autocommit=True) as watcher:
                await until(lambda: snapshots(watcher) == 0)
            await until(lambda: asyncio.all_tasks() <= resting)
    told = [record.getMessage() for record in caplog.records]
    assert told == ["a reader took nothing for 0.5 s: its answer was broken off"] * 3


def snapshots(watcher: psycopg.Connection) -> int:
    """How many sessions keep vacuum from rows that are dead."""
    found = watcher.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE query = %s AND backend_xmin IS NOT NULL",
        (SQL,),
    ).fetchone()
    assert found is not None
    return int(found[0])


async def test_none_waits_for_ever(pool: colonnade.Pool) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        timeout = None if scope["path"] == "/for-ever" else 0.3
        response = serve.TableResponse(lambda: pool.iter_columns(SQL), stall_timeout=timeout)
        await response(scope, receive, send)

    async with serving(app) as address:
        with asking(address, b"GET /for-ever HTTP/1.1\r\nhost: x\r\n\r\n"):
            await until(lambda: busy(pool) == 1)
            for _ in range(2):
                with asking(address):
                    await until(lambda: busy(pool) == 2)
                    await until(lambda: busy(pool) == 1)
        await until(lambda: busy(pool) == 0)


def busy(pool: colonnade.Pool) -> int:
    return pool.get_stats().busy


def plain(source: Callable[[], Any]) -> Any:
    return serve.TableResponse(source, stall_timeout=0.5)


def in_quart(source: Callable[[], Any]) -> Any:
    app = quart.Quart(__name__)

    @app.get("/table")
    async def table() -> quart.Response:
        return await table_response(source, stall_timeout=0.5)

    return app


@pytest.mark.parametrize("framework", [plain, in_quart])
async def test_a_reader_that_is_behind_with_an_earlier_answer(
    pool: colonnade.Pool, framework: Callable[[Callable[[], Any]], Any]
) -> None:
    """The web server waits for it before it sends the status, when the query has begun."""
    begun = 0

    def source() -> Any:
        nonlocal begun
        begun += 1
        return pool.iter_columns(SQL)

    tables = framework(source)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/table":
            await tables(scope, receive, send)
            return
        headers = [(b"content-length", b"%d" % len(LARGE))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": LARGE})

    async with serving(app) as address:
        ahead = b"".join(
            b"GET %s HTTP/1.1\r\nhost: x\r\n\r\n" % path for path in (b"/large", b"/table")
        )
        with asking(address, ahead):
            await until(lambda: begun == 1)
            await until(lambda: busy(pool) == 0)


@pytest.fixture
def hung() -> Iterator[Callable[[Any], Awaitable[None]]]:
    """A `send` that takes the first message, and never the next one."""
    taken: list[str] = []

    async def send(message: Any) -> None:
        if taken:
            await asyncio.Event().wait()
        taken.append(message["type"])

    yield send
    assert taken == ["http.response.start"]


SCOPE: dict[str, Any] = {"type": "http", "method": "GET", "headers": [], "query_string": b""}


async def test_a_small_table_is_broken_off_as_well(
    pool: colonnade.Pool, hung: Callable[[Any], Awaitable[None]]
) -> None:
    columns = await pool.fetch_columns("SELECT 1 AS one")
    answer = await serve.TableResponse(columns, stall_timeout=0.05).answer(SCOPE)
    with pytest.raises(asyncio.CancelledError, match=r"a reader took nothing for 0.05 s"):
        await answer.send(hung)
    task = asyncio.current_task()
    assert task is not None
    # The task goes on as one that was never cancelled.
    assert task.cancelling() == 0


async def test_a_cancellation_from_outside_is_not_taken_for_a_stall(
    pool: colonnade.Pool, hung: Callable[[Any], Awaitable[None]], caplog: pytest.LogCaptureFixture
) -> None:
    answer = await serve.TableResponse(lambda: pool.iter_columns(SQL)).answer(SCOPE)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await answer.send(hung)
    assert caplog.records == []
    await until(lambda: busy(pool) == 0)


async def test_a_slow_reader_is_not_cut_off(pool: colonnade.Pool) -> None:
    """Only the time since it last took something counts, not that of the whole answer."""
    loop = asyncio.get_running_loop()
    pieces = []

    async def send(message: Any) -> None:
        pieces.append(message.get("body", b""))
        taken = loop.create_future()
        loop.call_later(0.05, taken.set_result, None)
        await taken

    columns = await pool.fetch_columns("SELECT repeat('x', 1000000) FROM generate_series(1, 8)")
    answer = await serve.TableResponse(columns, stall_timeout=1).answer(SCOPE)
    began = loop.time()
    await answer.send(send)
    assert loop.time() - began > 1
    assert sum(map(len, pieces)) > 8_000_000


@pytest.mark.parametrize("wrong", [0, -1, "30", float("nan"), True])
def test_a_wrong_time_is_refused(wrong: Any) -> None:
    source: Any = lambda: None  # noqa: E731 - never called
    with pytest.raises(ValueError, match="stall_timeout"):
        serve.TableResponse(source, stall_timeout=wrong)
