"""Callbacks: which are called, with which arguments, how often; a failing one changes nothing."""

from __future__ import annotations

import asyncio
import gc
import logging
import weakref
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade.errors import (
    DivisionByZeroError,
    EncodeError,
    InFailedSQLTransactionError,
    InterfaceError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.leftovers import BackendWatch
    from tests.support.proxy import Proxy

pytestmark = pytest.mark.every_loop

CHANNELS = "SELECT coalesce(string_agg(c, ',' ORDER BY c), '') FROM pg_listening_channels() AS c"
RAISE = "DO $$ BEGIN RAISE WARNING 'mind the gap'; END $$"


class Heard:
    """A callback that keeps its arguments."""

    def __init__(self) -> None:
        self._calls: list[Any] = []

    def __call__(self, *args: object) -> None:
        self._calls.append(args)

    def __len__(self) -> int:
        return len(self._calls)

    def __getitem__(self, index: int) -> Any:
        return self._calls[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._calls)


async def turn() -> None:
    """Let the loop run its callbacks; threads have already called them."""
    # async-only: begin
    for _ in range(5):
        await asyncio.sleep(0)
    # async-only: end


# Notifications


async def test_a_listener_gets_connection_process_channel_and_payload(
    connection: colonnade.Connection,
) -> None:
    heard = Heard()
    await connection.add_listener("news", heard)
    await connection.execute("NOTIFY news, 'it rains'")
    await connection.execute("NOTIFY other")
    await connection.execute("NOTIFY news")
    pid = connection.get_server_pid()
    assert list(heard) == [(connection, pid, "news", "it rains"), (connection, pid, "news", "")]


@pytest.mark.parametrize("channel", ["A b", 'quo"te', "x; DROP TABLE y", "%s", "ü" * 31, "\\"])
async def test_any_name_is_a_channel(connection: colonnade.Connection, channel: str) -> None:
    heard = Heard()
    await connection.add_listener(channel, heard)
    assert await connection.fetchval(CHANNELS) == channel
    await connection.execute("SELECT pg_notify($1, 'x')", channel)
    assert [args[2:] for args in heard] == [(channel, "x")]
    await connection.remove_listener(channel, heard)
    assert await connection.fetchval(CHANNELS) == ""


@pytest.mark.parametrize("channel", ["", "a\0b", "x" * 64, "ü" * 32])
async def test_what_cannot_be_a_channel_is_refused(
    connection: colonnade.Connection, channel: str
) -> None:
    with pytest.raises(InterfaceError, match="1 to 63 bytes"):
        await connection.add_listener(channel, Heard())
    assert await connection.fetchval(CHANNELS) == ""


async def test_the_server_is_asked_once_per_channel(connection: colonnade.Connection) -> None:
    asked, one, two = Heard(), Heard(), Heard()
    connection.add_query_logger(asked)
    await connection.add_listener("news", one)
    await connection.add_listener("news", one)
    await connection.add_listener("news", two)
    await connection.execute("NOTIFY news")
    assert len(one) == len(two) == 1
    await connection.remove_listener("news", two)
    await connection.execute("NOTIFY news")
    assert (len(one), len(two)) == (2, 1)
    await connection.remove_listener("news", two)
    await connection.remove_listener("never", two)
    await connection.remove_listener("news", one)
    await turn()
    assert [record.query for (record,) in asked] == [
        'LISTEN "news"',
        "NOTIFY news",
        "NOTIFY news",
        'UNLISTEN "news"',
    ]


async def test_a_listen_that_was_rolled_back_can_be_repeated(
    connection: colonnade.Connection,
) -> None:
    heard = Heard()
    await connection.execute("BEGIN")
    await connection.add_listener("news", heard)
    await connection.execute("ROLLBACK")
    assert await connection.fetchval(CHANNELS) == ""
    await connection.add_listener("news", heard)
    await connection.execute("NOTIFY news")
    assert len(heard) == 1


async def test_a_listen_that_fails_leaves_no_listener(connection: colonnade.Connection) -> None:
    heard = Heard()
    await connection.execute("BEGIN")
    with pytest.raises(DivisionByZeroError):
        await connection.execute("SELECT 1 / 0")
    with pytest.raises(InFailedSQLTransactionError):
        await connection.add_listener("news", heard)
    await connection.execute("ROLLBACK")
    await connection.execute("LISTEN news; NOTIFY news")
    assert not heard


async def test_a_listener_may_remove_itself(connection: colonnade.Connection) -> None:
    heard, other = Heard(), Heard()

    def once(source: Any, message: object) -> None:
        heard(message)
        source.remove_log_listener(once)

    connection.add_log_listener(once)
    connection.add_log_listener(other)
    await connection.execute(RAISE)
    await connection.execute(RAISE)
    assert (len(heard), len(other)) == (1, 2)


async def test_a_listener_that_fails_is_reported(
    connection: colonnade.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    heard = Heard()

    def fails(*_: object) -> None:
        msg = "not my day"
        raise RuntimeError(msg)

    await connection.add_listener("news", fails)
    await connection.add_listener("news", heard)
    connection.add_query_logger(fails)
    with caplog.at_level(logging.ERROR):
        await connection.execute("NOTIFY news")
        await turn()
    assert len(heard) == 1
    assert caplog.text.count("RuntimeError: not my day") == 2
    assert "a callback of a connection failed" in caplog.text


async def test_what_cannot_be_called_is_refused(connection: colonnade.Connection) -> None:
    wrong: Any = "print"
    with pytest.raises(InterfaceError, match="function"):
        await connection.add_listener("news", wrong)
    for add in (
        connection.add_log_listener,
        connection.add_termination_listener,
        connection.add_query_logger,
    ):
        with pytest.raises(InterfaceError, match="function"):
            add(wrong)
    assert await connection.fetchval(CHANNELS) == ""


async def test_a_closed_connection_takes_no_listener(dsn: str) -> None:
    heard = Heard()
    connection = await colonnade.connect(dsn)
    await connection.add_listener("news", heard)
    await connection.close()
    await connection.remove_listener("news", heard)
    with pytest.raises(InterfaceError, match="connection is closed"):
        await connection.add_listener("news", heard)


async def test_a_listener_does_not_keep_the_connection(dsn: str) -> None:
    connection = await colonnade.connect(dsn)
    await connection.add_listener("news", Heard())
    connection.add_termination_listener(Heard())
    await connection.close()
    left = weakref.ref(connection)
    del connection
    gc.collect()
    assert left() is None


# async-only: begin
async def test_notifications_arrive_while_nothing_runs(
    connection: colonnade.Connection, watch: BackendWatch
) -> None:
    arrived = asyncio.Event()
    heard = Heard()

    async def listener(*args: object) -> None:
        heard(*args)
        assert await connection.fetchval("SELECT 1") == 1
        arrived.set()

    await connection.add_listener("news", listener)
    watch.execute("NOTIFY news, 'now'")
    async with asyncio.timeout(10):
        await arrived.wait()
    ((source, pid, channel, payload),) = heard
    assert (source, channel, payload) == (connection, "news", "now")
    assert pid != connection.get_server_pid()


async def test_callbacks_may_be_coroutine_functions(
    dsn: str, caplog: pytest.LogCaptureFixture
) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def message_listener(_source: object, message: Any) -> None:
        await asyncio.sleep(0)
        heard.put_nowait(message.message)

    async def logger(record: colonnade.LoggedQuery) -> None:
        await asyncio.sleep(0)
        heard.put_nowait(record.query)

    async def ended(_source: object) -> None:
        heard.put_nowait("the end")
        await asyncio.sleep(0)
        msg = "too late"
        raise RuntimeError(msg)

    async with await colonnade.connect(dsn) as connection:
        connection.add_log_listener(message_listener)
        connection.add_query_logger(logger)
        connection.add_termination_listener(ended)
        await connection.execute(RAISE)
        assert [await heard.get(), await heard.get()] == ["mind the gap", RAISE]
    assert await heard.get() == "the end"
    await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))
    assert "too late" in caplog.text


async def test_the_loop_is_told_of_failures(connection: colonnade.Connection) -> None:
    contexts: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: contexts.append(context))

    def fails(*_: object) -> None:
        raise RuntimeError

    connection.add_log_listener(fails)
    await connection.execute(RAISE)
    (context,) = contexts
    assert isinstance(context["exception"], RuntimeError)


async def test_the_servers_farewell_is_told_while_nothing_runs(
    dsn: str, watch: BackendWatch
) -> None:
    ended: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
    connection = await colonnade.connect(dsn)
    connection.add_termination_listener(lambda source: ended.set_result(source.is_closed()))
    watch.execute("SELECT pg_terminate_backend(%s)", connection.get_server_pid())
    async with asyncio.timeout(10):
        assert await ended
    await connection.close()


async def test_a_query_that_is_cancelled_is_logged(connection: colonnade.Connection) -> None:
    heard = Heard()
    connection.add_query_logger(heard)
    task = asyncio.create_task(connection.fetch("SELECT pg_sleep(60)"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await turn()
    assert isinstance(heard[0][0].exception, asyncio.CancelledError)


# async-only: end


async def test_another_connection_is_heard(
    connection: colonnade.Connection, watch: BackendWatch
) -> None:
    heard = Heard()
    await connection.add_listener("news", heard)
    watch.execute("NOTIFY news, 'from elsewhere'")
    while not heard:
        await connection.fetchval("SELECT 1")
    assert heard[0][3] == "from elsewhere"


# The end


async def test_closing_is_told_once(dsn: str) -> None:
    heard, removed, late = Heard(), Heard(), Heard()
    connection = await colonnade.connect(dsn)
    connection.add_termination_listener(lambda source: heard(source, source.is_closed()))
    connection.add_termination_listener(removed)
    connection.remove_termination_listener(removed)
    await connection.close()
    connection.add_termination_listener(late)
    await connection.close()
    await turn()
    assert list(heard) == [(connection, True)]
    assert not removed
    assert not late


async def test_terminating_is_told_once(dsn: str) -> None:
    heard = Heard()
    connection = await colonnade.connect(dsn)
    connection.add_termination_listener(heard)
    connection.terminate()
    connection.terminate()
    await turn()
    assert list(heard) == [(connection,)]


# async-only: begin
async def test_the_end_is_told_before_the_one_goes_on_who_waits(proxy: Proxy) -> None:
    heard = Heard()

    async def hear(source: colonnade.Connection) -> None:
        heard(source)

    connection = await colonnade.connect(f"{proxy.dsn}?sslmode=disable")
    connection.add_termination_listener(hear)
    connection.add_termination_listener(heard)
    proxy.first.break_off()
    with pytest.raises((colonnade.PostgresError, InterfaceError, OSError)):
        await connection.fetchval("SELECT 1")
    assert list(heard) == [(connection,)] * 2


# async-only: end


async def test_the_servers_farewell_is_told_once(dsn: str, watch: BackendWatch) -> None:
    heard = Heard()
    connection = await colonnade.connect(dsn)
    connection.add_termination_listener(heard)
    watch.execute("SELECT pg_terminate_backend(%s)", connection.get_server_pid())
    with pytest.raises((colonnade.PostgresError, InterfaceError, OSError)):
        await connection.fetchval("SELECT 1 FROM pg_sleep(60)")
    await connection.close()
    await turn()
    assert list(heard) == [(connection,)]


# Queries


async def test_a_logger_gets_the_whole_record(dsn: str) -> None:
    heard = Heard()
    async with await colonnade.connect(dsn, command_timeout=60) as connection:
        connection.add_query_logger(heard)
        await connection.fetch("SELECT $1::int4", 7, timeout=30)
        await connection.execute("SELECT 1")
        await turn()
        first, second = (record for (record,) in heard)
    assert isinstance(first, colonnade.LoggedQuery)
    assert (first.query, first.args, first.timeout) == ("SELECT $1::int4", (7,), 30.0)
    assert 0 < first.elapsed < 30
    assert first.exception is None
    assert isinstance(first.conn_addr, tuple | str)
    assert (first.conn_params.user, first.conn_params.database) == (
        connection._params.user,
        connection._params.database,
    )
    assert (second.query, second.args, second.timeout) == ("SELECT 1", (), 60)


async def test_every_call_is_logged_once(connection: colonnade.Connection) -> None:
    heard = Heard()
    with connection.query_logger(heard):
        await connection.fetch("SELECT 1")
        await connection.fetchrow("SELECT 2")
        await connection.fetchval("SELECT 3")
        await connection.execute("SELECT 4")
        await connection.fetch_columns("SELECT 5")
    await connection.fetch("SELECT 6")
    await turn()
    assert [record.query for (record,) in heard] == [f"SELECT {n}" for n in range(1, 6)]


async def test_failures_are_logged(connection: colonnade.Connection) -> None:
    heard = Heard()
    with connection.query_logger(heard):
        with pytest.raises(DivisionByZeroError) as divided:
            await connection.fetch("SELECT 1 / 0")
        with pytest.raises(TimeoutError) as late:
            await connection.fetch("SELECT pg_sleep(60)", timeout=0.01)
        with pytest.raises(EncodeError) as refused:
            await connection.fetch("SELECT $1::int4", "x")
    await turn()
    raised = [divided.value, late.value, refused.value]
    assert [record.exception for (record,) in heard] == raised


async def test_the_block_of_a_logger_ends_by_an_error_too(
    connection: colonnade.Connection,
) -> None:
    heard = Heard()
    with pytest.raises(DivisionByZeroError), connection.query_logger(heard):
        await connection.fetch("SELECT 1 / 0")
    await connection.fetch("SELECT 1")
    await turn()
    assert len(heard) == 1
