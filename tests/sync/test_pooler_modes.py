# Generated from tests/async/test_pooler_modes.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""PgBouncer's modes, limits and authentication methods, and the errors for its refusals."""

from __future__ import annotations

from typing import Any

import pytest

import colonnade
from colonnade import embedded, errors
from tests.support.pooler import Pooler, newer_program, program
from tests.support.servers import shut_down, start_again

#: Debian 12's version, and the one that `make servers` downloads.
PROGRAMS = {"system's": program(), "newer": newer_program()}
_SECONDS_MAX = 20.0

pytestmark = pytest.mark.usefixtures("nothing_left")


@pytest.fixture(params=PROGRAMS)
def executable(request: pytest.FixtureRequest) -> str:
    """A PgBouncer."""
    found = PROGRAMS[request.param]
    if found is None:
        pytest.skip(f"the {request.param} PgBouncer is missing: apt or `make servers` installs it")
    return found


@pytest.fixture
def newer() -> str:
    """A PgBouncer that keeps track of prepared statements."""
    found = newer_program()
    if found is None:
        pytest.skip("PgBouncer 1.21 or newer is missing: `make servers` installs it")
    return found


def check(connection: Any, number: int = 42) -> None:
    """Check that a connection works."""
    sql = "SELECT $1::int"
    assert connection.fetchval(sql, number, timeout=_SECONDS_MAX) == number


def test_kept_statements_where_the_pooler_tracks_them(dsn: str, newer: str) -> None:
    """The statement cache may stay on, whichever server process runs the transaction."""
    with Pooler(
        dsn, "transaction", executable=newer, settings={"max_prepared_statements": 50}
    ) as it:
        with (
            colonnade.sync.connect(it.dsn) as one,
            colonnade.sync.connect(it.dsn) as other,
        ):
            pids = set()
            for number in range(20):
                with one.transaction():
                    pids.add(one.fetchval("SELECT pg_backend_pid()"))
                    with other.transaction():
                        pids.add(other.fetchval("SELECT pg_backend_pid()"))
                        check(one, number)
                        check(other, number)
                # The first client gets the server connection used last: alternate the order.
                one, other = other, one  # noqa: PLW2901
            assert len(pids) == 2
            statement = one.prepare("SELECT $1::text || 'x'")
            assert statement.fetchval("a") == "ax"
            with other.transaction():
                check(other)
                assert statement.fetchval("b") == "bx"
                columns = one.fetch_columns("SELECT $1::int AS n", 7)
                assert columns.to_pylist() == [{"n": 7}]
            one.executemany("SELECT $1::int", [(n,) for n in range(100)])
            # Use more statements than PgBouncer keeps.
            for number in range(120):
                assert one.fetchval(f"SELECT {number} + $1::int", 1) == number + 1
            for text in ("DEALLOCATE ALL", "DISCARD ALL"):
                one.execute(text)
                check(one)
                check(other)


def test_statement_mode_takes_no_transaction(dsn: str, executable: str) -> None:
    with Pooler(dsn, "statement", executable=executable) as it:
        with colonnade.sync.connect(it.dsn, statement_cache_size=0) as connection:
            check(connection)
            columns = connection.fetch_columns("SELECT generate_series(1, 3) AS n")
            assert columns.to_pydict() == {"n": [1, 2, 3]}
            with pytest.raises(errors.PostgresError, match="not allowed in statement") as caught:
                with connection.transaction():
                    check(connection)
            assert caught.value.sqlstate in {"08P01", "08003"}
            assert connection.is_closed()


def test_nobody_gets_a_server_in_time(dsn: str, executable: str) -> None:
    settings = {"query_wait_timeout": 1}
    with Pooler(dsn, "transaction", servers=1, executable=executable, settings=settings) as it:
        with colonnade.sync.connect(it.dsn, statement_cache_size=0) as holder:
            with holder.transaction():
                check(holder)
                with colonnade.sync.connect(it.dsn, statement_cache_size=0) as other:
                    with pytest.raises(errors.PostgresError, match="query_wait_timeout"):
                        check(other)
                    assert other.is_closed()
                check(holder)
            with colonnade.sync.connect(it.dsn, statement_cache_size=0) as other:
                check(other)


def test_the_pooler_takes_no_more_clients(dsn: str, executable: str) -> None:
    with Pooler(dsn, "transaction", executable=executable, settings={"max_client_conn": 1}) as it:
        with colonnade.sync.connect(it.dsn, statement_cache_size=0) as connection:
            with pytest.raises(errors.PostgresError, match="no more connections allowed"):
                colonnade.sync.connect(it.dsn)
            check(connection)


def test_settings_that_it_does_not_know(dsn: str, executable: str) -> None:
    wanted = {"statement_timeout": "5s", "application_name": "known"}
    with (
        Pooler(dsn, "session", executable=executable) as it,
        pytest.raises(errors.PostgresError, match="statement_timeout"),
    ):
        colonnade.sync.connect(it.dsn, server_settings=wanted)
    ignored = {"ignore_startup_parameters": "statement_timeout"}
    with Pooler(dsn, "session", executable=executable, settings=ignored) as it:
        with colonnade.sync.connect(it.dsn, server_settings=wanted) as connection:
            assert connection.fetchval("SHOW statement_timeout") == "0"
            assert connection.fetchval("SHOW application_name") == "known"


@pytest.mark.parametrize("method", ["plain", "md5", "scram-sha-256"])
def test_ways_to_prove_oneself(dsn: str, executable: str, method: str) -> None:
    users = {"visitor": "correct horse"}
    settings = {"auth_type": method}
    with Pooler(dsn, "session", executable=executable, settings=settings, users=users) as it:
        with colonnade.sync.connect(it.dsn_for("visitor", "correct%20horse")) as connection:
            check(connection)
        with pytest.raises((errors.PostgresError, errors.InterfaceError), match="auth"):
            colonnade.sync.connect(it.dsn_for("visitor", "wrong"))


@pytest.mark.parametrize("mode", ["session", "transaction"])
def test_a_query_is_cancelled_through_it(dsn: str, executable: str, mode: str) -> None:
    with Pooler(dsn, mode, executable=executable) as it:
        with colonnade.sync.connect(it.dsn, statement_cache_size=0) as connection:
            for number in range(3):
                with pytest.raises(TimeoutError):
                    connection.fetch_columns("SELECT pg_sleep(60)", timeout=0.05)
                check(connection, number)


def test_its_server_is_started_again(executable: str) -> None:
    with embedded.start(tcp=True) as server:
        settings = {"server_login_retry": 0.1, "server_fast_close": 1}
        with Pooler(server.dsn, "transaction", executable=executable, settings=settings) as it:
            with colonnade.sync.connect(it.dsn, statement_cache_size=0) as connection:
                connection.execute("CREATE TABLE kept AS SELECT 1 AS n")
                transaction = connection.transaction()
                transaction.start()
                check(connection)
                shut_down(server, "fast")
                start_again(server)
                with pytest.raises((errors.PostgresError, errors.InterfaceError)):
                    check(connection)
                assert connection.is_closed()
            with colonnade.sync.connect(it.dsn, statement_cache_size=0) as connection:
                assert connection.fetchval("SELECT n FROM kept") == 1


def test_notifications_need_session_mode(dsn: str, executable: str) -> None:
    with Pooler(dsn, "session", executable=executable) as it:
        with colonnade.sync.connect(it.dsn) as connection:
            heard: list[object] = []
            connection.add_listener("by_way_of", lambda *said: heard.append(said[3]))
            connection.execute("NOTIFY by_way_of, 'arrived'")
            check(connection)
            assert heard == ["arrived"]
            connection.reset()


def test_a_pool_behind_it(dsn: str, executable: str) -> None:
    """A pool in front of PgBouncer: its resets work, although the server connection may change."""
    with Pooler(dsn, "transaction", servers=1, executable=executable) as it:
        with colonnade.sync.create_pool(
            it.dsn, min_size=2, max_size=3, statement_cache_size=0
        ) as pool:
            for number in range(10):
                check(pool, number)
                with pool.acquire() as connection:
                    connection.execute("SET search_path TO pg_catalog")
                    check(connection, number)
            columns = pool.fetch_columns("SELECT 1 AS n")
            assert columns.to_pylist() == [{"n": 1}]
