"""An operation that Ctrl-C kept from releasing its connection, simulated by never leaving it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

import colonnade.sync
from colonnade._driver._sync.conversation import Operation
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from colonnade.errors import PostgresLogMessage

RAISE = "DO $$ BEGIN RAISE WARNING 'careful'; END $$"


@pytest.fixture
def connection(dsn: str) -> Iterator[colonnade.sync.Connection]:
    with colonnade.sync.connect(dsn) as connection:
        yield connection


def test_the_same_thread_goes_on_and_no_deadline_stays(
    connection: colonnade.sync.Connection,
) -> None:
    Operation(connection.conversation, 0.05).__enter__()
    # This takes longer than the deadline that was never left.
    assert connection.fetchval("SELECT 'mine' FROM pg_sleep(0.2)") == "mine"


def test_another_thread_is_refused(connection: colonnade.sync.Connection) -> None:
    operation = Operation(connection.conversation, None)
    operation.__enter__()
    refused: list[BaseException] = []

    def ask() -> None:
        try:
            connection.fetchval("SELECT 1")
        except InterfaceError as error:
            refused.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert "another operation" in str(refused[0])
    operation.__exit__(None, None, None)


def test_an_open_stream_is_not_left_over(connection: colonnade.sync.Connection) -> None:
    with connection.iter_columns("SELECT generate_series(1, 10)", batch_rows=2) as stream:
        next(stream)
        with pytest.raises(InterfaceError, match="stream of columns is open"):
            connection.fetchval("SELECT 1")
    assert connection.fetchval("SELECT 1") == 1


def test_a_listener_cannot_use_the_connection_amid_its_query(
    connection: colonnade.sync.Connection,
) -> None:
    refused: list[str] = []

    def listener(source: colonnade.sync.Connection, _message: PostgresLogMessage) -> None:
        with pytest.raises(InterfaceError) as error:
            source.fetchval("SELECT 1")
        refused.append(str(error.value))

    connection.add_log_listener(listener)
    assert connection.execute(RAISE) == "DO"
    assert len(refused) == 1
    assert connection.fetchval("SELECT 1") == 1
