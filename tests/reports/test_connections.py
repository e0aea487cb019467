"""Connections and pools: cancelled, closed by the server, left in a state by a caller."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

import colonnade
import colonnade.sync
from colonnade import dbapi
from colonnade.errors import InterfaceWarning
from tests.reports.situations import connected

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

BACKENDS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1"


def run(body: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(body())


def address(dsn: str) -> str:
    return dsn.replace("postgresql:", "postgresql+colonnade:", 1)


def test_acquiring_cancelled(dsn: str) -> None:
    """MagicStack/asyncpg#547, #467: a cancelled acquire takes no connection, and close ends."""

    async def body() -> None:
        async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
            async with pool.acquire():
                waiting = [asyncio.ensure_future(pool.acquire()) for _ in range(20)]
                await asyncio.sleep(0)
                for task in waiting:
                    task.cancel()
                await asyncio.gather(*waiting, return_exceptions=True)
            assert await pool.fetchval("SELECT 1", timeout=5) == 1

    run(body)


async def taken(pool: colonnade.Pool) -> None:
    async with pool.acquire(timeout=0.01):
        raise AssertionError("there is no free connection")


def test_acquiring_times_out(dsn: str) -> None:
    """MagicStack/asyncpg#431, #442: sixty acquires that time out leak nothing."""

    async def body() -> None:
        async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
            async with pool.acquire():
                asked = [asyncio.ensure_future(taken(pool)) for _ in range(60)]
                ends = await asyncio.gather(*asked, return_exceptions=True)
                assert {type(end) for end in ends} == {TimeoutError}
            assert await pool.fetchval("SELECT 1", timeout=5) == 1

    run(body)


def test_a_cancelled_task_of_an_engine(dsn: str) -> None:
    """sqlalchemy/sqlalchemy#6652, #8145, #12099, #6592: its connection comes back."""

    async def body() -> None:
        engine = create_async_engine(address(dsn), pool_size=1, max_overflow=0, pool_timeout=10)

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(sa.text("SELECT set_config('reports.left', 'yes', false)"))
            await connection.execute(sa.text("SELECT pg_sleep(30)"))

        async def locked() -> None:
            async with engine.begin() as connection:
                await work(connection)

        for _ in range(3):
            task = asyncio.ensure_future(locked())
            await asyncio.sleep(0.1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            async with engine.connect() as connection:
                left = sa.text("SELECT coalesce(current_setting('reports.left', true), '')")
                assert (await connection.execute(left)).scalar() == ""
                assert engine.pool.checkedout() == 1  # type: ignore[attr-defined]
        await engine.dispose()

    run(body)


def test_cancelled_within_a_listener(dsn: str) -> None:
    """sqlalchemy/sqlalchemy#13381: no transaction stays open under the next one."""

    async def body() -> None:
        engine = create_async_engine(address(dsn), pool_size=1, max_overflow=0)

        @sa.event.listens_for(engine.sync_engine, "before_cursor_execute")
        def inner(_connection: Any, cursor: Any, *_rest: Any) -> None:
            cursor.execute("SELECT pg_sleep(0.05)")

        async def work() -> None:
            async with engine.begin() as connection:
                await connection.execute(sa.text("CREATE TABLE reports_left (n int)"))

        for step in range(6):
            task = asyncio.ensure_future(work())
            for _ in range(step):
                await asyncio.sleep(0.01)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, sa.exc.ProgrammingError):
                await task
            async with engine.begin() as connection:
                await connection.execute(sa.text("DROP TABLE IF EXISTS reports_left"))
        async with connected(dsn) as other:
            assert await other.fetchval("SELECT to_regclass('reports_left')::oid") is None
        await engine.dispose()

    run(body)


def test_a_transaction_left_open(dsn: str) -> None:
    """coleifer/peewee#444: the next borrower does not see what the last one began."""
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=1) as pool:
        first = pool.acquire()
        first.execute("BEGIN; CREATE TABLE reports_left (n int)")
        pool.release(first)
        assert pool.fetchval("SELECT to_regclass('reports_left')::oid") is None
        pool.execute("CREATE TABLE reports_left (n int); DROP TABLE reports_left")


def test_an_idle_session_that_the_server_ends(dsn: str) -> None:
    """psycopg/psycopg#584, #709, #1014: a pool replaces it, an engine after an error."""
    end = (
        "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity"
        " WHERE application_name = 'reports idle'"
    )
    settings = {"application_name": "reports idle"}
    with (
        colonnade.sync.connect(dsn) as other,
        colonnade.sync.create_pool(dsn, min_size=1, max_size=1, server_settings=settings) as pool,
    ):
        engine = sa.create_engine(f"{address(dsn)}?application_name=reports%20idle")
        for _ in range(2):
            assert pool.fetchval("SELECT 1") == 1
            with engine.connect() as connection:
                assert connection.execute(sa.text("SELECT 1")).scalar() == 1
            assert other.fetchval(end) == 2
            with engine.connect() as connection, pytest.raises(sa.exc.OperationalError) as lost:
                connection.execute(sa.text("SELECT 1"))
            assert lost.value.connection_invalidated
        engine.dispose()


def test_notices_amid_a_copy(dsn: str) -> None:
    """MagicStack/asyncpg#295: thousands of notices while rows are sent are no deadlock."""
    with colonnade.sync.connect(dsn) as core:
        core.execute(
            "CREATE TEMP TABLE noisy (n int);"
            "CREATE FUNCTION pg_temp.shout() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE NOTICE '%', repeat('x', 2000); RETURN NEW; END $$;"
            "CREATE TRIGGER shout BEFORE INSERT ON noisy FOR EACH ROW"
            " EXECUTE FUNCTION pg_temp.shout()"
        )
        rows = [(n,) for n in range(3000)]
        core.copy_records_to_table("noisy", records=rows)
        core.executemany("INSERT INTO noisy VALUES ($1)", rows)
        assert core.fetchval("SELECT count(*) FROM noisy") == 6000


def test_a_listener_that_is_lost(dsn: str) -> None:
    """MagicStack/asyncpg#519, #421, aio-libs/aiopg#249: its owner is told."""

    async def body() -> None:
        told = asyncio.Event()
        async with connected(dsn) as conn, connected(dsn) as other:
            await conn.add_listener('it\'s "one"', lambda *_: None)
            conn.add_termination_listener(lambda _: told.set())
            pid = conn.get_server_pid()
            await other.execute("SELECT pg_terminate_backend($1)", pid)
            await asyncio.wait_for(told.wait(), 10)
            assert conn.is_closed()

    run(body)


def test_a_listener_given_back(dsn: str) -> None:
    """MagicStack/asyncpg#189: released with a listener, the pool warns."""

    async def body() -> None:
        async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
            conn = await pool.acquire()
            await conn.add_listener("reports", lambda *_: None)
            with pytest.warns(InterfaceWarning, match="notification listener"):
                await pool.release(conn)

    run(body)


def test_more_rows_than_a_cursor_fetches(dsn: str) -> None:
    """psycopg/psycopg#1226, psycopg/psycopg2#174: a named cursor gives all of them, once."""
    with dbapi.connect(dsn) as conn, psycopg.connect(dsn) as peer:
        for door in (conn, peer):
            cursor: Any = door.cursor("reports")
            cursor.itersize = 7
            cursor.execute("SELECT generate_series(1, 100)")
            assert [row[0] for row in cursor] == list(range(1, 101))
            cursor.close()
