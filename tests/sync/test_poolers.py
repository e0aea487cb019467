# Generated from tests/async/test_poolers.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Behind PgBouncer, which may send each transaction to another server connection."""

from __future__ import annotations

import io
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade import Query
from colonnade.errors import DeadlineError, EncodeError, InvalidSQLStatementNameError
from tests.support.pooler import Pooler, program

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(program() is None, reason="PgBouncer is not installed")


@pytest.fixture
def pooler(dsn: str, nothing_left: None) -> Iterator[Pooler]:
    """PgBouncer in transaction mode, with two server connections."""
    del nothing_left
    with Pooler(dsn, "transaction") as pooler:
        yield pooler


@contextmanager
def elsewhere(dsn: str, connection: colonnade.sync.Connection) -> Iterator[None]:
    """A block in which a connection gets a different server process than before."""
    with colonnade.sync.connect(dsn, statement_cache_size=0) as other:
        before = connection.fetchval("SELECT pg_backend_pid()")
        with other.transaction():
            taken = other.fetchval("SELECT pg_backend_pid()")
            now = connection.fetchval("SELECT pg_backend_pid()")
            assert taken == before != now, "the test needs a different server process"
            yield


def test_a_text_is_run_by_a_server_that_has_never_seen_it(pooler: Pooler) -> None:
    with colonnade.sync.connect(pooler.dsn, statement_cache_size=0) as connection:
        for _ in range(2):
            assert connection.fetchval("SELECT $1::int + 1", 1) == 2
            with elsewhere(pooler.dsn, connection):
                assert connection.fetchval("SELECT $1::int + 1", 1) == 2
                columns = connection.fetch_columns("SELECT $1::int AS n", 3)
                assert columns.to_pylist() == [{"n": 3}]
                assert connection.execute("SELECT $1::int", 1) == "SELECT 1"
            columns = connection.fetch_columns("SELECT $1::int AS n", 4)
            assert columns.to_pylist() == [{"n": 4}]


def test_many_sets_and_pipelines(pooler: Pooler) -> None:
    with colonnade.sync.connect(pooler.dsn, statement_cache_size=0) as connection:
        connection.execute("CREATE TABLE pooled (a int, b text)")
        try:
            insert = "INSERT INTO pooled VALUES ($1, $2)"
            rows = [(number, f"row {number}") for number in range(2000)]
            connection.executemany(insert, rows)
            with elsewhere(pooler.dsn, connection):
                connection.executemany(insert, rows)
                with pytest.raises(EncodeError):
                    connection.executemany(insert, [*rows, ("x", "y")])
                query = "SELECT b FROM pooled WHERE a = $1"
                found = connection.fetchmany(query, [(1,), (2,)])
                assert [row["b"] for row in found] == ["row 1"] * 2 + ["row 2"] * 2
                with connection.pipeline() as pipeline:
                    results = [pipeline.fetchval(f"SELECT $1::int + {n}", n) for n in range(20)]
                assert [result.result() for result in results] == [2 * n for n in range(20)]
            assert connection.fetchval("SELECT count(*) FROM pooled") == 4000
        finally:
            connection.execute("DROP TABLE pooled")


def test_types_and_copies(pooler: Pooler) -> None:
    with colonnade.sync.connect(pooler.dsn, statement_cache_size=0) as connection:
        connection.execute("CREATE TYPE pooled_mood AS ENUM ('sad', 'ok')")
        try:
            with elsewhere(pooler.dsn, connection):
                assert connection.fetchval("SELECT $1::pooled_mood", "ok") == "ok"
                sink = io.BytesIO()
                connection.copy_from_query("SELECT 1, 2", output=sink)
                assert sink.getvalue() == b"1\t2\n"
                columns = connection.fetch_columns("SELECT 'sad'::pooled_mood AS m")
                assert columns.to_pylist() == [{"m": "sad"}]
        finally:
            connection.execute("DROP TYPE pooled_mood")


def test_a_result_that_changes_is_read_as_it_is(pooler: Pooler) -> None:
    with colonnade.sync.connect(pooler.dsn, statement_cache_size=0) as connection:
        connection.execute("CREATE TABLE changing (a int); INSERT INTO changing VALUES (1)")
        try:
            everything = "SELECT * FROM changing"
            assert connection.fetch(everything) == [(1,)]
            connection.execute("ALTER TABLE changing ADD b text DEFAULT 'x'")
            assert [tuple(row) for row in connection.fetch(everything)] == [(1, "x")]
            connection.execute("ALTER TABLE changing ALTER a TYPE text")
            rows = connection.fetch(everything)
            assert [dict(row) for row in rows] == [{"a": "1", "b": "x"}]
            columns = connection.fetch_columns(everything)
            assert columns.to_pylist() == [{"a": "1", "b": "x"}]
            connection.execute("ALTER TABLE changing DROP a")
            assert [tuple(row) for row in connection.fetch(everything)] == [("x",)]
        finally:
            connection.execute("DROP TABLE changing")


def test_kept_statements_fail_with_a_hint_and_never_run_another(pooler: Pooler) -> None:
    query = "SELECT $1::int + 1"
    with (
        colonnade.sync.connect(pooler.dsn) as connection,
        colonnade.sync.connect(pooler.dsn) as other,
    ):
        for one in (connection, other):
            assert one.fetchval(query, 1) == 2
            assert one.fetchval("SELECT $1::text", "x") == "x"
        with connection.transaction():
            connection.execute("DEALLOCATE ALL")
        assert other.fetchval(query, 1) == 2, "prepared anew"
        connection.execute("DEALLOCATE ALL")
        with pytest.raises(InvalidSQLStatementNameError) as caught:
            in_transaction(other, query)
        assert "statement_cache_size=0" in (caught.value.hint or "")


def in_transaction(connection: colonnade.sync.Connection, query: str) -> Any:
    with connection.transaction():
        return connection.fetchval(query, 1)


def test_session_mode_needs_nothing(dsn: str) -> None:
    with Pooler(dsn, "session") as pooler:
        with colonnade.sync.connect(pooler.dsn) as connection:
            for number in range(3):
                assert connection.fetchval("SELECT $1::int", number) == number
            connection.executemany("SELECT $1::int", [(1,), (2,)])
            with connection.transaction():
                assert connection.fetchval("SELECT $1::int", 1) == 1
        with colonnade.sync.connect(pooler.dsn) as connection:
            assert connection.fetchval("SELECT $1::int", 5) == 5


def test_a_gathers_deadline_stays_with_its_queries(pooler: Pooler) -> None:
    sleeping = {str(n): Query.value(f"SELECT 1 FROM pg_sleep({n + 20})") for n in range(2)}
    short = {str(n): Query.value("SELECT $1::int", n, cost=0) for n in range(20)}
    wrong = {"wrong": Query.value("SELECT 1 / 0")}
    options: dict[str, Any] = {"min_size": 2, "max_size": 2, "statement_cache_size": 0}
    with colonnade.sync.create_pool(pooler.dsn, **options) as pool:
        for _ in range(3):
            results = pool.gather(sleeping, deadline=0.1, on_error="return")
            assert {type(error) for error in results.errors.values()} == {DeadlineError}
            results = pool.gather(short | wrong, deadline=20, on_error="return")
            assert [results[name] for name in short] == list(range(20))
            assert list(results.errors) == ["wrong"]
        # Both servers of the pooler, at the same time.
        limit = "current_setting('statement_timeout')"
        shown = Query.row(f"SELECT pg_backend_pid(), {limit}, pg_sleep(0.2)")
        rows = list((pool.gather({"one": shown, "other": shown})).values())
        assert [row[1] for row in rows] == ["0", "0"]
        assert rows[0][0] != rows[1][0], "the test needs both server processes"
