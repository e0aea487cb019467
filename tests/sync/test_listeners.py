# Generated from tests/async/test_listeners.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Callbacks: which are called, with which arguments, how often; a failing one changes nothing."""

from __future__ import annotations

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


def turn() -> None:
    """Let the loop run its callbacks; threads have already called them."""


# Notifications


def test_a_listener_gets_connection_process_channel_and_payload(
    connection: colonnade.sync.Connection,
) -> None:
    heard = Heard()
    connection.add_listener("news", heard)
    connection.execute("NOTIFY news, 'it rains'")
    connection.execute("NOTIFY other")
    connection.execute("NOTIFY news")
    pid = connection.get_server_pid()
    assert list(heard) == [(connection, pid, "news", "it rains"), (connection, pid, "news", "")]


@pytest.mark.parametrize("channel", ["A b", 'quo"te', "x; DROP TABLE y", "%s", "ü" * 31, "\\"])
def test_any_name_is_a_channel(connection: colonnade.sync.Connection, channel: str) -> None:
    heard = Heard()
    connection.add_listener(channel, heard)
    assert connection.fetchval(CHANNELS) == channel
    connection.execute("SELECT pg_notify($1, 'x')", channel)
    assert [args[2:] for args in heard] == [(channel, "x")]
    connection.remove_listener(channel, heard)
    assert connection.fetchval(CHANNELS) == ""


@pytest.mark.parametrize("channel", ["", "a\0b", "x" * 64, "ü" * 32])
def test_what_cannot_be_a_channel_is_refused(
    connection: colonnade.sync.Connection, channel: str
) -> None:
    with pytest.raises(InterfaceError, match="1 to 63 bytes"):
        connection.add_listener(channel, Heard())
    assert connection.fetchval(CHANNELS) == ""


def test_the_server_is_asked_once_per_channel(connection: colonnade.sync.Connection) -> None:
    asked, one, two = Heard(), Heard(), Heard()
    connection.add_query_logger(asked)
    connection.add_listener("news", one)
    connection.add_listener("news", one)
    connection.add_listener("news", two)
    connection.execute("NOTIFY news")
    assert len(one) == len(two) == 1
    connection.remove_listener("news", two)
    connection.execute("NOTIFY news")
    assert (len(one), len(two)) == (2, 1)
    connection.remove_listener("news", two)
    connection.remove_listener("never", two)
    connection.remove_listener("news", one)
    turn()
    assert [record.query for (record,) in asked] == [
        'LISTEN "news"',
        "NOTIFY news",
        "NOTIFY news",
        'UNLISTEN "news"',
    ]


def test_a_listen_that_was_rolled_back_can_be_repeated(
    connection: colonnade.sync.Connection,
) -> None:
    heard = Heard()
    connection.execute("BEGIN")
    connection.add_listener("news", heard)
    connection.execute("ROLLBACK")
    assert connection.fetchval(CHANNELS) == ""
    connection.add_listener("news", heard)
    connection.execute("NOTIFY news")
    assert len(heard) == 1


def test_a_listen_that_fails_leaves_no_listener(connection: colonnade.sync.Connection) -> None:
    heard = Heard()
    connection.execute("BEGIN")
    with pytest.raises(DivisionByZeroError):
        connection.execute("SELECT 1 / 0")
    with pytest.raises(InFailedSQLTransactionError):
        connection.add_listener("news", heard)
    connection.execute("ROLLBACK")
    connection.execute("LISTEN news; NOTIFY news")
    assert not heard


def test_a_listener_may_remove_itself(connection: colonnade.sync.Connection) -> None:
    heard, other = Heard(), Heard()

    def once(source: Any, message: object) -> None:
        heard(message)
        source.remove_log_listener(once)

    connection.add_log_listener(once)
    connection.add_log_listener(other)
    connection.execute(RAISE)
    connection.execute(RAISE)
    assert (len(heard), len(other)) == (1, 2)


def test_a_listener_that_fails_is_reported(
    connection: colonnade.sync.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    heard = Heard()

    def fails(*_: object) -> None:
        msg = "not my day"
        raise RuntimeError(msg)

    connection.add_listener("news", fails)
    connection.add_listener("news", heard)
    connection.add_query_logger(fails)
    with caplog.at_level(logging.ERROR):
        connection.execute("NOTIFY news")
        turn()
    assert len(heard) == 1
    assert caplog.text.count("RuntimeError: not my day") == 2
    assert "a callback of a connection failed" in caplog.text


def test_what_cannot_be_called_is_refused(connection: colonnade.sync.Connection) -> None:
    wrong: Any = "print"
    with pytest.raises(InterfaceError, match="function"):
        connection.add_listener("news", wrong)
    for add in (
        connection.add_log_listener,
        connection.add_termination_listener,
        connection.add_query_logger,
    ):
        with pytest.raises(InterfaceError, match="function"):
            add(wrong)
    assert connection.fetchval(CHANNELS) == ""


def test_a_closed_connection_takes_no_listener(dsn: str) -> None:
    heard = Heard()
    connection = colonnade.sync.connect(dsn)
    connection.add_listener("news", heard)
    connection.close()
    connection.remove_listener("news", heard)
    with pytest.raises(InterfaceError, match="connection is closed"):
        connection.add_listener("news", heard)


def test_a_listener_does_not_keep_the_connection(dsn: str) -> None:
    connection = colonnade.sync.connect(dsn)
    connection.add_listener("news", Heard())
    connection.add_termination_listener(Heard())
    connection.close()
    left = weakref.ref(connection)
    del connection
    gc.collect()
    assert left() is None


def test_another_connection_is_heard(
    connection: colonnade.sync.Connection, watch: BackendWatch
) -> None:
    heard = Heard()
    connection.add_listener("news", heard)
    watch.execute("NOTIFY news, 'from elsewhere'")
    while not heard:
        connection.fetchval("SELECT 1")
    assert heard[0][3] == "from elsewhere"


# The end


def test_closing_is_told_once(dsn: str) -> None:
    heard, removed, late = Heard(), Heard(), Heard()
    connection = colonnade.sync.connect(dsn)
    connection.add_termination_listener(lambda source: heard(source, source.is_closed()))
    connection.add_termination_listener(removed)
    connection.remove_termination_listener(removed)
    connection.close()
    connection.add_termination_listener(late)
    connection.close()
    turn()
    assert list(heard) == [(connection, True)]
    assert not removed
    assert not late


def test_terminating_is_told_once(dsn: str) -> None:
    heard = Heard()
    connection = colonnade.sync.connect(dsn)
    connection.add_termination_listener(heard)
    connection.terminate()
    connection.terminate()
    turn()
    assert list(heard) == [(connection,)]


def test_the_servers_farewell_is_told_once(dsn: str, watch: BackendWatch) -> None:
    heard = Heard()
    connection = colonnade.sync.connect(dsn)
    connection.add_termination_listener(heard)
    watch.execute("SELECT pg_terminate_backend(%s)", connection.get_server_pid())
    with pytest.raises((colonnade.PostgresError, InterfaceError, OSError)):
        connection.fetchval("SELECT 1 FROM pg_sleep(60)")
    connection.close()
    turn()
    assert list(heard) == [(connection,)]


# Queries


def test_a_logger_gets_the_whole_record(dsn: str) -> None:
    heard = Heard()
    with colonnade.sync.connect(dsn, command_timeout=60) as connection:
        connection.add_query_logger(heard)
        connection.fetch("SELECT $1::int4", 7, timeout=30)
        connection.execute("SELECT 1")
        turn()
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


def test_every_call_is_logged_once(connection: colonnade.sync.Connection) -> None:
    heard = Heard()
    with connection.query_logger(heard):
        connection.fetch("SELECT 1")
        connection.fetchrow("SELECT 2")
        connection.fetchval("SELECT 3")
        connection.execute("SELECT 4")
        connection.fetch_columns("SELECT 5")
    connection.fetch("SELECT 6")
    turn()
    assert [record.query for (record,) in heard] == [f"SELECT {n}" for n in range(1, 6)]


def test_failures_are_logged(connection: colonnade.sync.Connection) -> None:
    heard = Heard()
    with connection.query_logger(heard):
        with pytest.raises(DivisionByZeroError) as divided:
            connection.fetch("SELECT 1 / 0")
        with pytest.raises(TimeoutError) as late:
            connection.fetch("SELECT pg_sleep(60)", timeout=0.01)
        with pytest.raises(EncodeError) as refused:
            connection.fetch("SELECT $1::int4", "x")
    turn()
    raised = [divided.value, late.value, refused.value]
    assert [record.exception for (record,) in heard] == raised


def test_the_block_of_a_logger_ends_by_an_error_too(
    connection: colonnade.sync.Connection,
) -> None:
    heard = Heard()
    with pytest.raises(DivisionByZeroError), connection.query_logger(heard):
        connection.fetch("SELECT 1 / 0")
    connection.fetch("SELECT 1")
    turn()
    assert len(heard) == 1
