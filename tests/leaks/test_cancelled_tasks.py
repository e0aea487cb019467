"""Cancelled and failed operations on a loop leave nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import io
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

import colonnade
from tests.leaks.conftest import FAILURES

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    LeavesNothing = Callable[..., None]

pytestmark = [pytest.mark.thorough, pytest.mark.filterwarnings("ignore::ResourceWarning")]

# Each failure opens a second connection for the cancel request.
CANCELLATIONS = max(8, FAILURES // 8)
# More than the loop reads in one turn, but little enough to discard quickly.
MANY = "SELECT n, n::text FROM generate_series(1, 30000) AS n"


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    """A loop that runs again for each failure."""
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def connection(runner: asyncio.Runner, dsn: str) -> Iterator[colonnade.Connection]:
    """One connection for all failures; the first ones fill its caches."""
    connection = runner.run(colonnade.connect(dsn))
    yield connection
    runner.run(connection.close())


async def cancelled(work: Awaitable[object]) -> None:
    """Cancel work that has sent its query."""
    task = asyncio.ensure_future(work)
    await asyncio.sleep(0.001)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


def refuse(*_: object) -> NoReturn:
    """A user's function that raises."""
    raise ZeroDivisionError


def test_fetches(
    runner: asyncio.Runner, connection: colonnade.Connection, leaves_nothing: LeavesNothing
) -> None:
    async def turn() -> None:
        await cancelled(connection.fetch("SELECT pg_sleep(9)"))
        await cancelled(connection.fetch_columns(MANY))
        await cancelled(connection.fetch(MANY))
        with pytest.raises(TimeoutError):
            await connection.fetchval("SELECT pg_sleep(9)", timeout=0.001)
        assert await connection.fetchval("SELECT 42") == 42

    leaves_nothing(lambda: runner.run(turn()), CANCELLATIONS, filling=8)


def test_streams(
    runner: asyncio.Runner, connection: colonnade.Connection, leaves_nothing: LeavesNothing
) -> None:
    async def read() -> None:
        async for _ in connection.iter_columns(MANY, batch_rows=100):
            await asyncio.sleep(0.0001)

    async def turn() -> None:
        await cancelled(read())
        stream = connection.iter_columns(MANY, batch_rows=1000)
        await anext(stream)
        del stream
        assert await connection.fetchval("SELECT 42") == 42

    leaves_nothing(lambda: runner.run(turn()), CANCELLATIONS, filling=8)


def test_copies(
    runner: asyncio.Runner, connection: colonnade.Connection, leaves_nothing: LeavesNothing
) -> None:
    async def records() -> Any:
        for number in range(10_000):
            yield (number,)
            await asyncio.sleep(0)

    async def turn() -> None:
        await cancelled(connection.copy_records_to_table("several", records=records()))
        await cancelled(connection.copy_from_query(MANY, output=io.BytesIO()))
        with pytest.raises(ZeroDivisionError):
            await connection.copy_from_query("SELECT 1", output=refuse)
        assert await connection.fetchval("SELECT 42") == 42

    runner.run(connection.execute("CREATE TEMP TABLE several (n int)"))
    leaves_nothing(lambda: runner.run(turn()), CANCELLATIONS, filling=8)


def test_connections_and_pools(
    runner: asyncio.Runner, dsn: str, leaves_nothing: LeavesNothing
) -> None:
    async def turn() -> None:
        await cancelled(colonnade.connect(dsn))
        async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
            async with pool.acquire():
                await cancelled(pool.fetchval("SELECT 1"))
                with pytest.raises(TimeoutError):
                    await pool.acquire(timeout=0.001)
            await cancelled(pool.fetchval("SELECT pg_sleep(9)"))

    leaves_nothing(lambda: runner.run(turn()), CANCELLATIONS, filling=8)


def test_listeners(
    runner: asyncio.Runner, connection: colonnade.Connection, leaves_nothing: LeavesNothing
) -> None:
    told: list[dict[str, Any]] = []

    async def turn() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
        await connection.add_listener("channel", refuse)
        await connection.execute("NOTIFY channel")
        await connection.remove_listener("channel", refuse)
        await asyncio.sleep(0)
        assert told
        told.clear()

    leaves_nothing(lambda: runner.run(turn()))
