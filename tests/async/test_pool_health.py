# async-only: file
"""The pool survives lost connections, restarted servers and failing callbacks."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade import embedded, errors
from tests.support.servers import crash
from tests.support.until import until

if TYPE_CHECKING:
    from tests.support.proxy import Proxy

pytestmark = pytest.mark.every_loop

_KILL = "SELECT pg_terminate_backend($1)"


async def test_an_idle_connection_that_is_lost_is_replaced(
    dsn: str, connection: colonnade.Connection
) -> None:
    async with colonnade.create_pool(dsn, min_size=2, max_size=2) as pool:
        async with pool.acquire() as one, pool.acquire() as other:
            pids = {one.get_server_pid(), other.get_server_pid()}
        for pid in pids:
            await connection.execute(_KILL, pid)
        await until(lambda: pool.get_stats().closed.get("lost") == 2)
        # `min_size` is restored without a call of `acquire`.
        await until(lambda: pool.get_idle_size() == 2)
        async with pool.acquire() as one, pool.acquire() as other:
            assert not pids & {one.get_server_pid(), other.get_server_pid()}
            assert await other.fetchval("SELECT 1") == 1


async def test_a_lost_connection_is_never_handed_out(
    dsn: str, connection: colonnade.Connection
) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        for _ in range(20):
            async with pool.acquire() as used:
                pid = used.get_server_pid()
            await connection.execute(_KILL, pid)
            # The server's last message is in the socket, or will be in a moment.
            gone = "SELECT count(*) FROM pg_stat_activity WHERE pid = $1"
            while await connection.fetchval(gone, pid):
                pass
            assert await pool.fetchval("SELECT 1") == 1


async def test_a_busy_connection_that_is_lost_frees_its_place(
    dsn: str, connection: colonnade.Connection
) -> None:
    async with colonnade.create_pool(dsn, min_size=0, max_size=1) as pool:
        async with pool.acquire() as used:
            await connection.execute(_KILL, used.get_server_pid())
            with pytest.raises((errors.ConnectionDoesNotExistError, colonnade.InterfaceError)):
                await used.fetchval("SELECT pg_sleep(60)")
            with pytest.raises(colonnade.InterfaceError, match="connection is closed"):
                await used.fetchval("SELECT 1")
            await until(lambda: pool.get_size() == 0)
            async with pool.acquire(timeout=10) as second:
                assert await second.fetchval("SELECT 1") == 1
        assert pool.get_stats().closed == {"lost": 1}


async def test_who_waits_gets_a_connection_although_one_is_lost(
    dsn: str, connection: colonnade.Connection
) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        used = await pool.acquire()
        waiting = [asyncio.ensure_future(pool.fetchval("SELECT 1")) for _ in range(5)]
        await asyncio.sleep(0)
        await connection.execute(_KILL, used.get_server_pid())
        assert await asyncio.gather(*waiting) == [1] * 5
        await pool.release(used)


async def test_a_pool_survives_a_crash_of_its_server() -> None:
    with embedded.start(tcp=True) as server:
        async with colonnade.create_pool(server.dsn, min_size=2, max_size=4) as pool:
            running = asyncio.ensure_future(pool.fetchval("SELECT pg_sleep(60)"))
            victim = await pool.fetchval("SELECT pg_backend_pid()")
            # The server ends all backends, and accepts no connections until it has recovered.
            crash(server, victim)
            with pytest.raises((errors.PostgresError, colonnade.InterfaceError, OSError)):
                await running
            await until(lambda: pool.get_stats().opened >= 4 and pool.get_idle_size() >= 2)
            assert await pool.fetchval("SELECT 2") == 2
            assert pool.get_stats().closed == {"lost": 2}


async def test_who_comes_while_the_server_is_away_is_told(proxy: Proxy) -> None:
    pool = await colonnade.create_pool(f"{proxy.dsn}?sslmode=disable", min_size=1, max_size=2)
    held = await pool.acquire()
    await asyncio.to_thread(proxy.close)
    await until(lambda: pool.get_size() == 0)
    outcomes = await asyncio.gather(
        *(pool.fetchval("SELECT 1") for _ in range(5)), return_exceptions=True
    )
    assert [type(outcome) for outcome in outcomes] == [ConnectionRefusedError] * 5
    assert pool.get_stats().open_failures >= 5
    await pool.release(held)
    await pool.close()


async def test_the_floor_is_tried_again_and_again(
    dsn: str, caplog: pytest.LogCaptureFixture
) -> None:
    attempts = 0

    async def connect(*args: Any, **kwargs: Any) -> colonnade.Connection:
        nonlocal attempts
        attempts += 1
        if 1 < attempts < 4:
            raise OSError("not now")
        return await colonnade.connect(*args, **kwargs)

    async with colonnade.create_pool(dsn, min_size=1, max_size=1, connect=connect) as pool:
        async with pool.acquire() as connection:
            connection.terminate()
        await until(lambda: pool.get_idle_size() == 1)
        assert attempts == 4
        assert pool.get_stats().open_failures == 2
    warnings = [record.getMessage() for record in caplog.records if record.name == "colonnade.pool"]
    assert len(warnings) == 2
    assert "fewer than 1 connections" in warnings[0]
    assert "OSError('not now')" in warnings[0]


async def test_a_closing_pool_does_not_wait_for_its_floor(dsn: str) -> None:
    is_gone = False

    async def connect(*args: Any, **kwargs: Any) -> colonnade.Connection:
        if is_gone:
            await asyncio.sleep(60)
        return await colonnade.connect(*args, **kwargs)

    async with colonnade.create_pool(dsn, min_size=1, max_size=1, connect=connect) as pool:
        is_gone = True
        async with pool.acquire() as connection:
            connection.terminate()
        await asyncio.sleep(0.01)
        assert pool.get_stats().opening == 1
        async with asyncio.timeout(5):
            await pool.close()


async def test_callbacks_see_the_connection_and_its_proxy(dsn: str) -> None:
    seen: list[tuple[str, str]] = []

    def note(name: str) -> Any:
        async def callback(connection: object) -> None:
            seen.append((name, type(connection).__name__))

        return callback

    async with colonnade.create_pool(
        dsn, min_size=1, max_size=1, init=note("init"), setup=note("setup"), reset=note("reset")
    ) as pool:
        assert await pool.fetchval("SELECT 1") == 1
        async with pool.acquire():
            pass
    lent = [("setup", "PoolConnectionProxy"), ("reset", "Connection")]
    assert seen == [("init", "Connection"), *lent, *lent]


async def test_a_reset_of_the_user_takes_the_place_of_ours(dsn: str) -> None:
    async def reset(connection: colonnade.Connection) -> None:
        assert not connection.is_in_transaction()
        assert await connection.fetchval("SHOW search_path") == "nowhere"

    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    async with colonnade.create_pool(dsn, min_size=1, max_size=1, reset=reset) as pool:
        await pool.execute("SET search_path TO nowhere")
        async with pool.acquire() as connection:
            await connection.execute("BEGIN")


async def test_a_proxy_whose_setup_failed_says_that_it_is_closed(dsn: str) -> None:
    seen: list[Any] = []

    async def setup(proxy: Any) -> None:
        seen.append(proxy)
        if len(seen) == 1:
            raise LookupError("the callback's own")

    async with colonnade.create_pool(dsn, min_size=1, max_size=1, setup=setup) as pool:
        with pytest.raises(LookupError):
            await pool.acquire()
        assert seen[0].is_closed()
        with pytest.raises(colonnade.InterfaceError, match="connection is closed"):
            await seen[0].fetchval("SELECT 1")
        await pool.release(seen[0])
        async with pool.acquire() as connection:
            assert connection is seen[1]
            assert not connection.is_closed()
        assert pool.get_stats().closed == {"setup": 1}


async def test_what_was_connected_before_the_expiry_is_not_handed_out(dsn: str) -> None:
    is_connecting, may_go_on = asyncio.Event(), asyncio.Event()
    names: list[str] = []

    async def init(connection: colonnade.Connection) -> None:
        names.append(connection.get_settings().application_name)
        if len(names) == 2:
            is_connecting.set()
            await may_go_on.wait()

    options: dict[str, Any] = {"server_settings": {"application_name": "old"}}
    async with colonnade.create_pool(dsn, min_size=1, max_size=1, init=init, **options) as pool:
        async with pool.acquire() as connection:
            connection.terminate()
        # The connections of `min_size` reconnect with the current arguments.
        await is_connecting.wait()
        waiting = asyncio.ensure_future(pool.fetchval("SHOW application_name"))
        await asyncio.sleep(0)
        pool.set_connect_args(dsn, server_settings={"application_name": "new"})
        await pool.expire_connections()
        may_go_on.set()
        assert await waiting == "new"
        assert names == ["old", "old", "new"]
        assert pool.get_stats().closed == {"user": 1, "expired": 1}


async def test_a_pool_that_is_dropped_warns_of_its_connections(dsn: str) -> None:
    pool = await colonnade.create_pool(dsn, min_size=2, max_size=2)
    assert await pool.fetchval("SELECT 1") == 1
    await asyncio.sleep(0)
    del pool
    with pytest.warns(ResourceWarning, match="unclosed connection") as warned:
        gc.collect()
    assert len(warned) == 2


async def test_acquire_stops_waiting_for_a_dead_network(proxy: Proxy) -> None:
    dsn = f"{proxy.dsn}?sslmode=disable"
    async with colonnade.create_pool(dsn, min_size=0, max_size=1) as pool:
        proxy.hold_after(0)
        for _ in range(2):
            with pytest.raises(TimeoutError):
                async with pool.acquire(timeout=0.1):
                    pass
        proxy.release()
        async with pool.acquire(timeout=10) as connection:
            assert await connection.fetchval("SELECT 1") == 1


async def test_release_stops_waiting_for_a_dead_network(proxy: Proxy) -> None:
    dsn = f"{proxy.dsn}?sslmode=disable"
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    async with colonnade.create_pool(dsn, min_size=0, max_size=1) as pool:
        with pytest.raises(TimeoutError):  # noqa: PT012 - the end of the block raises
            async with pool.acquire(timeout=0.5) as connection:
                await connection.execute("BEGIN")
                # The pool waits for the rollback: the next user must not join the transaction.
                proxy.hold_after(0)
        assert pool.get_size() == 0
        assert pool.get_stats().closed == {"reset": 1}
        proxy.release()
        assert await pool.fetchval("SELECT 1") == 1


@pytest.mark.parametrize("name", ["init", "setup", "reset"])
async def test_a_callback_that_raises_costs_the_connection(dsn: str, name: str) -> None:
    is_bad = True

    async def callback(_: object) -> None:
        if is_bad:
            raise LookupError("the callback's own")

    options: dict[str, Any] = {name: callback}
    async with colonnade.create_pool(dsn, min_size=0, max_size=1, **options) as pool:
        for _ in range(3):
            with pytest.raises(LookupError, match="the callback's own"):
                await pool.fetchval("SELECT 1")
            assert pool.get_size() == 0
        is_bad = False
        assert await pool.fetchval("SELECT 1") == 1


async def test_a_connection_that_init_closes_is_not_opened_again_at_once(dsn: str) -> None:
    attempts = 0

    async def init(connection: colonnade.Connection) -> None:
        nonlocal attempts
        attempts += 1
        if attempts > 1:
            await connection.close()

    async with colonnade.create_pool(dsn, min_size=1, max_size=1, init=init) as pool:
        async with pool.acquire() as connection:
            connection.terminate()
        await until(lambda: pool.get_stats().open_failures > 0)
        with pytest.raises(colonnade.InterfaceError, match="closed while the pool was opening"):
            async with asyncio.timeout(5):
                await pool.fetchval("SELECT 1")
        assert attempts < 6


async def test_an_init_that_raises_keeps_the_pool_from_starting(dsn: str) -> None:
    async def init(connection: colonnade.Connection) -> None:
        raise LookupError(await connection.fetchval("SELECT 'the first'"))

    pool = colonnade.create_pool(dsn, min_size=3, max_size=3, init=init)
    with pytest.raises(LookupError, match="the first"):
        await pool
    assert pool.get_size() == 0


async def test_what_does_not_connect_is_refused(dsn: str) -> None:
    async def connect(*_: Any, **__: Any) -> int:
        return 3

    with pytest.raises(
        colonnade.InterfaceError,
        match=r"expected pool connect callback to return an instance of "
        r"'colonnade\..*Connection', got 'int'",
    ):
        await colonnade.create_pool(dsn, min_size=1, connect=connect)


async def test_a_connect_that_is_cancelled_from_within_fails_who_waits(dsn: str) -> None:
    async def connect(*_: Any, **__: Any) -> colonnade.Connection:
        raise asyncio.CancelledError

    async with colonnade.create_pool(dsn, min_size=0, max_size=1, connect=connect) as pool:
        with pytest.raises(colonnade.InterfaceError, match="was cancelled"):
            async with asyncio.timeout(10):
                await pool.fetchval("SELECT 1")
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0)
