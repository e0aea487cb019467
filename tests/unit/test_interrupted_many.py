"""Ctrl-C while many sets of arguments are sent over a blocking socket."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

import pytest

import colonnade

if TYPE_CHECKING:
    from collections.abc import Iterator

INSERT = "INSERT INTO interrupted VALUES ($1)"


def test_an_interrupted_generator_leaves_nothing(dsn: str) -> None:
    with colonnade.sync.connect(dsn) as connection:
        connection.execute("CREATE TEMP TABLE interrupted (a int)")

        def rows() -> Iterator[tuple[int]]:
            for number in range(20_000):
                yield (number,)
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            connection.executemany(INSERT, rows())
        assert not connection.is_closed()
        assert connection.fetchval("SELECT count(*) FROM interrupted") == 0


def test_an_interrupted_wait_leaves_nothing(dsn: str) -> None:
    with colonnade.sync.connect(dsn) as connection:
        main_thread = threading.main_thread().ident
        assert main_thread is not None
        timer = threading.Timer(0.2, signal.pthread_kill, (main_thread, signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            connection.executemany("SELECT pg_sleep($1)", [(0,), (60,)])
        timer.join()
        # If the signal came while bytes were moved, the connection is given up.
        assert connection.is_closed() or connection.fetchval("SELECT 1") == 1
