"""The pool: its size, its life, and the connections that it lends."""

from __future__ import annotations

# async-only: begin
import asyncio

# async-only: end
import io
import time
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade import InterfaceError, errors
from colonnade._driver._async.pool.proxy import PoolConnectionProxy

# async-only: begin
from tests.support.until import until

# async-only: end

if TYPE_CHECKING:
    from tests.support.proxy import Proxy


class _MyConnection(colonnade.Connection):
    def greet(self) -> str:
        return "hello"


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"max_size": 0}, ValueError, "max_size must be 1 or more, not 0"),
        ({"min_size": -1}, ValueError, "min_size must be 0 or more, not -1"),
        ({"max_size": 5}, ValueError, "min_size is greater than max_size"),
        ({"init_size": -1}, ValueError, "init_size must be 0 or more, not -1"),
        ({"init_size": 11}, ValueError, "init_size is greater than max_size"),
        ({"init_size": 3, "min_size": 5}, ValueError, "init_size is smaller than min_size"),
        ({"max_size": 10.5}, TypeError, "max_size must be a whole number, not 10.5"),
        ({"max_queries": 0}, ValueError, "max_queries must be 1 or more, not 0"),
        (
            {"max_inactive_connection_lifetime": -1},
            ValueError,
            "max_inactive_connection_lifetime must be 0 seconds or more, not -1",
        ),
        ({"max_lifetime": 0}, ValueError, "max_lifetime must be more than 0 seconds"),
        ({"connection_class": object}, TypeError, "connection_class is expected to be a subclass"),
        ({"record_class": 3}, TypeError, "record_class is expected to be a subclass"),
    ],
)
async def test_options_are_checked(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        colonnade.create_pool(**options)


async def test_a_pool_opens_and_closes_its_connections(dsn: str) -> None:
    pool = colonnade.create_pool(dsn, min_size=2, max_size=4, init_size=3)
    sizes = (pool.get_init_size(), pool.get_min_size(), pool.get_max_size())
    assert sizes == (3, 2, 4)
    # async-only: begin
    assert (pool.get_size(), pool.get_idle_size(), repr(pool)) == (0, 0, "<Pool not initialized>")
    # async-only: end
    async with pool as entered:
        assert entered is pool
        assert (pool.get_size(), pool.get_idle_size(), pool.is_closing()) == (3, 3, False)
        async with pool.acquire() as connection:
            assert (pool.get_size(), pool.get_idle_size()) == (3, 2)
            assert await connection.fetchval("SELECT 1") == 1
        assert repr(pool) == "<Pool size=3 idle=3 waiting=0 min_size=2 max_size=4>"
        # async-only: begin
        assert await pool is pool
        # async-only: end
    assert (pool.get_size(), pool.get_idle_size(), pool.is_closing()) == (0, 0, True)
    assert repr(pool) == "<Pool closed>"
    await pool.close()
    pool.terminate()


async def test_a_pool_grows_when_it_is_asked_to(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=0, max_size=2) as pool:
        assert pool.get_size() == 0
        first, second = await pool.acquire(), await pool.acquire()
        assert first.get_server_pid() != second.get_server_pid()
        with pytest.raises(TimeoutError):
            await pool.acquire(timeout=0.01)
        await pool.release(first)
        third = await pool.acquire()
        assert third.get_server_pid() is not None
        await pool.release(second)
        await pool.release(third)
        stats = pool.get_stats()
        assert (stats.opened, stats.given_up, stats.acquired) == (2, 1, 3)


# async-only: begin
async def test_a_pool_that_is_not_ready_refuses(dsn: str) -> None:
    pool = colonnade.create_pool(dsn, min_size=1, max_size=1)
    for use in (pool.acquire, lambda: pool.fetch("SELECT 1"), pool.close):
        with pytest.raises(InterfaceError, match="pool is not initialized"):
            await use()
    with pytest.raises(InterfaceError, match="pool is not initialized"):
        pool.terminate()
    await pool.expire_connections()
    starting = asyncio.ensure_future(pool.__aenter__())
    await asyncio.sleep(0)
    with pytest.raises(InterfaceError, match="likely there is a race between creating a pool"):
        await pool.fetch("SELECT 1")
    with pytest.raises(InterfaceError, match="pool is being initialized in another task"):
        await pool
    await starting
    closing_while_busy = await pool.acquire()
    closing = asyncio.ensure_future(pool.close())
    await asyncio.sleep(0)
    with pytest.raises(InterfaceError, match="pool is closing"):
        await pool.acquire()
    assert pool.is_closing()
    await pool.release(closing_while_busy)
    await closing
    with pytest.raises(InterfaceError, match="pool is closed"):
        await pool.fetchval("SELECT 1")


# async-only: end
async def test_a_server_that_is_not_there_shows_at_once() -> None:
    with pytest.raises(ConnectionRefusedError):
        await colonnade.create_pool("postgresql://x@127.0.0.1:1/x", min_size=3, max_size=3)


# async-only: begin
async def test_an_interrupted_start_leaves_nothing(dsn: str) -> None:
    for steps in range(40):
        pool = colonnade.create_pool(dsn, min_size=3, max_size=3)
        starting = asyncio.ensure_future(pool.__aenter__())
        for _ in range(steps):
            await asyncio.sleep(0)
        if not starting.cancel():
            await pool.close()
            break
        with pytest.raises(asyncio.CancelledError):
            await starting
        assert pool.get_size() == 0
    # A pool that failed to start can be started again.
    async with pool if not pool.is_closing() else colonnade.create_pool(dsn, min_size=1) as again:
        assert await again.fetchval("SELECT 1") == 1


# async-only: end
async def test_a_proxy_is_a_connection(dsn: str) -> None:
    async with colonnade.create_pool(
        dsn, min_size=1, max_size=1, connection_class=_MyConnection
    ) as pool:
        async with pool.acquire() as connection:
            classes = (colonnade.Connection, _MyConnection, PoolConnectionProxy)
            assert [isinstance(connection, one) for one in classes] == [True, True, True]
            assert type(connection) is PoolConnectionProxy
            assert connection.greet() == "hello"
            assert repr(connection).startswith("<PoolConnectionProxy <_MyConnection ")
        assert "[released]" in repr(connection)
        with pytest.raises(AttributeError, match="released back to the pool"):
            connection.greet()


async def test_what_was_given_back_is_stale(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        connection = await pool.acquire()
        await pool.release(connection)
        await pool.release(connection)
        public = {name for name in dir(colonnade.Connection) if not name.startswith("_")}
        names = {name for name in public if callable(getattr(colonnade.Connection, name))}
        for name in public - names:
            with pytest.raises(AttributeError, match="released back to the pool"):
                getattr(connection, name)
        for name in names:
            with pytest.raises(
                InterfaceError,
                match=rf"cannot call Connection\.{name}\(\): "
                "connection has been released back to the pool",
            ):
                getattr(connection, name)()


async def test_release_takes_what_is_its_own(dsn: str, connection: colonnade.Connection) -> None:
    async with (
        colonnade.create_pool(dsn, min_size=1, max_size=1) as one,
        colonnade.create_pool(dsn, min_size=1, max_size=1) as other,
        one.acquire() as acquired,
    ):
        strangers: list[Any] = [acquired, connection, None, 3]
        for stranger in strangers:
            with pytest.raises(
                InterfaceError,
                match=r"Pool\.release\(\) received invalid connection: .* is not a member",
            ):
                await other.release(stranger)
        assert await acquired.fetchval("SELECT 1") == 1


# async-only: begin
async def test_an_acquire_context_is_entered_once(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=2, max_size=2) as pool:
        context = pool.acquire()
        async with context:
            with pytest.raises(InterfaceError, match="a connection is already acquired"):
                await context.__aenter__()
        async with context as again:
            assert await again.fetchval("SELECT 1") == 1


# async-only: end
async def test_a_user_may_close_a_connection(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=0, max_size=1) as pool:
        async with pool.acquire() as connection:
            await connection.close()
            with pytest.raises(InterfaceError, match="released back to the pool"):
                _ = connection.fetch("SELECT 1")
            assert pool.get_size() == 0
        async with pool.acquire() as connection:
            connection.terminate()
            assert pool.get_size() == 0
        assert await pool.fetchval("SELECT 1") == 1
        assert pool.get_stats().closed == {"user": 2}


async def test_every_query_method_of_a_connection_is_one_of_the_pool(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        await pool.execute("DROP TABLE IF EXISTS numbers")
        assert await pool.execute("CREATE TABLE numbers (n int)") == "CREATE TABLE"
        assert await pool.execute("INSERT INTO numbers VALUES ($1), ($2)", 1, 2) == "INSERT 0 2"
        assert await pool.fetch("SELECT n FROM numbers ORDER BY n") == [(1,), (2,)]
        assert await pool.fetchrow("SELECT n FROM numbers WHERE n = $1", 2) == (2,)
        assert await pool.fetchval("SELECT 1, 5", column=1) == 5
        await pool.executemany("INSERT INTO numbers VALUES ($1)", [(3,), (4,)])
        assert await pool.fetchmany("DELETE FROM numbers WHERE n = $1 RETURNING n", [(3,), (4,)])
        columns = await pool.fetch_columns("SELECT n FROM numbers ORDER BY n")
        assert columns["n"].tolist() == [1, 2]
        assert await pool.execute("DROP TABLE numbers") == "DROP TABLE"
        assert pool.get_idle_size() == 1
        with pytest.raises(errors.UndefinedTableError):
            await pool.fetch("SELECT * FROM no_such_table")
        assert pool.get_idle_size() == 1


async def test_the_copy_methods_are_there_too(dsn: str) -> None:
    table = "pool_copies"
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        await pool.execute(f"DROP TABLE IF EXISTS {table}; CREATE TABLE {table} (n int)")
        source = await pool.fetch_columns("SELECT generate_series(1, 3) AS n")
        await pool.copy_columns_to_table(table, source)
        assert await pool.copy_to_table(table, source=io.BytesIO(b"4\n")) == "COPY 1"
        sink = io.BytesIO()
        assert await pool.copy_from_table(table, output=sink) == "COPY 4"
        assert sink.getvalue() == b"1\n2\n3\n4\n"
        columns = await pool.fetch_columns(f"SELECT n FROM {table} WHERE n > 2")
        assert columns["n"].tolist() == [3, 4]
        await pool.execute(f"DROP TABLE {table}")


async def test_a_stream_of_the_pool_holds_its_connection(dsn: str) -> None:
    query = "SELECT generate_series(1, 10) AS n"
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        seen = [batch["n"].tolist() async for batch in pool.iter_columns(query, batch_rows=5)]
        assert seen == [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]]
        assert pool.get_idle_size() == 1
        async with pool.iter_columns(query, batch_rows=2) as stream:
            assert (await anext(stream))["n"].tolist() == [1, 2]
            assert pool.get_idle_size() == 0
        assert await pool.fetchval("SELECT 1") == 1
        async for _ in pool.iter_columns("SELECT generate_series(1, 1000000)", batch_rows=2):
            break
        assert await pool.fetchval("SELECT 2") == 2
        with pytest.raises(ValueError, match="batch_rows"):
            await anext(pool.iter_columns(query, batch_rows=0))
        assert pool.get_idle_size() == 1


async def test_a_stream_of_the_pool_that_has_ended(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        stream = pool.iter_columns("SELECT 1 AS n")
        assert [batch["n"].tolist() async for batch in stream] == [[1]]
        # Another task now has the connection.
        async with pool.acquire() as connection:
            with pytest.raises(StopAsyncIteration):
                await anext(stream)
            await stream.aclose()
            assert await connection.fetchval("SELECT 2") == 2


async def test_a_lent_connection_is_a_block_of_its_own(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        connection = await pool.acquire()
        async with connection as same:
            assert same is connection
            await same.execute("SET application_name = 'changed'")
            assert pool.get_idle_size() == 0
        assert pool.get_idle_size() == 1
        with pytest.raises(InterfaceError, match="released"):
            await connection.fetchval("SELECT 1")
        with pytest.raises(InterfaceError, match="released"):
            async with connection:
                pass
        assert await pool.fetchval("SHOW application_name") != "changed"


async def test_a_setup_that_gives_its_connection_back(dsn: str) -> None:
    async def setup(connection: Any) -> None:
        await pool.release(connection)

    async with colonnade.create_pool(dsn, min_size=1, max_size=1, setup=setup) as pool:
        with pytest.raises(InterfaceError, match="setup callback has given its connection back"):
            await pool.fetchval("SELECT 1")
        assert pool.get_idle_size() == 1


async def test_the_last_one_back_is_the_next_one_out(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=3, max_size=3) as pool:
        connections = [await pool.acquire() for _ in range(3)]
        pids = [connection.get_server_pid() for connection in connections]
        for connection in connections:
            await pool.release(connection)
        for _ in range(3):
            async with pool.acquire() as connection:
                assert connection.get_server_pid() == pids[-1]


async def test_connections_are_replaced_after_so_many_queries(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1, max_queries=3) as pool:
        pids = {await pool.fetchval("SELECT pg_backend_pid()") for _ in range(6)}
        assert len(pids) == 3
        assert pool.get_stats().closed == {"max_queries": 3}


async def test_old_connections_are_replaced(dsn: str) -> None:
    query = "SELECT pg_backend_pid() FROM pg_sleep(0.002)"
    async with colonnade.create_pool(dsn, min_size=1, max_size=1, max_lifetime=0.002) as pool:
        assert len({await pool.fetchval(query) for _ in range(3)}) == 3
        assert pool.get_stats().closed["max_lifetime"] == 3


async def test_a_connection_grows_old_while_it_is_idle(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1, max_lifetime=0.02) as pool:
        pid = await pool.fetchval("SELECT pg_backend_pid()")
        time.sleep(0.03)  # noqa: ASYNC251 - the loop is blocked, and its timers are late
        assert await pool.fetchval("SELECT pg_backend_pid()") != pid


# async-only: begin
async def test_old_idle_connections_are_replaced_although_nobody_comes(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=2, max_size=2, max_lifetime=0.05) as pool:
        await until(lambda: pool.get_stats().closed.get("max_lifetime", 0) >= 6)
        await until(lambda: pool.get_size() == 2)
        async with pool.acquire() as connection:
            pid = connection.get_server_pid()
            await asyncio.sleep(0.1)
            assert await connection.fetchval("SELECT pg_backend_pid()") == pid
    async with colonnade.create_pool(dsn, min_size=0, max_size=2, max_lifetime=0.05) as pool:
        assert await pool.fetchval("SELECT 1") == 1
        await until(lambda: pool.get_size() == 0)
        assert pool.get_stats().closed == {"max_lifetime": 1}


async def test_idle_connections_above_the_floor_are_closed(dsn: str) -> None:
    async with colonnade.create_pool(
        dsn, min_size=1, max_size=4, max_inactive_connection_lifetime=0.05
    ) as pool:
        connections = [await pool.acquire() for _ in range(4)]
        for connection in connections:
            await pool.release(connection)
        await until(lambda: pool.get_size() == 1)
        await asyncio.sleep(0.1)
        assert pool.get_size() == 1
        assert pool.get_stats().closed == {"inactive": 3}


# async-only: end
async def test_expired_connections_are_replaced(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=2, max_size=2) as pool:
        busy = await pool.acquire()
        old = {busy.get_server_pid(), await pool.fetchval("SELECT pg_backend_pid()")}
        await pool.expire_connections()
        await pool.release(busy)
        async with pool.acquire() as one, pool.acquire() as other:
            assert not old & {one.get_server_pid(), other.get_server_pid()}
        assert pool.get_stats().closed == {"expired": 2}


async def test_the_next_connection_uses_the_new_arguments(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        pool.set_connect_args(dsn, server_settings={"application_name": "second"})
        await pool.expire_connections()
        assert await pool.fetchval("SHOW application_name") == "second"


async def test_types_are_learned_once_for_all(proxy: Proxy) -> None:
    plain = f"{proxy.dsn}?sslmode=disable"
    async with colonnade.create_pool(plain, min_size=2, max_size=2) as pool:
        await pool.execute("DROP TYPE IF EXISTS pool_mood; CREATE TYPE pool_mood AS ENUM ('fine')")
        async with pool.acquire() as one, pool.acquire() as other:
            assert await one.fetchval("SELECT 'fine'::pool_mood") == "fine"
            assert await other.fetchval("SELECT 'fine'::pool_mood") == "fine"
        await pool.execute("DROP TYPE pool_mood")
        prepared = sorted(relayed.tags.count("P") for relayed in proxy.connections)
    # The first query also read the catalogs.
    assert prepared == [1, 2]
