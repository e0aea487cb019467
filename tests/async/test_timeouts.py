"""Timeouts: the right error at the right time, and a usable connection afterwards."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.proxy import Proxy

pytestmark = pytest.mark.every_loop


async def check_usable(connection: colonnade.Connection, number: int) -> None:
    assert await connection.fetchval("SELECT $1::int", number) == number
    assert (await connection.fetch_columns("SELECT $1::int AS n", number)).num_rows == 1


async def test_each_call_takes_a_timeout(connection: colonnade.Connection) -> None:
    sleep = "SELECT pg_sleep(100)"
    for call in (
        connection.fetch,
        connection.fetchrow,
        connection.fetchval,
        connection.fetch_columns,
        connection.execute,
    ):
        begun = time.monotonic()
        with pytest.raises(TimeoutError):
            await call(sleep, timeout=0.02)
        assert time.monotonic() - begun < 10
        await check_usable(connection, 1)
    stream = connection.iter_columns(sleep, timeout=0.02)
    with pytest.raises(TimeoutError):
        await anext(stream)
    await check_usable(connection, 2)


async def test_a_limit_for_every_call(dsn: str) -> None:
    async with await colonnade.connect(dsn, command_timeout=0.05) as connection:
        with pytest.raises(TimeoutError):
            await connection.execute("SELECT pg_sleep(100)")
        assert await connection.execute("SELECT pg_sleep(0.1)", timeout=10) == "SELECT 1"
        await check_usable(connection, 1)


async def test_five_hundred_in_a_row(connection: colonnade.Connection) -> None:
    for number in range(500):
        with pytest.raises(TimeoutError):
            await connection.fetch("SELECT pg_sleep(100)", timeout=0)
        if number % 50 == 0:
            await check_usable(connection, number)
    await check_usable(connection, 500)


async def test_limits_of_every_length(connection: colonnade.Connection) -> None:
    """Limits that end anywhere in the query: the call gives its own result or TimeoutError."""
    query = "SELECT i, repeat('x', 50) FROM generate_series(1, 3000) i"
    timeout, ended = 0.0, 0
    while ended < 3:
        try:
            rows = await connection.fetch(query, timeout=timeout)
        except TimeoutError:
            ended = 0
        else:
            assert len(rows) == 3000
            ended += 1
        await check_usable(connection, ended)
        timeout += 0.0002
        assert timeout < 10


async def test_nothing_of_the_former_answer_is_left(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With any part of the answer there at the timeout."""
    monkeypatch.setattr("colonnade._driver.transport.asyncio.RECOVERY_TIMEOUT_S", 0.3)
    query = "SELECT i, repeat('x', 50) FROM generate_series(1, 3000) i"
    async with await colonnade.connect(f"{proxy.dsn}?sslmode=disable") as through:
        for size in (0, 1, 5, 6, 40, 80, 200, 10_000, 100_000):
            proxy.hold_after(size)
            limit = 0.02
            # On a busy machine, less of the answer may have arrived by then.
            while not proxy.held.is_set():
                with pytest.raises(TimeoutError):
                    await through.fetch_columns(query, timeout=limit)
                limit *= 2
            # async-only: begin
            proxy.release()
            await check_usable(through, size)
            # async-only: end
            if through.is_closed():
                return


async def test_a_timeout_amid_a_copy(connection: colonnade.Connection) -> None:
    await connection.execute("CREATE TEMPORARY TABLE t (i int)")

    def slow() -> Iterator[bytes]:
        yield b"1\n"
        time.sleep(0.05)
        while True:
            yield b"2\n" * 10_000

    with pytest.raises(TimeoutError):
        await connection.copy_to_table("t", source=slow(), timeout=0.02)
    if not connection.is_closed():
        assert await connection.fetchval("SELECT count(*) FROM t") == 0


async def test_a_timeout_in_a_transaction(connection: colonnade.Connection) -> None:
    await connection.execute("BEGIN")
    with pytest.raises(TimeoutError):
        await connection.fetch("SELECT pg_sleep(100)", timeout=0.02)
    await connection.execute("ROLLBACK")
    await check_usable(connection, 1)


async def test_timeout_of_close(connection: colonnade.Connection) -> None:
    await connection.close(timeout=10)
    assert connection.is_closed()
    with pytest.raises(InterfaceError, match="connection is closed"):
        await connection.fetch("SELECT 1", timeout=1)
