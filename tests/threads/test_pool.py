"""A pool shared by threads: the order of service, and time limits."""

from __future__ import annotations

import contextlib
import gc
import socket
import time
from typing import Any

import pytest

import colonnade.sync
from colonnade import InterfaceError, embedded, errors
from colonnade.sync import Pool, PoolConnectionProxy
from tests.support.crowd import Crowd, see
from tests.support.leftovers import BackendWatch, is_ended_by
from tests.support.proxy import Proxy
from tests.support.servers import crash

THREADS = 50
PID = "SELECT pg_backend_pid()"


def test_fifty_threads_are_served_in_the_order_of_coming(dsn: str) -> None:
    with colonnade.sync.create_pool(dsn, min_size=5, max_size=5) as pool, Crowd() as crowd:
        held = [pool.acquire() for _ in range(5)]
        order: list[int] = []

        def come(number: int) -> None:
            with pool.acquire():
                order.append(number)

        for number in range(THREADS):
            crowd.start(come, number)
            see(lambda number=number: pool.get_stats().waiting == number + 1)  # type: ignore[misc]
        pool.release(held[0])
        crowd.ends()
        assert order == list(range(THREADS))
        for connection in held[1:]:
            pool.release(connection)
        stats = pool.get_stats()
        assert (stats.waited, stats.given_up, stats.opened) == (THREADS, 0, 5)


def test_fifty_threads_share_five_connections(dsn: str) -> None:
    with colonnade.sync.create_pool(dsn, min_size=0, max_size=5) as pool:

        def ask(number: int) -> list[Any]:
            return [pool.fetchval("SELECT $1::int", number + step) for step in range(20)]

        with Crowd() as crowd:
            for number in range(THREADS):
                crowd.start(ask, number)
            answers = crowd.ends()
        assert answers == [list(range(number, number + 20)) for number in range(THREADS)]
        stats = pool.get_stats()
        assert stats.opened <= 5
        assert stats.acquired == 20 * THREADS
        assert (stats.idle, stats.waiting, stats.closed) == (stats.size, 0, {})


def test_two_threads_wait_for_the_server_at_the_same_time(
    dsn: str, connection: colonnade.sync.Connection
) -> None:
    sleeping = "SELECT count(*) FROM pg_stat_activity WHERE query = $1 AND wait_event = 'PgSleep'"
    query = "SELECT pg_sleep(60), 'both at once'"
    with colonnade.sync.create_pool(dsn, min_size=2, max_size=2) as pool, Crowd() as crowd:
        sleepers = [crowd.start(pool.fetch_columns, query) for _ in range(2)]
        see(lambda: connection.fetchval(sleeping, query) == 2)
        connection.fetch(
            "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query = $1", query
        )
        for sleeper in sleepers:
            with pytest.raises(errors.QueryCanceledError):
                sleeper.end()
        assert pool.fetchval("SELECT 1") == 1


def test_nobody_overtakes_who_waits(dsn: str) -> None:
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=1) as pool, Crowd() as crowd:
        held = pool.acquire()
        order: list[str] = []

        def come(name: str) -> None:
            with pool.acquire():
                order.append(name)

        crowd.start(come, "first")
        see(lambda: pool.get_stats().waiting == 1)
        pool.release(held)
        come("second")
        crowd.ends()
        assert order == ["first", "second"]


def test_who_gives_up_is_passed_over(dsn: str) -> None:
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=1) as pool, Crowd() as crowd:
        with pool.acquire():
            late = crowd.start(lambda: pool.acquire(timeout=0.01))
            see(lambda: not late.is_alive)
            patient = crowd.start(pool.fetchval, "SELECT 1")
            see(lambda: pool.get_stats().waiting == 1)
        assert patient.end() == 1
        with pytest.raises(TimeoutError):
            late.end()
        assert pool.get_stats().given_up == 1


def test_a_connection_belongs_to_one_thread_at_a_time(dsn: str) -> None:
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=1) as pool, Crowd() as crowd:
        with pool.acquire() as shared:
            busy = crowd.start(shared.fetchval, "SELECT 1 FROM pg_sleep(0.2)")
            bare: Any = shared._con
            see(lambda: bare.conversation.owner is not None)
            with pytest.raises(InterfaceError, match="another operation is in progress"):
                shared.fetchval("SELECT 2")
            assert busy.end() == 1
        with pytest.raises(InterfaceError, match="released back to the pool"):
            shared.fetchval("SELECT 3")


# Nothing of a connection is lost


@pytest.mark.filterwarnings("ignore:unclosed connection:ResourceWarning")
def test_a_connection_that_nobody_gives_back_frees_its_place(dsn: str) -> None:
    with colonnade.sync.create_pool(dsn, min_size=0, max_size=1) as pool, Crowd() as crowd:
        dropped = pool.acquire()
        waiting = crowd.start(pool.fetchval, "SELECT 1")
        see(lambda: pool.get_stats().waiting == 1)
        assert dropped.fetchval("SELECT 2") == 2
        del dropped
        gc.collect()
        assert waiting.end() == 1
        assert pool.get_stats().closed == {"dropped": 1}


def test_an_interrupted_query_gives_its_connection_back(
    dsn: str, connection: colonnade.sync.Connection
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with colonnade.sync.create_pool(dsn, min_size=1, max_size=1) as pool:
        with pool.acquire() as heard:
            pid = heard.get_server_pid()
            heard.add_log_listener(print)
            bare: Any = heard._con
            bare.conversation.transport.tell = interrupt
            with pytest.raises(KeyboardInterrupt):
                heard.execute("DO $$ BEGIN RAISE NOTICE 'now'; PERFORM pg_sleep(60); END $$")
            del bare.conversation.transport.tell
            heard.remove_log_listener(print)
        assert connection.fetchval("SELECT 1") == 1
        assert pool.get_idle_size() == pool.get_size()
        assert pool.fetchval(PID) == pid or pool.get_stats().closed
        assert pool.fetchval("SELECT 2") == 2


# Lost connections


def test_lost_connections_are_never_handed_out(dsn: str, watch: BackendWatch) -> None:
    with colonnade.sync.create_pool(dsn, min_size=3, max_size=3) as pool:
        with pool.acquire() as one, pool.acquire() as other, pool.acquire() as third:
            pids = [each.get_server_pid() for each in (one, other, third)]
        for pid in pids:
            watch.end(pid)
        answers = [pool.fetchval("SELECT 1") for _ in range(6)]
        assert answers == [1] * 6
        # The callers restore `min_size`.
        assert (pool.get_size(), pool.get_stats().closed) == (3, {"lost": 3})


def test_a_connection_that_was_reset_is_not_handed_out(proxy: Proxy) -> None:
    with colonnade.sync.create_pool(f"{proxy.dsn}?sslmode=disable", min_size=1, max_size=1) as pool:
        assert pool.fetchval("SELECT 1") == 1
        proxy.first.break_off()
        see(lambda: is_ended_by(proxy.port))
        assert pool.fetchval("SELECT 2") == 2
        assert pool.get_stats().closed == {"lost": 1}


def test_a_lost_connection_costs_nobody_the_turn(dsn: str, watch: BackendWatch) -> None:
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=1) as pool, Crowd() as crowd:
        order: list[int] = []

        def come(number: int) -> None:
            with pool.acquire() as connection:
                order.append(number)
                assert connection.fetchval("SELECT 1") == 1

        held = pool.acquire()
        for number in range(5):
            crowd.start(come, number)
            see(lambda number=number: pool.get_stats().waiting == number + 1)  # type: ignore[misc]
        watch.end(held.get_server_pid())
        pool.release(held)
        crowd.ends()
        assert order == list(range(5))
        assert pool.get_stats().closed == {"lost": 1}


def test_who_gives_a_lost_connection_back_has_no_part_in_it(dsn: str) -> None:
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=1) as pool:
        with pool.acquire() as connection:
            assert connection.fetchval("SELECT 1") == 1
            bare: Any = connection._con
            # The reset cannot be sent.
            bare.conversation.transport._socket.shutdown(socket.SHUT_RDWR)
        assert pool.fetchval("SELECT 2") == 2
        assert pool.get_stats().closed == {"lost": 1}


def test_a_connection_that_is_lost_in_use_frees_its_place(dsn: str, watch: BackendWatch) -> None:
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=1) as pool, Crowd() as crowd:
        held = pool.acquire()
        waiting = crowd.start(pool.fetchval, "SELECT 1")
        see(lambda: pool.get_stats().waiting == 1)
        watch.end(held.get_server_pid())
        with pytest.raises((errors.PostgresConnectionError, errors.AdminShutdownError)):
            held.fetchval("SELECT 2")
        pool.release(held)
        assert waiting.end() == 1


def test_a_pool_survives_a_crash_of_its_server() -> None:
    with (
        embedded.start(tcp=True) as server,
        colonnade.sync.create_pool(server.dsn, min_size=2, max_size=4) as pool,
        Crowd() as crowd,
    ):
        running = crowd.start(pool.fetchval, "SELECT pg_sleep(60)")
        see(lambda: pool.get_idle_size() == 1)
        # The server ends all backends, and accepts no connections until it has recovered.
        crash(server, pool.fetchval(PID))
        with pytest.raises((errors.PostgresError, InterfaceError, OSError)):
            running.end()

        def ask() -> int | None:
            with contextlib.suppress(errors.PostgresError, InterfaceError, OSError):
                return int(pool.fetchval("SELECT 1"))
            return None

        see(lambda: ask() == 1)
        for _ in range(8):
            crowd.start(pool.fetchval, "SELECT 1")
    assert pool.get_stats().closed["lost"] == 2


def test_who_comes_while_the_server_is_away_is_told(
    dsn: str, caplog: pytest.LogCaptureFixture
) -> None:
    is_away = False

    def connect(*args: Any, **options: Any) -> colonnade.sync.Connection:
        if is_away:
            raise OSError("not now")
        return colonnade.sync.connect(*args, **options)

    with colonnade.sync.create_pool(dsn, min_size=2, max_size=2, connect=connect) as pool:
        with pool.acquire() as alive:
            is_away = True
            with pool.acquire() as other:
                other.terminate()
            for _ in range(5):
                with pytest.raises(OSError, match="not now"):
                    pool.fetchval("SELECT 1")
            assert alive.fetchval("SELECT 2") == 2
        # Not every call tries to connect: the next attempt comes later.
        assert [pool.fetchval("SELECT 3") for _ in range(3)] == [3] * 3
        assert caplog.text.count("the pool has fewer than 2 connections") == 1
        assert pool.get_size() == 1
        is_away = False

        def is_whole() -> bool:
            return pool.fetchval("SELECT 4") == 4 and pool.get_size() == 2

        see(is_whole)


# Time limits


def test_idle_connections_above_the_floor_are_closed_by_who_comes(dsn: str) -> None:
    with colonnade.sync.create_pool(
        dsn, min_size=1, max_size=4, max_inactive_connection_lifetime=0.05
    ) as pool:
        connections = [pool.acquire() for _ in range(4)]
        for connection in connections:
            pool.release(connection)
        time.sleep(0.06)
        assert pool.get_size() == 4
        assert pool.fetchval("SELECT 1") == 1
        assert pool.get_size() == 1
        assert pool.get_stats().closed == {"inactive": 3}


def test_old_idle_connections_are_closed_by_who_comes(dsn: str) -> None:
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=2, max_lifetime=1000) as pool:
        old, young = pool.acquire(), pool.acquire()
        holder: Any = old.holder
        holder.expires_at = time.monotonic() + 0.05
        for connection in (old, young):
            pool.release(connection)
        time.sleep(0.06)
        assert pool.fetchval("SELECT 1") == 1
        assert pool.get_size() == 1
        assert pool.get_stats().closed == {"max_lifetime": 1}


def test_callbacks_that_nobody_would_await_are_refused() -> None:
    async def wait(_: object) -> None: ...

    for name in ("setup", "init", "reset", "connect"):
        with pytest.raises(TypeError, match=f"{name} is expected to be a function that is not a"):
            colonnade.sync.create_pool(**{name: wait})  # type: ignore[arg-type]


def test_callbacks_see_the_connection_and_its_proxy(dsn: str) -> None:
    seen: list[tuple[str, type]] = []
    with colonnade.sync.create_pool(
        dsn,
        min_size=1,
        max_size=1,
        init=lambda connection: seen.append(("init", type(connection))),
        setup=lambda connection: seen.append(("setup", type(connection))),
        reset=lambda connection: seen.append(("reset", type(connection))),
    ) as pool:
        with pool.acquire() as connection:
            assert connection.fetchval("SELECT 1") == 1
        assert pool.fetchval("SELECT 2") == 2
    own, lent = colonnade.sync.Connection, PoolConnectionProxy
    assert seen == [("init", own), *[("setup", lent), ("reset", own)] * 2]


# The end


def test_closing_waits_for_those_who_work_and_serves_those_who_wait(dsn: str) -> None:
    pool = colonnade.sync.create_pool(dsn, min_size=1, max_size=1)
    with Crowd() as crowd:
        held = pool.acquire()
        waiting = crowd.start(pool.fetchval, "SELECT 1")
        see(lambda: pool.get_stats().waiting == 1)
        closing = crowd.start(pool.close)
        see(pool.is_closing)
        with pytest.raises(InterfaceError, match="pool is closing"):
            pool.acquire()
        assert held.fetchval("SELECT 2") == 2
        pool.release(held)
        assert waiting.end() == 1
        closing.end()
    assert repr(pool) == "<Pool closed>"


def test_a_long_closing_is_told_of(
    dsn: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("colonnade._driver._sync.pool.pool.WARN_AFTER_SECONDS", 0.01)
    pool = colonnade.sync.create_pool(dsn, min_size=1, max_size=1)
    with Crowd() as crowd:
        held = pool.acquire()
        crowd.start(pool.close)
        see(lambda: "Pool.close() is taking over" in caplog.text)
        pool.release(held)


def test_terminate_ends_who_works_and_who_waits(dsn: str) -> None:
    pool = colonnade.sync.create_pool(dsn, min_size=1, max_size=1)
    with Crowd() as crowd:
        working = crowd.start(pool.fetchval, "SELECT pg_sleep(2)")
        see(lambda: pool.get_idle_size() == 0)
        waiting = crowd.start(pool.fetchval, "SELECT 1")
        see(lambda: pool.get_stats().waiting == 1)
        pool.terminate()
        with pytest.raises((errors.PostgresConnectionError, InterfaceError, OSError)):
            working.end()
        with pytest.raises(InterfaceError, match="pool is closed"):
            waiting.end()
    assert pool.get_size() == 0


def test_several_threads_may_close_a_pool(dsn: str) -> None:
    pool = colonnade.sync.create_pool(dsn, min_size=2, max_size=2)
    with Crowd() as crowd:
        for _ in range(4):
            crowd.start(pool.close)
    assert (pool.get_size(), pool.is_closing()) == (0, True)


def test_a_pool_is_a_pool_of_this_class(dsn: str) -> None:
    with Pool(dsn, min_size=1, max_size=1) as pool:
        assert pool.fetchval("SELECT 1") == 1
