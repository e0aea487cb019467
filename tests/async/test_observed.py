"""The queries that query loggers and the tracer receive."""

from __future__ import annotations

import asyncio
import io
import time
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade import tracing
from colonnade.errors import DivisionByZeroError, EncodeError, InterfaceError, QueryCanceledError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

SERIES = "SELECT generate_series(1, $1::int) AS n"


class Told:
    """A tracer and a query logger that record their calls."""

    def __init__(self) -> None:
        self.logged: list[colonnade.LoggedQuery] = []
        self.open: dict[int, str] = {}
        self.spans: list[tuple[str, dict[str, Any], BaseException | None]] = []
        self._count = 0

    def log(self, record: colonnade.LoggedQuery) -> None:
        self.logged.append(record)

    def query_started(self, name: str, attributes: Mapping[str, tracing.Attribute]) -> Any:
        del name
        self._count += 1
        self.open[self._count] = str(attributes["db.query.text"])
        return self._count

    def query_ended(
        self, span: Any, attributes: Mapping[str, tracing.Attribute], error: BaseException | None
    ) -> None:
        self.spans.append((self.open.pop(span), dict(attributes), error))

    def take(self) -> list[tuple[str, int]]:
        """Text and rows of the spans since the last call; check that each has a log record."""
        assert not self.open
        spans, self.spans = self.spans, []
        logged, self.logged = self.logged, []
        assert [record.query for record in logged] == [text for text, _, _ in spans]
        for record in logged:
            assert record.timing is not None
            assert record.elapsed > 0
        return [(text, outcome["db.response.returned_rows"]) for text, outcome, _ in spans]


@pytest.fixture
async def told(connection: colonnade.Connection) -> AsyncIterator[Told]:
    told = Told()
    connection.add_query_logger(told.log)
    tracing.set_tracer(told)
    try:
        yield told
    finally:
        tracing.set_tracer(None)


class NoStart(Told):
    """A tracer that cannot begin a span."""

    def query_started(self, name: str, attributes: Mapping[str, tracing.Attribute]) -> Any:
        super().query_started(name, attributes)
        raise RuntimeError("no start")


class NoEnd(Told):
    """A tracer that cannot end a span."""

    def query_ended(
        self, span: Any, attributes: Mapping[str, tracing.Attribute], error: BaseException | None
    ) -> None:
        super().query_ended(span, attributes, error)
        raise RuntimeError("no end")


async def settle() -> None:
    """Let the loop run, because a callback is called in a separate turn."""
    await asyncio.sleep(0)


async def test_prepared_statements(connection: colonnade.Connection, told: Told) -> None:
    statement = await connection.prepare(SERIES)
    await statement.fetch(3)
    await statement.fetchrow(3)
    await statement.fetchval(3)
    await statement.fetch_columns(3)
    assert await statement.fetchmany([(1,), (2,)]) == [(1,), (1,), (2,)]
    await settle()
    assert [record.args for record in told.logged] == [(3,)] * 4 + [[(1,), (2,)]]
    assert told.take() == [(SERIES, 3), (SERIES, 1), (SERIES, 1), (SERIES, 3), (SERIES, 3)]
    await statement.explain(3)
    await settle()
    assert told.take() == [(f"EXPLAIN (FORMAT JSON, VERBOSE) {SERIES}", 1)]
    with pytest.raises(EncodeError):
        await statement.fetch("x")
    await settle()
    ((_, _, error),) = told.spans
    assert isinstance(error, EncodeError)


async def test_executemany_counts_the_rows_of_all(
    connection: colonnade.Connection, told: Told
) -> None:
    await connection.execute("CREATE TEMP TABLE told (n int)")
    insert = "INSERT INTO told VALUES ($1), ($1)"
    await connection.executemany(insert, [(n,) for n in range(10)])
    await (await connection.prepare(insert)).executemany([(1,), (2,)])
    await settle()
    assert told.take()[1:] == [(insert, 20), (insert, 4)]


async def test_cursors(connection: colonnade.Connection, told: Told) -> None:
    async with connection.transaction():
        assert [row["n"] async for row in connection.cursor(SERIES, 5, prefetch=3)] == [
            1, 2, 3, 4, 5,
        ]  # fmt: skip
        cursor = await connection.cursor(SERIES, 5).open()
        await cursor.fetch(2)
        await cursor.fetchrow()
        await cursor.forward(1)
        await cursor.fetch_columns(4)
    await settle()
    assert told.take() == [
        ("BEGIN;", 0),
        (SERIES, 3),
        (SERIES, 2),
        (SERIES, 0),
        (SERIES, 2),
        (SERIES, 1),
        ("MOVE FORWARD 1", 1),
        (SERIES, 1),
        ("COMMIT;", 0),
    ]


async def test_a_stream_is_told_of_when_it_ends(
    connection: colonnade.Connection, told: Told
) -> None:
    stream = connection.iter_columns(SERIES, 7, batch_rows=3)
    assert not told.open
    async for batch in stream:
        assert len(batch) <= 3
        assert list(told.open.values()) == [SERIES]
    await settle()
    assert [record.args for record in told.logged] == [(7,)]
    assert told.take() == [(SERIES, 7)]
    statement = await connection.prepare(SERIES)
    async with statement.iter_columns(100_000, batch_rows=10) as left:
        await left.__anext__()
    await settle()
    ((text, _, error),) = told.spans
    assert (text, error) == (SERIES, None)


async def test_a_stream_that_fails(connection: colonnade.Connection, told: Told) -> None:
    with pytest.raises(DivisionByZeroError) as raised:
        async for _ in connection.iter_columns("SELECT 1 / (n - 3) FROM generate_series(1, 9) n"):
            pass
    await settle()
    assert [record.exception for record in told.logged] == [raised.value]
    ((_, outcome, error),) = told.spans
    assert error is raised.value
    assert outcome["db.response.status_code"] == "22012"
    assert not told.open


async def test_every_copy(connection: colonnade.Connection, told: Told) -> None:
    await connection.execute("CREATE TEMP TABLE told (n int)")
    await connection.copy_records_to_table("told", records=[(1,), (2,)])
    await connection.copy_to_table("told", source=io.BytesIO(b"3\n"))
    await connection.copy_columns_to_table("told", {"n": [4, 5]})
    await connection.copy_from_table("told", output=io.BytesIO())
    await connection.copy_from_query("SELECT n FROM told WHERE n < $1", 3, output=io.BytesIO())
    await settle()
    assert [record.args for record in told.logged][-2:] == [(), (3,)]
    assert told.take()[1:] == [
        ('COPY "told" FROM STDIN (FORMAT "binary")', 2),
        ('COPY "told" FROM STDIN', 1),
        ('COPY "told" FROM STDIN (FORMAT binary)', 2),
        ('COPY "told" TO STDOUT', 5),
        ("COPY (SELECT n FROM told WHERE n < $1\n) TO STDOUT", 2),
    ]


async def test_a_copy_that_fails_names_its_sql(
    connection: colonnade.Connection, told: Told
) -> None:
    with pytest.raises(colonnade.UndefinedTableError) as raised:
        await connection.copy_from_table("nowhere", output=io.BytesIO())
    assert raised.value.query == 'COPY "nowhere" TO STDOUT'
    await settle()
    assert [record.exception for record in told.logged] == [raised.value]


async def test_a_query_that_runs_out_of_time(connection: colonnade.Connection, told: Told) -> None:
    statement = await connection.prepare("SELECT pg_sleep(60)")
    started = time.perf_counter()
    with pytest.raises((TimeoutError, QueryCanceledError)):
        # uvloop counts whole milliseconds, so a limit may end one millisecond early.
        await statement.fetch(timeout=0.052)
    passed = time.perf_counter() - started
    await settle()
    assert 0.05 <= told.logged[0].elapsed <= passed
    assert [type(record.exception) for record in told.logged] == [TimeoutError]


async def test_the_queries_of_a_pipeline(connection: colonnade.Connection, told: Told) -> None:
    async with connection.pipeline() as pipeline:
        pipeline.fetch(SERIES, 2)
        failing = pipeline.execute("SELECT 1 / $1::int", 0)
        with pytest.raises(DivisionByZeroError):
            await failing.wait()
    await settle()
    assert not told.open
    assert [(text, type(error)) for text, _, error in told.spans] == [
        (SERIES, type(None)),
        ("SELECT 1 / $1::int", DivisionByZeroError),
    ]
    assert [record.args for record in told.logged] == [(2,), (0,)]


async def test_a_pipeline_that_is_left(connection: colonnade.Connection, told: Told) -> None:
    pipeline = connection.pipeline(timeout=0.5)
    with pytest.raises(TimeoutError):
        async with pipeline:
            pipeline.execute("SELECT pg_sleep($1)", 20)
    await settle()
    assert not told.open
    ((text, _, error),) = told.spans
    assert text == "SELECT pg_sleep($1)"
    assert isinstance(error, InterfaceError)


async def test_several_tracers(connection: colonnade.Connection) -> None:
    tracers = [Told(), Told(), Told()]
    tracing.set_tracer(tracers[0])
    tracing.add_tracer(tracers[1])
    tracing.add_tracer(tracers[2])
    try:
        await connection.fetch(SERIES, 2)
        tracing.remove_tracer(tracers[1])
        await connection.fetch(SERIES, 2)
        tracing.set_tracer(None)
        await connection.fetch(SERIES, 2)
    finally:
        tracing.set_tracer(None)
        tracing.remove_tracer(tracers[2])
    await connection.fetch(SERIES, 2)
    assert [len(tracer.spans) for tracer in tracers] == [2, 1, 3]
    assert not any(tracer.open for tracer in tracers)


async def test_tracers_that_fail(connection: colonnade.Connection) -> None:
    told, no_start, no_end = Told(), NoStart(), NoEnd()
    tracing.add_tracer(told)
    tracing.add_tracer(no_start)
    try:
        with pytest.raises(RuntimeError, match="no start"):
            await connection.fetch(SERIES, 2)
        tracing.remove_tracer(no_start)
        tracing.add_tracer(no_end)
        with pytest.raises(RuntimeError, match="no end"):
            await connection.fetch(SERIES, 2)
    finally:
        tracing.remove_tracer(told)
        tracing.remove_tracer(no_end)
    assert await connection.fetchval("SELECT 1") == 1
    assert len(told.spans) == 2
    assert not told.open


def test_lists_of_tracers() -> None:
    told = Told()
    tracing.add_tracer(told)
    try:
        with pytest.raises(ValueError, match="was added before"):
            tracing.add_tracer(told)
    finally:
        tracing.remove_tracer(told)
    with pytest.raises(ValueError, match="never added, or was removed"):
        tracing.remove_tracer(told)
    assert tracing.active is None
