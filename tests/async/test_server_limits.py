"""Limits of a server: time, connections, disk space, memory, size. The error names the limit."""

from __future__ import annotations

# async-only: begin
import asyncio

# async-only: end
import time
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade import embedded, errors

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from tests.support.leftovers import BackendWatch

_PLACES = 6
_RESERVED = 3
_SECONDS_MAX = 20.0


@pytest.fixture(scope="module")
def narrow() -> Iterator[embedded.Server]:
    """A server with few connections, little space for temporary files and a small stack."""
    settings = {
        "max_connections": str(_PLACES),
        "max_wal_senders": "0",
        "superuser_reserved_connections": str(_RESERVED),
        "temp_file_limit": "1MB",
        "max_stack_depth": "100kB",
        "deadlock_timeout": "10ms",
        "max_locks_per_transaction": "10",
        "autovacuum": "off",
    }
    with embedded.start(
        tcp=True, settings=settings, roles=[embedded.Role("visitor", method="trust")]
    ) as server:
        yield server


@pytest.fixture
async def cramped(
    narrow: embedded.Server, nothing_left: None
) -> AsyncIterator[colonnade.Connection]:
    """A superuser's connection to the limited server."""
    del nothing_left
    async with await colonnade.connect(narrow.dsn) as connection:
        yield connection


async def check_usable(connection: Any) -> None:
    """Check that the connection works."""
    assert connection.transaction_status == "idle"
    assert await connection.fetchval("SELECT $1::int", 42) == 42


# Time


@pytest.mark.parametrize(
    ("setting", "least", "error"),
    [
        ("idle_session_timeout", 14, errors.IdleSessionTimeoutError),
        ("idle_in_transaction_session_timeout", 13, errors.IdleInTransactionSessionTimeoutError),
        ("transaction_timeout", 17, errors.TransactionTimeoutError),
    ],
)
async def test_a_connection_that_was_idle_for_too_long_says_so(
    dsn: str, watch: BackendWatch, setting: str, least: int, error: type[Exception]
) -> None:
    async with await colonnade.connect(dsn) as connection:
        if connection.get_server_version().major < least:
            pytest.skip(f"{setting} came with PostgreSQL {least}")
        await connection.execute(f"SET {setting} = '20ms'")
        if "transaction" in setting:
            await connection.execute("BEGIN")
        give_up = time.monotonic() + _SECONDS_MAX
        while connection.get_server_pid() in watch.backends():
            assert time.monotonic() < give_up, "it has not ended"
            # Meanwhile the client reads the server's last message.
            await asyncio.sleep(0.005)
        with pytest.raises((errors.InterfaceError, errors.ConnectionDoesNotExistError)) as caught:
            await connection.fetchval("SELECT 1")
        assert isinstance(caught.value.__cause__, error)
        assert connection.is_closed()


@pytest.mark.parametrize("setting", ["statement_timeout", "transaction_timeout"])
async def test_a_query_that_takes_too_long(dsn: str, setting: str) -> None:
    async with await colonnade.connect(dsn) as connection:
        if setting == "statement_timeout":
            await connection.execute("SET statement_timeout = '20ms'")
            with pytest.raises(errors.QueryCanceledError, match="statement timeout"):
                await connection.fetch_columns("SELECT pg_sleep(60)")
            await check_usable(connection)
            return
        if connection.get_server_version().major < 17:
            pytest.skip("transaction_timeout came with PostgreSQL 17")
        await connection.execute("SET transaction_timeout = '20ms'")
        with pytest.raises(errors.ConnectionDoesNotExistError, match="transaction timeout") as it:
            await connection.fetch_columns("SELECT pg_sleep(60)")
        assert isinstance(it.value.__cause__, errors.TransactionTimeoutError)
        assert connection.is_closed()


# async-only: begin
async def test_locks(narrow: embedded.Server, cramped: colonnade.Connection) -> None:
    """A lock timeout, and a deadlock."""
    async with await colonnade.connect(narrow.dsn) as other:
        await cramped.execute("CREATE TABLE locked (n int); INSERT INTO locked VALUES (1), (2)")
        try:
            async with cramped.transaction():
                await cramped.execute("UPDATE locked SET n = n")
                await other.execute("SET lock_timeout = '10ms'")
                for call in (
                    "SELECT * FROM locked FOR UPDATE",
                    "SELECT * FROM locked FOR UPDATE NOWAIT",
                ):
                    with pytest.raises(errors.LockNotAvailableError):
                        await other.execute(call, timeout=_SECONDS_MAX)
                    await check_usable(other)
            await other.execute("RESET lock_timeout")
            outcomes = await asyncio.gather(
                update_in_turn(cramped, 1, 2), update_in_turn(other, 2, 1), return_exceptions=True
            )
            (failure,) = [outcome for outcome in outcomes if outcome is not None]
            assert isinstance(failure, errors.DeadlockDetectedError)
            assert "waits for" in (failure.detail or "")
            await check_usable(cramped)
            await check_usable(other)
        finally:
            await cramped.execute("DROP TABLE locked")


async def update_in_turn(connection: colonnade.Connection, *numbers: int) -> None:
    """Lock one row after the other, with turns for other tasks in between."""
    async with connection.transaction(), asyncio.timeout(_SECONDS_MAX):
        for number in numbers:
            await connection.execute("UPDATE locked SET n = n WHERE n = $1", number)
            await connection.execute("SELECT pg_sleep(0.05)")


# async-only: end


async def test_transactions_that_cannot_both_be(
    narrow: embedded.Server, cramped: colonnade.Connection
) -> None:
    async with await colonnade.connect(narrow.dsn) as other:
        await cramped.execute("CREATE TABLE counted (n int); INSERT INTO counted VALUES (1)")
        try:
            async with cramped.transaction(isolation="serializable"):
                await cramped.fetch_columns("SELECT sum(n) FROM counted")
                await other.execute("UPDATE counted SET n = 5")
                with pytest.raises(errors.SerializationError):
                    await cramped.execute("UPDATE counted SET n = 6")
                with pytest.raises(errors.InFailedSQLTransactionError):
                    await cramped.fetchval("SELECT 1")
            await check_usable(cramped)
        finally:
            await cramped.execute("DROP TABLE counted")


# Connections


async def test_no_place_is_left(narrow: embedded.Server, cramped: colonnade.Connection) -> None:
    visitors = [
        await colonnade.connect(narrow.dsn_for("visitor")) for _ in range(_PLACES - _RESERVED - 1)
    ]
    try:
        with pytest.raises(errors.TooManyConnectionsError):
            await colonnade.connect(narrow.dsn_for("visitor"))
        # Some connections are reserved for superusers.
        reserved = [await colonnade.connect(narrow.dsn) for _ in range(_RESERVED)]
        try:
            with pytest.raises(errors.TooManyConnectionsError, match="too many clients"):
                await colonnade.connect(narrow.dsn)
            # A cancel request needs no free connection.
            with pytest.raises(TimeoutError):
                await visitors[0].fetchval("SELECT pg_sleep(60)", timeout=0.02)
            await check_usable(visitors[0])
        finally:
            for connection in reserved:
                await connection.close()
    finally:
        for connection in visitors:
            await connection.close()
    await check_usable(cramped)


async def test_a_role_or_database_with_a_limit(
    narrow: embedded.Server, cramped: colonnade.Connection
) -> None:
    await cramped.execute("ALTER ROLE visitor CONNECTION LIMIT 1")
    try:
        async with await colonnade.connect(narrow.dsn_for("visitor")) as visitor:
            with pytest.raises(errors.TooManyConnectionsError, match='role "visitor"'):
                await colonnade.connect(narrow.dsn_for("visitor"))
            await check_usable(visitor)
    finally:
        await cramped.execute("ALTER ROLE visitor CONNECTION LIMIT -1")
    await cramped.execute("CREATE DATABASE shut CONNECTION LIMIT 0")
    try:
        with pytest.raises(errors.TooManyConnectionsError, match='database "shut"'):
            await colonnade.connect(narrow.dsn_for("visitor", database="shut"))
    finally:
        await cramped.execute("DROP DATABASE shut")


# async-only: begin
async def test_a_pool_that_is_larger_than_the_server(
    narrow: embedded.Server, cramped: colonnade.Connection
) -> None:
    """Callers that need a new connection get the error; the others and later ones are served."""
    await cramped.execute("ALTER ROLE visitor CONNECTION LIMIT 2")
    dsn = narrow.dsn_for("visitor")
    try:
        async with colonnade.create_pool(dsn, min_size=0, max_size=5) as pool:
            async with pool.acquire() as one, pool.acquire() as other:
                with pytest.raises(errors.TooManyConnectionsError, match='role "visitor"'):
                    await pool.fetchval("SELECT 1")
                await check_usable(one)
                await check_usable(other)
            calls = [pool.fetchval("SELECT $1::int", number) for number in range(2)]
            assert list(await asyncio.gather(*calls)) == [0, 1]
            assert pool.get_stats().open_failures == 1
            assert pool.get_size() == 2
        with pytest.raises(errors.TooManyConnectionsError):
            await colonnade.create_pool(dsn, min_size=3, max_size=3)
    finally:
        await cramped.execute("ALTER ROLE visitor CONNECTION LIMIT -1")


# async-only: end

# Space, memory, size


@pytest.mark.parametrize(
    ("query", "error", "text"),
    [
        (
            "DO $$ BEGIN COPY (SELECT generate_series(1, 9999)) TO '/dev/full'; END $$",
            errors.DiskFullError,
            "No space left on device",
        ),
        (
            "SELECT count(pg_advisory_xact_lock(n)) FROM generate_series(1, 30000) n",
            errors.OutOfMemoryError,
            "out of shared memory",
        ),
        (
            "SELECT n, repeat(md5(n::text), 30) AS t FROM generate_series(1, 20000) n ORDER BY t",
            errors.ConfigurationLimitExceededError,
            "temp_file_limit",
        ),
        (
            "SELECT " + "(1 + " * 3000 + "1" + ")" * 3000,
            errors.StatementTooComplexError,
            "max_stack_depth",
        ),
        ("SELECT repeat('four', 1 << 29)", errors.ProgramLimitExceededError, "too large"),
        ("SELECT " + ", ".join(["1"] * 1665), errors.TooManyColumnsError, "1664"),
        ("SELECT array_fill(0, ARRAY[1 << 29])", errors.ProgramLimitExceededError, "array size"),
    ],
    ids=["disk", "locks", "temporary files", "stack", "field", "columns", "array"],
)
async def test_what_is_too_much_for_the_server(
    cramped: colonnade.Connection, query: str, error: type[Exception], text: str
) -> None:
    await cramped.execute("SET work_mem = '64kB'")
    for call in (cramped.fetch, cramped.fetch_columns, cramped.execute):
        with pytest.raises(error, match=text):
            await call(query, timeout=_SECONDS_MAX)
        await check_usable(cramped)
