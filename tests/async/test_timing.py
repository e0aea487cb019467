"""Where the time of a query went, and who is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade import tracing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PHASES = ("pool_wait", "prepare", "send", "server_wait", "transfer", "decode")


def assert_adds_up(timing: colonnade.QueryTiming) -> None:
    phases = [getattr(timing, phase) for phase in PHASES]
    assert min(phases) >= 0
    assert sum(phases) == pytest.approx(timing.total, abs=1e-4)


async def test_the_phases_of_a_query_add_up(connection: colonnade.Connection) -> None:
    query = "SELECT g FROM generate_series(1, 1000) g, pg_sleep(0.05)"
    await connection.fetch(query)
    first = connection.last_timing
    assert first is not None
    assert_adds_up(first)
    assert first.prepare > 0
    assert not first.is_cached
    await connection.fetch(query)
    second = connection.last_timing
    assert second is not None
    assert_adds_up(second)
    assert second.is_cached
    assert second.prepare == 0
    assert second.server_wait >= 0.05
    assert second.rows == 1000
    assert second.bytes > 1000 * 15
    assert "1000 rows" in repr(second)
    assert "cached" in repr(second)


async def test_columns_have_their_timing(connection: colonnade.Connection) -> None:
    columns = await connection.fetch_columns("SELECT generate_series(1, 500)")
    assert columns.timing is not None
    assert columns.timing.rows == 500
    assert_adds_up(columns.timing)
    await connection.fetch("SELECT 1")
    assert columns.timing.rows == 500


async def test_commands_count_the_rows_they_affect(connection: colonnade.Connection) -> None:
    await connection.execute("CREATE TEMP TABLE timed (x int)")
    await connection.execute("INSERT INTO timed SELECT generate_series(1, $1)", 7)
    assert connection.last_timing is not None
    assert connection.last_timing.rows == 7


async def test_a_failed_query_has_its_timing(connection: colonnade.Connection) -> None:
    with pytest.raises(colonnade.DivisionByZeroError):
        await connection.fetch("SELECT 1 / 0")
    assert connection.last_timing is not None
    assert connection.last_timing.rows == 0


async def test_query_loggers_are_told_the_timing(connection: colonnade.Connection) -> None:
    told: list[colonnade.LoggedQuery] = []
    with connection.query_logger(told.append):
        await connection.fetch("SELECT generate_series(1, 3)")
        # A callback is called in a turn of its own.
        await connection.fetch("SELECT 1")
    assert told[0].timing is not None
    assert told[0].timing.rows == 3


class Spans:
    def __init__(self) -> None:
        self.started: list[tuple[str, dict[str, Any]]] = []
        self.ended: list[tuple[object, dict[str, Any], BaseException | None]] = []

    def query_started(self, name: str, attributes: Mapping[str, tracing.Attribute]) -> Any:
        self.started.append((name, dict(attributes)))
        return len(self.started)

    def query_ended(
        self, span: Any, attributes: Mapping[str, tracing.Attribute], error: BaseException | None
    ) -> None:
        self.ended.append((span, dict(attributes), error))


@pytest.fixture
def spans() -> Iterator[Spans]:
    made = Spans()
    tracing.set_tracer(made)
    try:
        yield made
    finally:
        tracing.set_tracer(None)


async def test_a_tracer_is_told_of_each_query(
    connection: colonnade.Connection, spans: Spans
) -> None:
    query = "/* why */ -- and how\n select generate_series(1, $1)"
    await connection.fetch(query, 4)
    ((name, attributes),) = spans.started
    assert name.startswith("SELECT ")
    assert attributes["db.system.name"] == "postgresql"
    assert attributes["db.query.text"] == query
    assert attributes["db.operation.name"] == "SELECT"
    assert attributes["db.namespace"] == name.removeprefix("SELECT ")
    assert attributes["server.address"]
    ((span, outcome, error),) = spans.ended
    assert (span, error) == (1, None)
    assert outcome["db.response.returned_rows"] == 4
    assert outcome["colonnade.server_wait"] > 0


async def test_a_tracer_is_told_of_failures(connection: colonnade.Connection, spans: Spans) -> None:
    with pytest.raises(colonnade.DivisionByZeroError) as raised:
        await connection.execute("SELECT 1 / $1::int", 0)
    ((_, outcome, error),) = spans.ended
    assert error is raised.value
    assert outcome["db.response.status_code"] == "22012"
    assert outcome["error.type"].endswith("DivisionByZeroError")


async def test_a_query_that_is_refused_ends_its_span(
    connection: colonnade.Connection, spans: Spans
) -> None:
    await connection.close()
    with pytest.raises(colonnade.InterfaceError):
        await connection.fetch("SELECT 1")
    assert len(spans.started) == len(spans.ended) == 1
    assert isinstance(spans.ended[0][2], colonnade.InterfaceError)
