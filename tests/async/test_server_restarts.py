# async-only: file
"""The server is shut down and started again while a pool works."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade import embedded, errors
from tests.support.servers import shut_down, start_again
from tests.support.until import until

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.every_loop

#: The only errors that a caller may get while the server restarts.
AWAY = (
    errors.PostgresConnectionError,
    errors.AdminShutdownError,
    errors.CrashShutdownError,
    errors.CannotConnectNowError,
    OSError,
)
_WRITERS = 8
_SECONDS_MAX = 60.0


@pytest.fixture(scope="module")
def restarted() -> Iterator[embedded.Server]:
    """A server for these tests, with `fsync`: acknowledged commits are on disk."""
    with embedded.start(tcp=True, settings={"synchronous_commit": "on"}) as server:
        yield server


class Writers:
    """Tasks that write numbers, each once, and record the outcomes."""

    def __init__(self, pool: colonnade.Pool) -> None:
        self._pool = pool
        self.written: set[int] = set()
        self.failures: list[BaseException] = []
        self.in_doubt: set[int] = set()
        self.is_over = False

    async def write(self, first: int) -> None:
        """Write one number after the other, until told to stop."""
        number = first
        while not self.is_over:
            number += _WRITERS
            try:
                async with self._pool.acquire(timeout=20) as connection, connection.transaction():
                    kept = await connection.fetchval(
                        "INSERT INTO kept VALUES ($1) RETURNING n", number
                    )
                assert kept == number, "the answer to a different query"
            except (*AWAY, errors.InterfaceError) as error:
                self.failures.append(error)
                self.in_doubt.add(number)
                await asyncio.sleep(0.01)
            else:
                self.written.add(number)

    async def wait_for_more(self, count: int) -> None:
        """Wait until this many more numbers have been written."""
        enough = len(self.written) + count
        await until(lambda: len(self.written) >= enough)


@pytest.mark.parametrize("ending", ["smart", "fast", "immediate"])
async def test_nothing_acknowledged_is_lost_and_the_pool_goes_on(
    restarted: embedded.Server, ending: str
) -> None:
    async with (
        asyncio.timeout(_SECONDS_MAX),
        colonnade.create_pool(restarted.dsn, min_size=2, max_size=4) as pool,
    ):
        await pool.execute("DROP TABLE IF EXISTS kept; CREATE TABLE kept (n int PRIMARY KEY)")
        writers = Writers(pool)
        async with asyncio.TaskGroup() as tasks:
            for number in range(_WRITERS):
                tasks.create_task(writers.write(number))
            for _ in range(2):
                await writers.wait_for_more(50)
                shut_down(restarted, ending)
                if ending == "smart":
                    # The server waits for its clients, so the pool replaces its connections.
                    await pool.expire_connections()
                await asyncio.to_thread(start_again, restarted)
                await writers.wait_for_more(50)
            writers.is_over = True
        found = {n for (n,) in await pool.fetch("SELECT n FROM kept")}
        assert writers.written <= found <= writers.written | writers.in_doubt
        assert writers.failures
        for failure in writers.failures:
            # If the connection ended between two calls of a block, it is this error, else one of
            # the others.
            assert isinstance(failure, AWAY) or "connection is closed" in str(failure)
        await until(lambda: pool.get_idle_size() >= 2)
        assert pool.get_size() <= 4
