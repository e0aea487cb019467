"""The reset of a released connection, and its cost."""

from __future__ import annotations

# async-only: begin
import asyncio
import gc

# async-only: end
import time
import warnings
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade import InterfaceError, InterfaceWarning, errors

# async-only: begin
from tests.support.until import until

# async-only: end

if TYPE_CHECKING:
    from tests.support.proxy import Proxy

_RESET = (
    "RESET SESSION AUTHORIZATION;\nRESET ROLE;\nSELECT pg_catalog.pg_advisory_unlock_all();\n"
    "CLOSE ALL;\nUNLISTEN *;\nRESET ALL;\nDISCARD TEMP;"
)
_LOCKS = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711"


def _one(dsn: str, **options: Any) -> colonnade.Pool:
    return colonnade.create_pool(dsn, min_size=1, max_size=1, **options)


def _plain(proxy: Proxy) -> str:
    return f"{proxy.dsn}?sslmode=disable"


async def test_locks_cursors_and_settings_are_gone(dsn: str) -> None:
    async with _one(dsn) as pool:
        async with pool.acquire() as connection:
            assert connection.get_reset_query() == _RESET
            await connection.execute("SELECT pg_advisory_lock(4711)")
            await connection.execute("DECLARE c CURSOR WITH HOLD FOR SELECT 1; LISTEN x")
            await connection.execute("SELECT set_config('colonnade.secret', 'x', false)")
        async with pool.acquire() as connection:
            assert (
                await connection.fetchval("SELECT count(*) FROM pg_cursors WHERE name = 'c'") == 0
            )
            assert await connection.fetchval("SELECT count(*) FROM pg_listening_channels()") == 0
            assert not await connection.fetchval("SHOW colonnade.secret")
        assert await pool.fetchval(_LOCKS) == 0


async def test_a_lock_is_free_although_nobody_comes(
    dsn: str, connection: colonnade.Connection
) -> None:
    async with _one(dsn) as pool:
        await pool.execute("SELECT pg_advisory_lock(4711)")
        give_up = time.monotonic() + 10
        while await connection.fetchval(_LOCKS):
            assert time.monotonic() < give_up


async def test_a_release_is_not_a_round_trip(proxy: Proxy) -> None:
    async with _one(_plain(proxy)) as pool:
        assert await pool.fetchval("SELECT 1") == 1
        connection = await pool.acquire()
        await connection.fetchval("SELECT 1")
        proxy.hold_after(0)
        await pool.release(connection, timeout=5)
        assert pool.get_idle_size() == 1
        proxy.release()
        assert await pool.fetchval("SELECT 2") == 2


# async-only: begin
async def test_a_session_that_nobody_used_is_not_reset(proxy: Proxy) -> None:
    async with _one(_plain(proxy)) as pool:
        for _ in range(5):
            async with pool.acquire():
                pass
        await asyncio.sleep(0)
        assert "Q" not in proxy.first.tags
        await pool.fetchval("SELECT 1")
        async with pool.acquire():
            pass
        await pool.execute("SELECT 2")
        # A reset after each call, and the second call's script.
        await until(lambda: proxy.first.tags.count("Q") >= 3)
        assert proxy.first.tags.count("Q") == 3


# async-only: end
# async-only: begin
async def test_an_open_transaction_is_reported_and_rolled_back(dsn: str) -> None:
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    async with _one(dsn) as pool:
        async with pool.acquire() as connection:
            await connection.transaction().start()
            await connection.execute("CREATE TABLE never_there (n int)")
        await pool.execute("BEGIN; CREATE TABLE never_there (n int)")
        async with pool.acquire() as connection:
            assert not connection.is_in_transaction()
            async with connection.transaction():
                assert await connection.fetchval("SELECT to_regclass('never_there')") is None
    messages = [context["message"] for context in reported]
    assert len(messages) == 2
    assert all("Resetting connection with an active transaction" in text for text in messages)


# async-only: end
async def test_leftover_listeners_are_told_of(dsn: str) -> None:
    async with _one(dsn) as pool:
        connection = await pool.acquire()
        await connection.add_listener("channel", print)
        connection.add_log_listener(print)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            await pool.release(connection)
        texts = [str(one.message) for one in caught if one.category is InterfaceWarning]
        assert len(texts) == 2
        assert "is being released to the pool but has 1 active notification listener" in texts[0]
        assert "is being released to the pool but has 1 active log listener" in texts[1]
        # async-only: begin
        heard: asyncio.Queue[object] = asyncio.Queue()

        def hear(who: object, _: int, channel: str, payload: str) -> None:
            heard.put_nowait((who, channel, payload))

        async with pool.acquire() as connection:
            # LISTEN is sent again, because the reset has ended it.
            await connection.add_listener("channel", hear)
            await connection.execute("NOTIFY channel, 'hello'")
            async with asyncio.timeout(10):
                assert await heard.get() == (connection, "channel", "hello")
            await connection.remove_listener("channel", hear)
        # async-only: end


# async-only: begin
async def test_a_termination_listener_sees_the_proxy(dsn: str) -> None:
    seen: list[object] = []
    async with _one(dsn) as pool:
        async with pool.acquire() as connection:
            connection.add_termination_listener(seen.append)
            await connection.close()
        await asyncio.sleep(0)
        assert seen == [connection]


# async-only: end
async def test_an_open_stream_is_ended(dsn: str) -> None:
    async with _one(dsn) as pool:
        async with pool.acquire() as connection:
            stream = connection.iter_columns("SELECT generate_series(1, 1000000)", batch_rows=10)
            await anext(stream)
        async with pool.acquire() as connection:
            assert await connection.fetchval("SELECT 1") == 1
            with pytest.raises(InterfaceError, match="stream"):
                await anext(stream)


async def test_a_stream_that_is_begun_after_the_release_is_refused(dsn: str) -> None:
    async with _one(dsn) as pool:
        async with pool.acquire() as connection:
            stream = connection.iter_columns("SELECT 1")
        async with pool.acquire() as connection:
            with pytest.raises(InterfaceError, match="released back to the pool"):
                await anext(stream)
            assert await connection.fetchval("SELECT 1") == 1


async def test_a_changed_setting_is_back_before_the_next_one_looks(dsn: str) -> None:
    async with _one(dsn) as pool:
        async with pool.acquire() as connection:
            usual = connection.get_settings()["TimeZone"]
            await connection.execute("SET TimeZone TO 'Asia/Tokyo'; SET client_encoding TO latin1")
        async with pool.acquire() as connection:
            assert connection.get_settings()["TimeZone"] == usual
            assert await connection.fetchval("SELECT 'ä'") == "ä"


class _NoReset(colonnade.Connection):
    def get_reset_query(self) -> str:
        return ""


class _WrongReset(colonnade.Connection):
    def get_reset_query(self) -> str:
        return "SELEKT"


class _MoreReset(colonnade.Connection):
    def get_reset_query(self) -> str:
        return super().get_reset_query() + "SELECT set_config('colonnade.was_reset', 'yes', false)"


async def test_an_empty_reset_query_resets_nothing(proxy: Proxy) -> None:
    async with _one(_plain(proxy), connection_class=_NoReset) as pool:
        await pool.execute("SET search_path TO nowhere")
        assert await pool.fetchval("SHOW search_path") == "nowhere"
        # The pool's question about the cluster, and the SET.
        assert proxy.first.tags.count("Q") == 2


async def test_what_a_user_resets_with_is_waited_for(dsn: str) -> None:
    async with _one(dsn, connection_class=_MoreReset) as pool:
        await pool.fetchval("SELECT 1")
        assert await pool.fetchval("SHOW colonnade.was_reset") == "yes"
    async with _one(dsn, connection_class=_WrongReset) as pool:
        with pytest.raises(errors.PostgresSyntaxError):
            await pool.fetchval("SELECT 1")
        assert pool.get_size() == 0 or pool.get_stats().closed == {"reset": 1}


async def test_a_connection_resets_itself(connection: colonnade.Connection) -> None:
    await connection.execute("SELECT pg_advisory_lock(4711); SET search_path TO nowhere")
    await connection.reset()
    assert await connection.fetchval(_LOCKS) == 0
    assert await connection.fetchval("SHOW search_path") != "nowhere"


# async-only: begin
async def test_a_query_behind_a_reset_is_cancelled_and_the_reset_is_not(proxy: Proxy) -> None:
    async with _one(_plain(proxy)) as pool:
        pid = await pool.fetchval("SELECT pg_backend_pid()")
        await pool.fetchval("SELECT pg_sleep(0)")
        for steps in range(30):
            task = asyncio.ensure_future(pool.fetchval("SELECT pg_sleep(10)"))
            for _ in range(steps % 6):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert await pool.fetchval("SELECT pg_backend_pid()") == pid
        assert pool.get_stats().closed == {}


async def test_a_reset_that_fails_when_nobody_waits_any_more(dsn: str) -> None:
    """The connection is closed, and asyncio reports no unretrieved error."""
    unheard: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unheard.append(context))
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def reset(_: object) -> None:
        begun.set()
        await go_on.wait()
        raise LookupError

    async with _one(dsn, reset=reset) as pool:
        for _ in range(2):
            begun.clear()
            go_on.clear()
            connection = await pool.acquire()
            task = asyncio.ensure_future(pool.release(connection))
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            go_on.set()
            await until(lambda: pool.get_stats().busy == 0)
        assert pool.get_stats().closed["reset"] == 2
        go_on.set()
        with pytest.raises(LookupError):
            await pool.release(await pool.acquire())
    gc.collect()
    assert unheard == []


# async-only: end
async def test_arguments_that_do_not_fit_behind_a_reset(dsn: str) -> None:
    async with _one(dsn) as pool:
        pid = await pool.fetchval("SELECT pg_backend_pid() FROM (SELECT $1::int) AS x", 1)
        for _ in range(20):
            with pytest.raises(errors.DataError):
                await pool.fetchval("SELECT pg_backend_pid() FROM (SELECT $1::int) AS x", "one")
        assert await pool.fetchval("SELECT pg_backend_pid()") == pid


async def test_the_answer_to_a_reset_is_in_no_query_s_timing(dsn: str) -> None:
    query = "SELECT 'x' AS one"
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        sizes = []
        for _ in range(4):
            async with pool.acquire() as connection:
                await connection.fetch(query)
                timing = connection.last_timing
                assert timing is not None
                sizes.append(timing.bytes)
                await connection.execute("SET application_name = 'touched'")
        # The first call also describes the statement.
        assert sizes[1] == sizes[2] == sizes[3]
    async with await colonnade.connect(dsn) as alone:
        await alone.fetch(query)
        await alone.fetch(query)
        timing = alone.last_timing
        assert timing is not None
        assert timing.bytes == sizes[3]
