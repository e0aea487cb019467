"""`colonnade.sync.listen`: the iterating thread keeps the connection alive."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

import colonnade.sync
from colonnade import embedded
from colonnade.errors import InterfaceError, InvalidCatalogNameError
from colonnade.sync import NotificationGap
from tests.support.crowd import Crowd, see

if TYPE_CHECKING:
    from tests.support.leftovers import BackendWatch
    from tests.support.proxy import Proxy


def test_listen_gives_notifications(connection: colonnade.sync.Connection, dsn: str) -> None:
    with colonnade.sync.listen(dsn, "news", "Odd name", timeout=20, stop_after=2) as notes:
        assert "news, Odd name pid=" in repr(notes)
        connection.execute("NOTIFY news, 'one'")
        connection.execute("SELECT pg_notify('Odd name', 'two')")
        assert [(note.channel, note.payload, note.gap) for note in notes] == [
            ("news", "one", False),
            ("Odd name", "two", False),
        ]
        assert notes.queued == 0
    with pytest.raises(StopIteration):
        next(notes)


def test_a_loop_ends_when_its_time_is_up(connection: colonnade.sync.Connection, dsn: str) -> None:
    with colonnade.sync.listen(dsn, "news", timeout=0.05) as notes:
        assert list(notes) == []
        connection.execute("NOTIFY news, 'one'")
        assert [note.payload for note in notes] == ["one"]


def test_it_listens_again_when_its_backend_was_ended(
    connection: colonnade.sync.Connection, dsn: str, watch: BackendWatch
) -> None:
    gaps: list[NotificationGap] = []

    def tell(gap: NotificationGap) -> None:
        gaps.append(gap)
        connection.execute(f"NOTIFY news, '{len(gaps)}'")

    with colonnade.sync.listen(dsn, "news", on_gap=tell, timeout=20, stop_after=1) as notes:
        for number in range(1, 4):
            watch.end(notes.connection_pid)
            (note,) = notes
            assert (note.payload, note.gap) == (str(number), True)
            assert (gaps[-1].reason, gaps[-1].lost, len(gaps)) == ("reconnected", None, number)
            connection.execute("NOTIFY news")
            assert [note.gap for note in notes] == [False]


def test_a_connection_that_died_without_a_word(
    connection: colonnade.sync.Connection, proxy: Proxy
) -> None:
    gaps: list[NotificationGap] = []
    with (
        Crowd() as crowd,
        colonnade.sync.listen(
            f"{proxy.dsn}?sslmode=disable",
            "news",
            on_gap=gaps.append,
            health_interval=0.05,
            health_timeout=0.5,
            stop_after=1,
        ) as notes,
    ):
        reader = crowd.start(lambda: list(notes))
        # The connection was checked several times, and answered.
        see(lambda: proxy.first.tags.count("Q") > 4)
        assert gaps == []
        proxy.first.break_off()
        see(lambda: len(gaps) == 1)
        connection.execute("NOTIFY news, 'again'")
        assert [(note.payload, note.gap) for note in reader.end()] == [("again", True)]


def test_a_loop_that_ends_while_the_server_is_away_goes_on_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING, "colonnade")
    with embedded.start(tcp=True) as server:
        listening = colonnade.sync.listen(server.dsn, "news", timeout=0.3)
        with listening as notes:
            server.stop()
            assert list(notes) == []
            assert list(notes) == []
            assert "no connection" in repr(notes)
    assert "no connection to listen on, attempt 1" in caplog.text


def test_a_server_that_stays_away() -> None:
    with (
        embedded.start(tcp=True) as server,
        colonnade.sync.listen(server.dsn, "news", give_up_after=0.5) as notes,
    ):
        server.stop()
        with pytest.raises(OSError, match=r"\d"):
            next(notes)


def test_another_thread_ends_a_loop(dsn: str) -> None:
    with Crowd() as crowd, colonnade.sync.listen(dsn, "news") as notes:
        began = threading.Event()

        def read() -> list[Any]:
            began.set()
            return list(notes)

        reader = crowd.start(read)
        began.wait(10)
        time.sleep(0.05)
        notes.close()
        assert reader.end() == []


def test_what_cannot_be_asked(dsn: str) -> None:
    async def wait(_: object) -> None: ...

    with pytest.raises(InterfaceError, match="at least one channel"):
        colonnade.sync.listen(dsn)
    with pytest.raises(InterfaceError, match="coroutine function"):
        colonnade.sync.listen(dsn, "news", on_gap=wait)
    with pytest.raises(InterfaceError, match="not listening yet"):
        next(colonnade.sync.listen(dsn, "news"))
    with (
        pytest.raises(InvalidCatalogNameError),
        colonnade.sync.listen(dsn, "news", database="no_such_database"),
    ):
        pass
    with (
        colonnade.sync.listen(dsn, "news") as notes,
        pytest.raises(InterfaceError, match="listened to twice"),
    ):
        notes.__enter__()
