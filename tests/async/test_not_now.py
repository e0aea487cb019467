"""A server that accepts no connections because it starts up, recovers or shuts down."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade import embedded
from colonnade.errors import CannotConnectNowError
from tests.support.servers import shut_down, start_again, starting_up

# async-only: begin
from tests.support.until import until

# async-only: end

if TYPE_CHECKING:
    from collections.abc import Iterator

_SECONDS_MAX = 30.0
# The wording differs between versions of the server.
_STARTING = "starting up|not (yet )?accepting connections"


@pytest.fixture(scope="module")
def coming() -> Iterator[embedded.Server]:
    """A server that these tests stop and start."""
    with embedded.start(tcp=True) as server:
        yield server


async def is_refused(dsn: str, words: str) -> None:
    """Check that every way to connect fails with the reason."""
    for mode in ("disable", "prefer", "allow"):
        with pytest.raises(CannotConnectNowError, match=words) as caught:
            await colonnade.connect(f"{dsn}?sslmode={mode}", timeout=_SECONDS_MAX)
        assert caught.value.sqlstate == "57P03"
    with pytest.raises(CannotConnectNowError, match=words):
        async with colonnade.create_pool(dsn, min_size=1, max_size=2):
            pass


async def is_passed_over(first: embedded.Server, second: str) -> None:
    """Check that the next host of the list is tried."""
    port = second.rpartition(":")[2]
    hosts = f"127.0.0.1:{first.port},127.0.0.1:{port}"
    async with await colonnade.connect(f"postgresql://postgres@{hosts}") as connection:
        assert await connection.fetchval("SHOW port") == port.partition("/")[0]


async def test_while_it_starts_up(coming: embedded.Server, dsn: str) -> None:
    async with colonnade.create_pool(coming.dsn, min_size=1, max_size=2) as pool:
        assert await pool.fetchval("SELECT 1") == 1
        with starting_up(coming):
            await is_refused(coming.dsn, _STARTING)
            await is_passed_over(coming, dsn)
            with pytest.raises(CannotConnectNowError):
                await pool.fetchval("SELECT 2", timeout=_SECONDS_MAX)
        # async-only: begin
        # Background connections begun earlier may still fail, and their waiters get the error.
        await until(lambda: pool.get_idle_size() == 1)
        # async-only: end
        assert await pool.fetchval("SELECT 3", timeout=_SECONDS_MAX) == 3
        assert await pool.fetchval("SELECT pg_is_in_recovery()") is False


async def test_while_it_recovers_from_a_crash(coming: embedded.Server) -> None:
    async with colonnade.create_pool(coming.dsn, min_size=0, max_size=2) as pool:
        await pool.execute("SET synchronous_commit = on; CREATE TABLE IF NOT EXISTS kept ()")
        with starting_up(coming, "immediate"):
            await is_refused(coming.dsn, _STARTING)
        assert await pool.fetch("SELECT * FROM kept", timeout=_SECONDS_MAX) == []


async def test_while_it_waits_for_its_last_client(coming: embedded.Server, dsn: str) -> None:
    async with await colonnade.connect(coming.dsn) as last:
        shut_down(coming, "smart")
        await is_refused(coming.dsn, "shutting down")
        await is_passed_over(coming, dsn)
        assert await last.fetchval("SELECT 1") == 1
    start_again(coming)
    async with await colonnade.connect(coming.dsn, timeout=_SECONDS_MAX) as connection:
        assert await connection.fetchval("SELECT 1") == 1
