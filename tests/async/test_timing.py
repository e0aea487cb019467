"""The phases of a query's time, and their reports to loggers and tracers."""

from __future__ import annotations

import io
import time
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade import tracing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

pytestmark = pytest.mark.every_loop

PHASES = ("pool_wait", "prepare", "send", "server_wait", "transfer", "decode", "loop_delay")


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
    # The server may start before the sending call has returned.
    assert second.send + second.server_wait >= 0.05
    assert second.rows == 1000
    assert second.bytes > 1000 * 15
    assert "1000 rows" in repr(second)
    assert "cached" in repr(second)


async def everything(conn: colonnade.Connection, road: str) -> None:
    """A call of at least 50 ms, with a caller that works equally long during its turns."""
    slow = "SELECT g, pg_sleep(0.01) FROM generate_series(1, 5) g"
    match road:
        case "rows":
            await conn.fetch(slow)
        case "columns":
            await conn.fetch_columns(slow)
        case "script":
            await conn.execute(f"{slow}; {slow}")
        case "result":
            await conn.fetch_result(slow)
        case "many":
            await conn.executemany("SELECT $1::int, pg_sleep(0.01)", [(n,) for n in range(5)])
        case "prepared":
            statement = await conn.prepare(slow)
            await statement.fetch()
        case "failure":
            with pytest.raises(colonnade.DivisionByZeroError):
                await conn.fetch(f"SELECT 1 / (g - 5) FROM ({slow}) s")
        case "copy out":
            await conn.copy_from_query(slow, output=io.BytesIO())
        case "copy in":
            await conn.execute("CREATE TEMP TABLE IF NOT EXISTS timed (g int)")
            await conn.copy_records_to_table("timed", records=slow_records())


def work() -> float:
    """Do other work, and return its seconds."""
    start = time.perf_counter()
    time.sleep(0.03)
    return time.perf_counter() - start


def slow_records() -> Iterator[tuple[int]]:
    for number in range(5):
        time.sleep(0.01)
        yield (number,)


ROADS = (
    *("rows", "columns", "script", "result", "many", "prepared"),
    *("failure", "copy out", "copy in"),
)


@pytest.mark.parametrize("road", ROADS)
async def test_the_phases_are_what_the_caller_saw(
    connection: colonnade.Connection, road: str
) -> None:
    for _ in range(2):
        start = time.perf_counter()
        await everything(connection, road)
        wall = time.perf_counter() - start
        timing = connection.last_timing
        assert timing is not None
        assert_adds_up(timing)
        assert 0.05 <= timing.total <= wall
        # At least half of the call is in some phase, even on a busy machine.
        assert timing.total >= wall / 2


async def test_the_callers_own_time_is_in_no_phase(connection: colonnade.Connection) -> None:
    """A stream's timing has only its waits for the server, between the caller's turns."""
    query = "SELECT g, pg_sleep(0.001) FROM generate_series(1, 20) g"
    start, worked = time.perf_counter(), 0.0
    async with connection.iter_columns(query, batch_rows=5) as batches:
        async for _ in batches:
            worked += work()
    stream = connection.last_timing
    assert stream is not None
    assert_adds_up(stream)
    assert stream.total <= time.perf_counter() - start - worked


async def test_a_preparation_of_its_own_belongs_to_no_later_query(
    connection: colonnade.Connection,
) -> None:
    query = "SELECT $1::int AS asked"
    await connection.parameter_types(query)
    work()
    start = time.perf_counter()
    await connection.fetchval(query, 1)
    wall = time.perf_counter() - start
    timing = connection.last_timing
    assert timing is not None
    assert timing.is_cached
    assert timing.prepare == 0
    assert timing.total <= wall


async def test_the_time_since_a_pool_opened_is_in_no_phase(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        work()
        async with pool.acquire() as connection:
            start = time.perf_counter()
            await connection.fetchval("SELECT 1")
            wall = time.perf_counter() - start
            timing = connection.last_timing
            assert timing is not None
            assert_adds_up(timing)
            assert timing.total <= wall


async def test_the_time_since_a_change_of_types_is_in_no_phase(
    connection: colonnade.Connection,
) -> None:
    await connection.set_builtin_type_codec("int8", schema="pg_catalog", codec_name="text")
    await connection.reset_type_codec("int8", schema="pg_catalog")
    await connection.reload_schema_state()
    work()
    start = time.perf_counter()
    await connection.fetchval("SELECT 1")
    wall = time.perf_counter() - start
    timing = connection.last_timing
    assert timing is not None
    assert timing.total <= wall


async def test_a_statement_prepared_twice_counts_both_tries(
    connection: colonnade.Connection,
) -> None:
    await connection.execute("CREATE TEMP TABLE altered (a int)")
    await connection.fetch("SELECT * FROM altered")
    await connection.execute("ALTER TABLE altered ADD b int")
    start = time.perf_counter()
    await connection.fetch("SELECT * FROM altered")
    wall = time.perf_counter() - start
    timing = connection.last_timing
    assert timing is not None
    assert_adds_up(timing)
    assert timing.prepare > 0
    assert not timing.is_cached
    assert wall / 2 <= timing.total <= wall


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
        # Let the loop run, because a callback is called in a separate turn.
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
