"""Callbacks of a blocking call that use its connection are refused; the call loses nothing."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from colonnade import tracing
from colonnade._driver.transport import threads
from colonnade.errors import InterfaceError
from tests.support.crowd import Crowd, see

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import colonnade.sync

REFUSAL = "another operation is in progress"


def refused(connection: colonnade.sync.Connection) -> None:
    with pytest.raises(InterfaceError, match=REFUSAL):
        connection.fetchval("SELECT 1")


@pytest.fixture
def sink(connection: colonnade.sync.Connection) -> str:
    connection.execute("CREATE TEMPORARY TABLE sink (i int8)")
    return "sink"


def test_the_deadline_and_the_guard_of_a_copy_outlast_a_refusal(
    connection: colonnade.sync.Connection, sink: str
) -> None:
    owners: list[Any] = []

    def batches() -> Iterator[dict[str, Any]]:
        for _ in range(3):
            refused(connection)
            assert threads.remaining() is not None
            with Crowd() as crowd:
                crowd.start(refused, connection)
            owners.append(connection.conversation.owner)
            yield {"i": np.arange(3)}

    assert connection.copy_columns_to_table(sink, batches(), timeout=60) == "COPY 9"
    assert len(set(map(id, owners))) == 1
    assert owners[0] is not None


def test_a_source_that_lets_the_refusal_through_ends_the_copy(
    connection: colonnade.sync.Connection, sink: str
) -> None:
    def batches() -> Iterator[dict[str, Any]]:
        yield {"i": np.arange(3)}
        connection.fetchval("SELECT 1")

    with pytest.raises(InterfaceError, match=REFUSAL):
        connection.copy_columns_to_table(sink, batches())
    assert connection.fetchval("SELECT count(*) FROM sink") == 0


def test_listeners_amid_a_call_are_refused(connection: colonnade.sync.Connection) -> None:
    told: list[object] = []

    def listener(*announced: object) -> None:
        refused(connection)
        told.append(announced)

    connection.add_log_listener(listener)
    connection.add_listener("channel", listener)
    connection.execute("DO $$ BEGIN RAISE NOTICE 'x'; END $$; NOTIFY channel")
    connection.execute("SELECT 1")
    assert len(told) == 2


def test_the_handler_of_a_signal_is_refused(connection: colonnade.sync.Connection) -> None:
    told: list[int] = []

    def handler(number: int, _: object) -> None:
        refused(connection)
        told.append(number)

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with Crowd() as crowd:
            main = threading.main_thread().ident or 0

            def strike() -> None:
                see(lambda: connection.conversation.owner is not None)
                signal.pthread_kill(main, signal.SIGUSR1)

            crowd.start(strike)
            assert connection.fetchval("SELECT 1 FROM pg_sleep(0.2)") == 1
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert told == [signal.SIGUSR1]


class Tracer:
    """Uses the connection when a query begins, and when it has ended."""

    def __init__(self, connection: colonnade.sync.Connection) -> None:
        self.connection = connection
        self.answers: list[Any] = []

    def ask(self) -> None:
        before, tracing.active = tracing.active, None
        self.answers.append(self.connection.fetchval("SELECT 7"))
        tracing.active = before

    def query_started(self, name: str, attributes: Mapping[str, Any]) -> None:
        del name, attributes
        self.ask()

    def query_ended(
        self, span: object, attributes: Mapping[str, Any], error: BaseException | None
    ) -> None:
        del span, attributes, error
        self.ask()


def test_tracers_and_query_loggers_find_the_connection_free(
    connection: colonnade.sync.Connection,
) -> None:
    tracer = Tracer(connection)
    tracing.set_tracer(tracer)
    try:
        assert connection.fetchval("SELECT 1") == 1
    finally:
        tracing.set_tracer(None)
    assert tracer.answers == [7, 7]

    def logger(_: object) -> None:
        connection.remove_query_logger(logger)
        tracer.answers.append(connection.fetchval("SELECT 8"))

    connection.add_query_logger(logger)
    assert connection.fetchval("SELECT 1") == 1
    assert tracer.answers == [7, 7, 8]


def test_a_row_factory_finds_the_connection_free(connection: colonnade.sync.Connection) -> None:
    def factory(_: object) -> Any:
        return lambda record: (*record, connection.fetchval("SELECT 9"))

    assert connection.fetch("SELECT 1", row_factory=factory) == [(1, 9)]
