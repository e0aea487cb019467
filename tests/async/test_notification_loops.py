"""Loops over the notifications of a connection: how they end and continue."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade.errors import ConnectionDoesNotExistError, InterfaceError

if TYPE_CHECKING:
    from tests.support.leftovers import BackendWatch

pytestmark = pytest.mark.every_loop


async def test_a_loop_ends_after_so_many(connection: colonnade.Connection) -> None:
    async with connection.notifications("news", "more", stop_after=2, timeout=20) as notes:
        for number in range(3):
            await connection.execute(f"NOTIFY news, '{number}'")
        assert [note.payload async for note in notes] == ["0", "1"]
        with pytest.raises(StopAsyncIteration):
            await anext(notes)
        await connection.execute("NOTIFY more, '3'")
        assert [(note.channel, note.payload) async for note in notes] == [
            ("news", "2"),
            ("more", "3"),
        ]
    assert await connection.fetch("SELECT pg_listening_channels()") == []


async def test_a_loop_ends_when_its_time_is_up(connection: colonnade.Connection) -> None:
    async with connection.notifications("news", timeout=0.05) as notes:
        await connection.execute("NOTIFY news, 'one'")
        began = time.monotonic()
        assert [note.payload async for note in notes] == ["one"]
        assert 0.04 < time.monotonic() - began < 10
        assert await connection.fetchval("SELECT 1") == 1
        await connection.execute("NOTIFY news, 'two'")
        assert [note.payload async for note in notes] == ["two"]


async def test_a_loop_without_time_gets_what_is_there(
    connection: colonnade.Connection, dsn: str
) -> None:
    async with (
        connection.notifications("news", timeout=0) as notes,
        await colonnade.connect(dsn) as other,
    ):
        assert [note async for note in notes] == []
        await other.execute("NOTIFY news, 'one'")
        seen: list[str] = []
        give_up = time.monotonic() + 20
        while not seen:
            assert time.monotonic() < give_up
            seen += [note.payload async for note in notes]
        assert seen == ["one"]


async def test_queries_run_between_two_notifications(
    connection: colonnade.Connection, dsn: str
) -> None:
    async with (
        connection.notifications("news") as notes,
        await colonnade.connect(dsn) as other,
    ):
        for number in range(3):
            await other.execute(f"NOTIFY news, '{number}'")
            assert (await anext(notes)).payload == str(number)
            assert await connection.fetchval("SELECT $1::int", number) == number
        async with connection.notifications("news") as second:
            await connection.execute("NOTIFY news, 'both'")
            assert await anext(notes) == await anext(second)


async def test_a_full_queue_drops_and_tells(connection: colonnade.Connection) -> None:
    async with connection.notifications("news", queue_size=2, timeout=0) as notes:
        for number in range(4):
            await connection.execute(f"NOTIFY news, '{number}'")
        assert [(note.payload, note.gap) async for note in notes] == [("0", False), ("1", False)]
        await connection.execute("NOTIFY news, 'after'")
        assert [(note.payload, note.gap) async for note in notes] == [("after", True)]


async def test_what_came_before_the_end_comes_first(
    connection: colonnade.Connection, watch: BackendWatch
) -> None:
    async with connection.notifications("news") as notes:
        await connection.execute("NOTIFY news, 'last'")
        watch.end(connection.get_server_pid())
        assert (await anext(notes)).payload == "last"
        with pytest.raises(ConnectionDoesNotExistError):
            await anext(notes)


async def test_what_cannot_be_asked(connection: colonnade.Connection) -> None:
    with pytest.raises(InterfaceError, match="at least one channel"):
        connection.notifications()
    with pytest.raises(ValueError, match="stop_after"):
        connection.notifications("news", stop_after=0)
    with pytest.raises(ValueError, match="timeout"):
        connection.notifications("news", timeout="soon")  # type: ignore[arg-type]
    with pytest.raises(InterfaceError, match="not listening yet"):
        await anext(connection.notifications("news"))
