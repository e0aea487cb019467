# Generated from tests/async/test_notification_loops.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Loops over the notifications of a connection: how they end and continue."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade.errors import ConnectionDoesNotExistError, InterfaceError

if TYPE_CHECKING:
    from tests.support.leftovers import BackendWatch


def test_a_loop_ends_after_so_many(connection: colonnade.sync.Connection) -> None:
    with connection.notifications("news", "more", stop_after=2, timeout=20) as notes:
        for number in range(3):
            connection.execute(f"NOTIFY news, '{number}'")
        assert [note.payload for note in notes] == ["0", "1"]
        with pytest.raises(StopIteration):
            next(notes)
        connection.execute("NOTIFY more, '3'")
        assert [(note.channel, note.payload) for note in notes] == [
            ("news", "2"),
            ("more", "3"),
        ]
    assert connection.fetch("SELECT pg_listening_channels()") == []


def test_a_loop_ends_when_its_time_is_up(connection: colonnade.sync.Connection) -> None:
    with connection.notifications("news", timeout=0.05) as notes:
        connection.execute("NOTIFY news, 'one'")
        began = time.monotonic()
        assert [note.payload for note in notes] == ["one"]
        assert 0.04 < time.monotonic() - began < 10
        assert connection.fetchval("SELECT 1") == 1
        connection.execute("NOTIFY news, 'two'")
        assert [note.payload for note in notes] == ["two"]


def test_a_loop_without_time_gets_what_is_there(
    connection: colonnade.sync.Connection, dsn: str
) -> None:
    with (
        connection.notifications("news", timeout=0) as notes,
        colonnade.sync.connect(dsn) as other,
    ):
        assert [note for note in notes] == []
        other.execute("NOTIFY news, 'one'")
        seen: list[str] = []
        give_up = time.monotonic() + 20
        while not seen:
            assert time.monotonic() < give_up
            seen += [note.payload for note in notes]
        assert seen == ["one"]


def test_queries_run_between_two_notifications(
    connection: colonnade.sync.Connection, dsn: str
) -> None:
    with (
        connection.notifications("news") as notes,
        colonnade.sync.connect(dsn) as other,
    ):
        for number in range(3):
            other.execute(f"NOTIFY news, '{number}'")
            assert (next(notes)).payload == str(number)
            assert connection.fetchval("SELECT $1::int", number) == number
        with connection.notifications("news") as second:
            connection.execute("NOTIFY news, 'both'")
            assert next(notes) == next(second)


def test_a_full_queue_drops_and_tells(connection: colonnade.sync.Connection) -> None:
    with connection.notifications("news", queue_size=2, timeout=0) as notes:
        for number in range(4):
            connection.execute(f"NOTIFY news, '{number}'")
        assert [(note.payload, note.gap) for note in notes] == [("0", False), ("1", False)]
        connection.execute("NOTIFY news, 'after'")
        assert [(note.payload, note.gap) for note in notes] == [("after", True)]


def test_what_came_before_the_end_comes_first(
    connection: colonnade.sync.Connection, watch: BackendWatch
) -> None:
    with connection.notifications("news") as notes:
        connection.execute("NOTIFY news, 'last'")
        watch.end(connection.get_server_pid())
        assert (next(notes)).payload == "last"
        with pytest.raises(ConnectionDoesNotExistError):
            next(notes)


def test_what_cannot_be_asked(connection: colonnade.sync.Connection) -> None:
    with pytest.raises(InterfaceError, match="at least one channel"):
        connection.notifications()
    with pytest.raises(ValueError, match="stop_after"):
        connection.notifications("news", stop_after=0)
    with pytest.raises(ValueError, match="timeout"):
        connection.notifications("news", timeout="soon")  # type: ignore[arg-type]
    with pytest.raises(InterfaceError, match="not listening yet"):
        next(connection.notifications("news"))
