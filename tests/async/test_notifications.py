# async-only: file
"""Notifications as iterators: on one connection, and across reconnections."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade import Notification, NotificationGap, embedded
from colonnade.errors import (
    ConnectionDoesNotExistError,
    InterfaceError,
    InvalidCatalogNameError,
    InvalidPasswordError,
)
from tests.support.servers import crash

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tests.support.leftovers import BackendWatch
    from tests.support.proxy import Proxy

pytestmark = pytest.mark.every_loop

SECONDS_MAX = 20.0


async def take(notes: AsyncIterator[Notification], count: int) -> list[Notification]:
    async with asyncio.timeout(SECONDS_MAX):
        return [await anext(notes) for _ in range(count)]


async def until_reading(task: asyncio.Task[Any]) -> None:
    """Let a task run until it waits."""
    for _ in range(5):
        await asyncio.sleep(0)
    assert not task.done()


async def until(is_met: Callable[[], bool]) -> None:
    """Wait for a condition that has no event."""
    give_up = time.monotonic() + SECONDS_MAX
    while not is_met():
        await asyncio.sleep(0.002)
        assert time.monotonic() < give_up


async def told(gaps: asyncio.Queue[NotificationGap]) -> NotificationGap:
    """The next gap given to a callback."""
    async with asyncio.timeout(SECONDS_MAX):
        return await gaps.get()


# On one connection


async def test_a_connection_gives_what_is_said_on_its_channels(
    connection: colonnade.Connection, dsn: str
) -> None:
    pid = connection.get_server_pid()
    async with (
        connection.notifications("news", "Odd \"name'") as notes,
        await colonnade.connect(dsn) as other,
    ):
        await connection.execute("NOTIFY news, 'one'")
        await other.execute("SELECT pg_notify($1, 'two')", "Odd \"name'")
        await other.execute("NOTIFY elsewhere")
        assert await connection.fetchval("SELECT 1") == 1
        assert await take(notes, 2) == [
            Notification("news", "one", pid or 0),
            Notification("Odd \"name'", "two", other.get_server_pid() or 0),
        ]
    assert await connection.fetch("SELECT pg_listening_channels()") == []
    with pytest.raises(StopAsyncIteration):
        await anext(notes)


async def test_two_iterators_of_one_channel(connection: colonnade.Connection) -> None:
    async with connection.notifications("news") as one:
        async with connection.notifications("news") as two:
            await connection.execute("NOTIFY news")
            assert await take(one, 1) == await take(two, 1)
        await connection.execute("NOTIFY news, 'more'")
        assert [note.payload for note in await take(one, 1)] == ["more"]


async def test_what_was_said_before_the_end_is_given_first(
    connection: colonnade.Connection, watch: BackendWatch
) -> None:
    async with connection.notifications("news") as notes:
        await connection.execute("NOTIFY news, 'last'")
        waiting = asyncio.create_task(take(notes, 2))
        await until_reading(waiting)
        watch.end(connection.get_server_pid())
        with pytest.raises(ConnectionDoesNotExistError, match="while listening"):
            await waiting
        with pytest.raises(ConnectionDoesNotExistError):
            await anext(notes)


async def test_a_full_queue_drops_and_says_so(connection: colonnade.Connection) -> None:
    async with connection.notifications("news", queue_size=3) as notes:
        for number in range(5):
            await connection.execute(f"NOTIFY news, '{number}'")
        kept = await take(notes, 3)
        assert [(note.payload, note.gap) for note in kept] == [
            ("0", False),
            ("1", False),
            ("2", False),
        ]
        await connection.execute("NOTIFY news, 'after'")
        await connection.execute("NOTIFY news, 'later'")
        kept = await take(notes, 2)
        assert [(note.payload, note.gap) for note in kept] == [("after", True), ("later", False)]


async def test_a_reader_can_be_cancelled_and_read_on(connection: colonnade.Connection) -> None:
    async with connection.notifications("news") as notes:
        reader = asyncio.create_task(take(notes, 1))
        await until_reading(reader)
        with pytest.raises(InterfaceError, match="another task"):
            await anext(notes)
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        await connection.execute("NOTIFY news, 'x'")
        assert [note.payload for note in await take(notes, 1)] == ["x"]


async def test_misuse(connection: colonnade.Connection, dsn: str) -> None:
    with pytest.raises(InterfaceError, match="at least one channel"):
        connection.notifications()
    with pytest.raises(ValueError, match="queue_size"):
        connection.notifications("news", queue_size=0)
    with pytest.raises(InterfaceError, match="async with"):
        await anext(connection.notifications("news"))
    with pytest.raises(InterfaceError, match="1 to 63 bytes"):
        async with connection.notifications("fine", "x" * 64):
            pass
    with pytest.raises(InterfaceError, match="at least one channel"):
        colonnade.listen(dsn)
    with pytest.raises(InterfaceError, match="async with"):
        await anext(colonnade.listen(dsn, "news"))
    with pytest.raises(InterfaceError, match="1 to 63 bytes"):
        async with colonnade.listen(dsn, ""):
            pass
    listening = colonnade.listen(dsn, "news")
    async with listening:
        with pytest.raises(InterfaceError, match="listened to twice"):
            await listening.__aenter__()


# Across reconnections


async def test_listen_gives_notifications(connection: colonnade.Connection, dsn: str) -> None:
    async with colonnade.listen(dsn, "one", "two", "one") as notes:
        await connection.execute("NOTIFY one, 'a'; NOTIFY two, 'b'; NOTIFY three")
        pid = connection.get_server_pid() or 0
        assert await take(notes, 2) == [
            Notification("one", "a", pid),
            Notification("two", "b", pid),
        ]
        assert f"one, two pid={notes.connection_pid} queued=0" in repr(notes)
    assert "no connection" in repr(notes)
    with pytest.raises(StopAsyncIteration):
        await anext(notes)


async def test_it_listens_again_when_its_backend_was_ended(
    connection: colonnade.Connection, dsn: str, watch: BackendWatch
) -> None:
    gaps: asyncio.Queue[NotificationGap] = asyncio.Queue()
    async with colonnade.listen(dsn, "news", "other", on_gap=gaps.put) as notes:
        await connection.execute("NOTIFY news, 'before'")
        assert [note.gap for note in await take(notes, 1)] == [False]
        for round_number in range(1, 4):
            reader = asyncio.create_task(take(notes, 1))
            watch.end(notes.connection_pid)
            gap = await told(gaps)
            assert (gap.reason, gap.lost) == ("reconnected", None)
            assert (gap.seconds or 0) > 0
            await connection.execute(f"NOTIFY other, '{round_number}'")
            (note,) = await reader
            assert (note.payload, note.gap) == (str(round_number), True)
            await connection.execute("NOTIFY news")
            assert [note.gap for note in await take(notes, 1)] == [False]


async def test_a_cut_connection(connection: colonnade.Connection, proxy: Proxy) -> None:
    gaps: asyncio.Queue[NotificationGap] = asyncio.Queue()
    async with colonnade.listen(proxy.dsn, "news", on_gap=gaps.put_nowait) as notes:
        reader = asyncio.create_task(take(notes, 1))
        proxy.first.break_off()
        assert (await told(gaps)).reason == "reconnected"
        await connection.execute("NOTIFY news, 'again'")
        assert [note.payload for note in await reader] == ["again"]


async def test_a_connection_that_died_without_a_word(
    connection: colonnade.Connection, proxy: Proxy
) -> None:
    gaps: asyncio.Queue[NotificationGap] = asyncio.Queue()
    async with colonnade.listen(
        proxy.dsn,
        "news",
        on_gap=gaps.put_nowait,
        health_interval=0.05,
        health_timeout=0.5,
        ssl=False,
    ) as notes:
        reader = asyncio.create_task(take(notes, 1))
        # The connection was checked several times, and answered.
        await until(lambda: proxy.first.tags.count("Q") > 4)
        assert gaps.empty()
        # From now on, no bytes come back and the connection is not closed.
        proxy.hold_after(0)
        assert (await told(gaps)).reason == "reconnected"
        await connection.execute("NOTIFY news, 'again'")
        assert [(note.payload, note.gap) for note in await reader] == [("again", True)]
        proxy.release()


async def test_a_server_that_restarts(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "colonnade")
    gaps: asyncio.Queue[NotificationGap] = asyncio.Queue()
    settings = {"restart_after_crash": "on"}
    with embedded.start(tcp=True, settings=settings) as server:
        async with colonnade.listen(server.dsn, "news", on_gap=gaps.put_nowait) as notes:
            reader = asyncio.create_task(take(notes, 1))
            # If one backend is killed, the server ends all of them and restarts.
            assert notes.connection_pid is not None
            crash(server, notes.connection_pid)
            assert (await told(gaps)).reason == "reconnected"
            async with await colonnade.connect(server.dsn) as other:
                await other.execute("NOTIFY news, 'up again'")
            assert [(note.payload, note.gap) for note in await reader] == [("up again", True)]
    assert "listening again" in caplog.text


async def test_a_server_that_stays_away() -> None:
    with embedded.start(tcp=True) as server:
        async with colonnade.listen(server.dsn, "news", give_up_after=0.5) as notes:
            reader = asyncio.create_task(take(notes, 1))
            await until_reading(reader)
            await asyncio.to_thread(server.stop)
            with pytest.raises(OSError, match=r"\d"):
                await reader
            with pytest.raises(OSError, match=r"\d"):
                await anext(notes)


async def test_what_connect_raises_is_raised_at_the_first_attempt(
    dsn: str, password_server: embedded.Server
) -> None:
    with pytest.raises(InvalidCatalogNameError):
        await colonnade.listen(dsn, "news", database="none such").__aenter__()
    with pytest.raises(InvalidPasswordError):
        await colonnade.listen(
            password_server.dsn_for("scram_plain", password="wrong"), "news"
        ).__aenter__()
    with pytest.raises(OSError, match=r"\d"):
        await colonnade.listen("postgresql://127.0.0.1:1/x", "news").__aenter__()


async def test_a_slow_reader_loses_notifications_and_is_told(
    connection: colonnade.Connection, dsn: str
) -> None:
    gaps: asyncio.Queue[NotificationGap] = asyncio.Queue()
    async with colonnade.listen(dsn, "news", queue_size=10, on_gap=gaps.put) as notes:
        await connection.execute("SELECT pg_notify('news', g::text) FROM generate_series(1, 25) g")
        await until(lambda: notes.queued == 10)
        assert [note.payload for note in await take(notes, 10)] == [str(n) for n in range(1, 11)]
        await connection.execute("NOTIFY news, 'after'")
        assert [(note.payload, note.gap) for note in await take(notes, 1)] == [("after", True)]
    assert gaps.get_nowait() == NotificationGap("overflow", 15, None)


@pytest.mark.parametrize("turns", range(0, 40, 3))
async def test_leaving_while_it_connects_again(dsn: str, watch: BackendWatch, turns: int) -> None:
    """Nothing is left behind, whichever step it had reached; the fixture checks that."""

    async def listening() -> None:
        async with colonnade.listen(dsn, "news") as notes:
            pid.set_result(notes.connection_pid)
            await anext(notes)

    pid: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(listening())
    watch.end(await pid)
    await asyncio.sleep(turns * 0.005)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("turns", range(0, 30, 3))
async def test_cancelling_the_first_connection(dsn: str, turns: int) -> None:
    async def listening() -> None:
        async with colonnade.listen(dsn, "news") as notes:
            await anext(notes)

    task = asyncio.create_task(listening())
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_closing_ends_the_loop_of_a_reader(dsn: str) -> None:
    notes = colonnade.listen(dsn, "news")
    async with notes:
        seen: list[Notification] = []

        async def read() -> None:
            seen.extend([note async for note in notes])

        reader = asyncio.create_task(read())
        await until_reading(reader)
        await notes.aclose()
        await reader
        assert not seen


async def test_an_error_of_the_gap_callback_is_the_reader_s(dsn: str, watch: BackendWatch) -> None:
    def fail(_gap: NotificationGap) -> None:
        raise ZeroDivisionError

    async with colonnade.listen(dsn, "news", on_gap=fail) as notes:
        reader = asyncio.create_task(take(notes, 1))
        watch.end(notes.connection_pid)
        with pytest.raises(ZeroDivisionError):
            await reader


async def test_a_gap_is_told_again_when_telling_it_was_cancelled(
    connection: colonnade.Connection, dsn: str, watch: BackendWatch
) -> None:
    started = asyncio.Event()
    tellings = []

    async def slow(gap: NotificationGap) -> None:
        tellings.append(gap)
        started.set()
        if len(tellings) == 1:
            await asyncio.Event().wait()

    async with colonnade.listen(dsn, "news", on_gap=slow) as notes:
        watch.end(notes.connection_pid)
        reader = asyncio.create_task(take(notes, 1))
        await started.wait()
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        await connection.execute("NOTIFY news, 'x'")
        assert [(note.payload, note.gap) for note in await take(notes, 1)] == [("x", True)]
    assert len(tellings) == 2
