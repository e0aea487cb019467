# Generated from tests/async/test_pipeline.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Pipelines: many queries in one round trip."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade.errors import (
    ConnectionDoesNotExistError,
    DivisionByZeroError,
    EncodeError,
    InFailedSQLTransactionError,
    InterfaceError,
    UndefinedTableError,
    UniqueViolationError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.proxy import Proxy


def tags(sent: bytes) -> str:
    """The tags of the sent messages."""
    found = ""
    while sent:
        found += chr(sent[0])
        sent = sent[1 + int.from_bytes(sent[1:5]) :]
    return found


def test_each_kind_of_result(connection: colonnade.sync.Connection) -> None:
    with connection.pipeline() as pipeline:
        rows = pipeline.fetch("SELECT generate_series(1, $1::int) AS n", 3)
        row = pipeline.fetchrow("SELECT 1 AS a, 'x' AS b")
        nothing = pipeline.fetchrow("SELECT 1 WHERE false")
        value = pipeline.fetchval("SELECT $1::text, 2", "v", column=1)
        no_value = pipeline.fetchval("SELECT 1 WHERE false")
        status = pipeline.execute("SELECT $1::int", 1)
        script = pipeline.execute("CREATE TEMP TABLE made (a int); INSERT INTO made VALUES (1)")
        columns = pipeline.fetch_columns("SELECT n FROM generate_series(1, 4) AS n")
        assert not rows.is_done()
        with pytest.raises(InterfaceError, match="not there yet"):
            rows.result()
    assert [record["n"] for record in rows.result()] == [1, 2, 3]
    first = row.result()
    assert first is not None
    assert first["b"] == "x"
    assert nothing.result() is None
    assert value.result() == 2
    assert no_value.result() is None
    assert status.result() == "SELECT 1"
    assert script.result() == "INSERT 0 1"
    assert columns.result().to_pylist() == [{"n": n} for n in (1, 2, 3, 4)]
    assert rows.wait() == rows.result()


def test_one_round_trip_when_the_statements_are_known(proxy: Proxy) -> None:
    with colonnade.sync.connect(proxy.dsn) as connection:
        for is_warm in (False, True):
            before = len(proxy.first.sent)
            with connection.pipeline() as pipeline:
                results = [pipeline.fetchval(f"SELECT $1::int + {n}", 1) for n in range(3)]
                results += [pipeline.fetchval("SELECT $1::int + 0", n) for n in range(3)]
            assert [result.result() for result in results] == [1, 2, 3, 0, 1, 2]
            sent = tags(bytes(proxy.first.sent[before:]))
            assert sent == ("" if is_warm else "PDS" * 3) + "BES" * 6


def test_waiting_within_the_block(connection: colonnade.sync.Connection) -> None:
    with connection.pipeline() as pipeline:
        first = pipeline.fetchval("SELECT 1")
        assert first.wait() == 1
        second = pipeline.fetchval("SELECT 2")
        third = pipeline.fetchval("SELECT $1::int", 3)
        assert second.wait() == 2
        assert third.wait() == 3
        assert third.wait() == 3


def test_one_that_fails_does_not_undo_the_others(connection: colonnade.sync.Connection) -> None:
    connection.execute("CREATE TEMP TABLE kept (a int)")
    results: list[Any] = []

    def run() -> None:
        with connection.pipeline() as pipeline:
            results.append(pipeline.execute("INSERT INTO kept VALUES ($1)", 1))
            results.append(pipeline.fetchval("SELECT 1 / $1::int", 0))
            results.append(pipeline.execute("INSERT INTO kept VALUES ($1)", "x"))
            results.append(pipeline.execute("INSERT INTO kept VALUES ($1)", 2))

    with pytest.raises(DivisionByZeroError):
        run()
    assert results[0].result() == results[3].result() == "INSERT 0 1"
    with pytest.raises(EncodeError):
        results[2].result()
    assert connection.fetchval("SELECT count(*) FROM kept") == 2


def test_an_error_that_was_asked_for_is_not_raised_again(
    connection: colonnade.sync.Connection,
) -> None:
    with connection.pipeline() as pipeline:
        bad = pipeline.fetchval("SELECT 1 / $1::int", 0)
        missing = pipeline.fetchval("SELECT * FROM no_such_table")
        good = pipeline.fetchval("SELECT 1")
        with pytest.raises(DivisionByZeroError) as caught:
            bad.wait()
        assert caught.value.query == "SELECT 1 / $1::int"
        with pytest.raises(UndefinedTableError):
            missing.wait()
    assert good.result() == 1


def test_within_a_transaction_the_usual_rule_holds(
    connection: colonnade.sync.Connection,
) -> None:
    with connection.transaction(), connection.pipeline() as pipeline:
        pipeline.execute("CREATE TEMP TABLE undone (a int)")
    assert connection.fetchval("SELECT count(*) FROM undone") == 0
    results: list[Any] = []

    def run() -> None:
        with connection.transaction(), connection.pipeline() as pipeline:
            results.append(pipeline.execute("INSERT INTO undone VALUES ($1)", 1))
            results.append(pipeline.fetchval("SELECT 1 / $1::int", 0))
            results.append(pipeline.execute("INSERT INTO undone VALUES ($1)", 2))

    with pytest.raises(DivisionByZeroError):
        run()
    with pytest.raises(InFailedSQLTransactionError):
        results[2].result()
    assert connection.fetchval("SELECT count(*) FROM undone") == 0


def test_what_a_script_makes_is_there_for_those_behind_it(
    connection: colonnade.sync.Connection,
) -> None:
    with connection.pipeline() as pipeline:
        pipeline.execute("CREATE TEMP TABLE fresh (a int)")
        pipeline.execute("INSERT INTO fresh VALUES ($1)", 1)
        value = pipeline.fetchval("SELECT a FROM fresh")
    assert value.result() == 1


def test_thousands_of_queries_with_large_answers(connection: colonnade.sync.Connection) -> None:
    text = "x" * 20_000
    with connection.pipeline() as pipeline:
        results = [
            pipeline.fetchval("SELECT $1::text || $2::text", text, str(number))
            for number in range(3000)
        ]
    assert all(result.result() == text + str(n) for n, result in enumerate(results))


def test_more_texts_than_are_kept(dsn: str) -> None:
    with colonnade.sync.connect(dsn, statement_cache_size=5) as connection:
        for _ in range(2):
            with connection.pipeline() as pipeline:
                results = [pipeline.fetchval(f"SELECT {n} + $1::int", n) for n in range(50)]
            assert [result.result() for result in results] == [2 * n for n in range(50)]


def test_unknown_types_are_looked_up(connection: colonnade.sync.Connection) -> None:
    connection.execute(
        "CREATE TYPE pg_temp.pipe_mood AS ENUM ('sad', 'ok');"
        "CREATE TYPE pg_temp.pipe_pair AS (a int, m pg_temp.pipe_mood)"
    )
    with connection.pipeline() as pipeline:
        first = pipeline.fetchval("SELECT $1::pg_temp.pipe_mood", "ok")
        second = pipeline.fetchval("SELECT (1, 'sad')::pg_temp.pipe_pair")
        third = pipeline.fetchval("SELECT 3")
    assert first.result() == "ok"
    assert tuple(second.result()) == (1, "sad")
    assert third.result() == 3


def test_the_connection_belongs_to_the_block(connection: colonnade.sync.Connection) -> None:
    with connection.pipeline() as pipeline:
        pipeline.fetchval("SELECT 1")
        with pytest.raises(InterfaceError, match="another operation is in progress") as caught:
            connection.fetchval("SELECT 2")
        assert "pipeline" in str(caught.value)
    assert connection.fetchval("SELECT 2") == 2
    with pytest.raises(InterfaceError, match="within its block"):
        pipeline.fetchval("SELECT 3")


def test_an_exception_in_the_block_gives_the_rest_up(
    connection: colonnade.sync.Connection,
) -> None:
    results: list[Any] = []

    def run() -> None:
        with connection.pipeline() as pipeline:
            results.append(pipeline.fetchval("SELECT 1"))
            message = "mine"
            raise KeyError(message)

    with pytest.raises(KeyError, match="mine"):
        run()
    with pytest.raises(InterfaceError, match="left before"):
        results[0].result()
    assert connection.fetchval("SELECT 2") == 2


def test_a_timeout_ends_the_block(connection: colonnade.sync.Connection) -> None:
    def run() -> None:
        with connection.pipeline(timeout=0.1) as pipeline:
            pipeline.fetchval("SELECT pg_sleep(60)")

    with pytest.raises(TimeoutError):
        run()
    assert connection.fetchval("SELECT 1") == 1


def test_the_end_of_the_server_fails_every_result(proxy: Proxy) -> None:
    results: list[Any] = []

    def run() -> None:
        with colonnade.sync.connect(proxy.dsn) as connection:
            connection.fetchval("SELECT 1")
            with connection.pipeline() as pipeline:
                results.extend(pipeline.fetchval("SELECT 1") for _ in range(3))
                proxy.first.break_off()

    with pytest.raises((ConnectionDoesNotExistError, InterfaceError)):
        run()
    assert all(result.is_done() for result in results)


def test_query_loggers_are_told_of_each(connection: colonnade.sync.Connection) -> None:
    told: list[Any] = []
    with connection.query_logger(told.append):
        with connection.pipeline() as pipeline:
            pipeline.fetchval("SELECT $1::int", 1)
            bad = pipeline.fetchval("SELECT 1 / $1::int", 0)
            with pytest.raises(DivisionByZeroError):
                bad.wait()
    assert [record.query for record in told] == ["SELECT $1::int", "SELECT 1 / $1::int"]
    assert [record.exception is None for record in told] == [True, False]


def test_an_empty_pipeline_asks_nothing(connection: colonnade.sync.Connection) -> None:
    with connection.pipeline() as pipeline:
        assert repr(pipeline) == "<Pipeline open, 0 to be sent, 0 under way>"
    assert connection.fetchval("SELECT 1") == 1


def test_executemany(connection: colonnade.sync.Connection) -> None:
    connection.execute("CREATE TEMP TABLE piped (a int, b text)")
    insert = "INSERT INTO piped VALUES ($1, $2)"
    with connection.pipeline() as pipeline:
        before = pipeline.fetchval("SELECT count(*) FROM piped")
        many = pipeline.executemany(insert, [(n, str(n)) for n in range(100)])
        large = pipeline.executemany(insert, ((n, "x" * 1000) for n in range(2000)))
        none = pipeline.executemany(insert, [])
        after = pipeline.fetchval("SELECT count(*) FROM piped")
    assert (many.result(), large.result(), none.result()) == (None, None, None)
    assert (before.result(), after.result()) == (0, 2100)


def test_executemany_is_one_unit_among_the_others(connection: colonnade.sync.Connection) -> None:
    connection.execute("CREATE TEMP TABLE piped (a int PRIMARY KEY)")
    insert = "INSERT INTO piped VALUES ($1)"

    def failing() -> Iterator[tuple[int]]:
        for number in range(100, 100_000):
            yield (number,)
        raise ZeroDivisionError

    with connection.pipeline() as pipeline:
        pipeline.execute(insert, 1)
        twice = pipeline.executemany(insert, [(2,), (2,)])
        wrong = pipeline.executemany(insert, [(3,), ("x",)])
        broken = pipeline.executemany(insert, failing())
        pipeline.executemany(insert, [(4,), (5,)])
        with pytest.raises(UniqueViolationError):
            twice.wait()
        with pytest.raises(EncodeError):
            wrong.wait()
        with pytest.raises(ZeroDivisionError):
            broken.wait()
    assert connection.fetchval("SELECT array_agg(a ORDER BY a) FROM piped") == [1, 4, 5]


def test_executemany_that_fails_leaves_the_transaction_around_it(
    connection: colonnade.sync.Connection,
) -> None:
    connection.execute("CREATE TEMP TABLE piped (a int)")
    insert = "INSERT INTO piped VALUES ($1)"
    with connection.pipeline() as pipeline:
        pipeline.execute("BEGIN")
        pipeline.execute(insert, 1)
        wrong = pipeline.executemany(insert, [("x",)])
        pipeline.execute("COMMIT")
        with pytest.raises(EncodeError):
            wrong.wait()
    assert connection.fetchval("SELECT array_agg(a) FROM piped") == [1]


def test_executemany_that_takes_too_long(connection: colonnade.sync.Connection) -> None:
    connection.execute("CREATE TEMP TABLE piped (a int)")

    def endless() -> Iterator[tuple[int]]:
        while True:
            yield (1,)

    pipeline = connection.pipeline(timeout=0.3)
    with pytest.raises(TimeoutError):
        with pipeline:
            pipeline.executemany("INSERT INTO piped VALUES ($1)", endless())
    assert connection.fetchval("SELECT count(*) FROM piped") == 0


def test_executemany_takes_what_is_there(connection: colonnade.sync.Connection) -> None:
    with connection.pipeline() as pipeline:
        with pytest.raises(TypeError, match="an iterable of sequences"):
            pipeline.executemany("SELECT $1::int", 5)
    connection.execute("CREATE TEMP TABLE piped (a int)")
    with connection.pipeline() as pipeline:
        copying = pipeline.executemany("COPY piped FROM STDIN", [(), ()])
        with pytest.raises(InterfaceError, match="use the copy methods"):
            copying.wait()
    assert connection.fetchval("SELECT 1") == 1


def test_a_text_that_cannot_be_sent_fails_alone(connection: colonnade.sync.Connection) -> None:
    with connection.pipeline() as pipeline:
        before = pipeline.fetchval("SELECT $1::int", 1)
        broken = pipeline.fetchval("SELECT '\0'")
        again = pipeline.fetchval("SELECT '\0'")
        after = pipeline.fetchval("SELECT $1::int", 2)
        assert (before.wait(), after.wait()) == (1, 2)
        for result in (broken, again):
            with pytest.raises(InterfaceError, match="NUL"):
                result.wait()
    assert connection.fetchval("SELECT 3") == 3


def test_representations_of_results(connection: colonnade.sync.Connection) -> None:
    with connection.pipeline() as pipeline:
        good, bad = pipeline.fetchval("SELECT 1"), pipeline.fetchval("SELECT 1 / 0")
        assert repr(good) == "<PipelineResult pending>"
        with pytest.raises(DivisionByZeroError) as caught:
            bad.wait()
    assert repr(good) == "<PipelineResult done>"
    assert repr(bad) == f"<PipelineResult {caught.value!r}>"
