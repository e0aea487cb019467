# Generated from tests/async/test_server_limits.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Limits of a server: time, connections, disk space, memory, size. The error names the limit."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade import embedded, errors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.leftovers import BackendWatch

_PLACES = 6
_RESERVED = 3
_SECONDS_MAX = 20.0


@pytest.fixture(scope="module")
def narrow() -> Iterator[embedded.Server]:
    """A server with few connections, little space for temporary files and a small stack."""
    settings = {
        "max_connections": str(_PLACES),
        "max_wal_senders": "0",
        "superuser_reserved_connections": str(_RESERVED),
        "temp_file_limit": "1MB",
        "max_stack_depth": "100kB",
        "deadlock_timeout": "10ms",
        "max_locks_per_transaction": "10",
        "autovacuum": "off",
    }
    with embedded.start(
        tcp=True, settings=settings, roles=[embedded.Role("visitor", method="trust")]
    ) as server:
        yield server


@pytest.fixture
def cramped(narrow: embedded.Server, nothing_left: None) -> Iterator[colonnade.sync.Connection]:
    """A superuser's connection to the limited server."""
    del nothing_left
    with colonnade.sync.connect(narrow.dsn) as connection:
        yield connection


def check_usable(connection: Any) -> None:
    """Check that the connection works."""
    assert connection.transaction_status == "idle"
    assert connection.fetchval("SELECT $1::int", 42) == 42


# Time


@pytest.mark.parametrize(
    ("setting", "least", "error"),
    [
        ("idle_session_timeout", 14, errors.IdleSessionTimeoutError),
        ("idle_in_transaction_session_timeout", 13, errors.IdleInTransactionSessionTimeoutError),
        ("transaction_timeout", 17, errors.TransactionTimeoutError),
    ],
)
def test_a_connection_that_was_idle_for_too_long_says_so(
    dsn: str, watch: BackendWatch, setting: str, least: int, error: type[Exception]
) -> None:
    with colonnade.sync.connect(dsn) as connection:
        if connection.get_server_version().major < least:
            pytest.skip(f"{setting} came with PostgreSQL {least}")
        connection.execute(f"SET {setting} = '20ms'")
        if "transaction" in setting:
            connection.execute("BEGIN")
        give_up = time.monotonic() + _SECONDS_MAX
        while connection.get_server_pid() in watch.backends():
            assert time.monotonic() < give_up, "it has not ended"
            # Meanwhile the client reads the server's last message.
            time.sleep(0.005)
        with pytest.raises((errors.InterfaceError, errors.ConnectionDoesNotExistError)) as caught:
            connection.fetchval("SELECT 1")
        assert isinstance(caught.value.__cause__, error)
        assert connection.is_closed()


@pytest.mark.parametrize("setting", ["statement_timeout", "transaction_timeout"])
def test_a_query_that_takes_too_long(dsn: str, setting: str) -> None:
    with colonnade.sync.connect(dsn) as connection:
        if setting == "statement_timeout":
            connection.execute("SET statement_timeout = '20ms'")
            with pytest.raises(errors.QueryCanceledError, match="statement timeout"):
                connection.fetch_columns("SELECT pg_sleep(60)")
            check_usable(connection)
            return
        if connection.get_server_version().major < 17:
            pytest.skip("transaction_timeout came with PostgreSQL 17")
        connection.execute("SET transaction_timeout = '20ms'")
        with pytest.raises(errors.ConnectionDoesNotExistError, match="transaction timeout") as it:
            connection.fetch_columns("SELECT pg_sleep(60)")
        assert isinstance(it.value.__cause__, errors.TransactionTimeoutError)
        assert connection.is_closed()


def test_transactions_that_cannot_both_be(
    narrow: embedded.Server, cramped: colonnade.sync.Connection
) -> None:
    with colonnade.sync.connect(narrow.dsn) as other:
        cramped.execute("CREATE TABLE counted (n int); INSERT INTO counted VALUES (1)")
        try:
            with cramped.transaction(isolation="serializable"):
                cramped.fetch_columns("SELECT sum(n) FROM counted")
                other.execute("UPDATE counted SET n = 5")
                with pytest.raises(errors.SerializationError):
                    cramped.execute("UPDATE counted SET n = 6")
                with pytest.raises(errors.InFailedSQLTransactionError):
                    cramped.fetchval("SELECT 1")
            check_usable(cramped)
        finally:
            cramped.execute("DROP TABLE counted")


# Connections


def test_no_place_is_left(narrow: embedded.Server, cramped: colonnade.sync.Connection) -> None:
    visitors = [
        colonnade.sync.connect(narrow.dsn_for("visitor")) for _ in range(_PLACES - _RESERVED - 1)
    ]
    try:
        with pytest.raises(errors.TooManyConnectionsError):
            colonnade.sync.connect(narrow.dsn_for("visitor"))
        # Some connections are reserved for superusers.
        reserved = [colonnade.sync.connect(narrow.dsn) for _ in range(_RESERVED)]
        try:
            with pytest.raises(errors.TooManyConnectionsError, match="too many clients"):
                colonnade.sync.connect(narrow.dsn)
            # A cancel request needs no free connection.
            with pytest.raises(TimeoutError):
                visitors[0].fetchval("SELECT pg_sleep(60)", timeout=0.02)
            check_usable(visitors[0])
        finally:
            for connection in reserved:
                connection.close()
    finally:
        for connection in visitors:
            connection.close()
    check_usable(cramped)


def test_a_role_or_database_with_a_limit(
    narrow: embedded.Server, cramped: colonnade.sync.Connection
) -> None:
    cramped.execute("ALTER ROLE visitor CONNECTION LIMIT 1")
    try:
        with colonnade.sync.connect(narrow.dsn_for("visitor")) as visitor:
            with pytest.raises(errors.TooManyConnectionsError, match='role "visitor"'):
                colonnade.sync.connect(narrow.dsn_for("visitor"))
            check_usable(visitor)
    finally:
        cramped.execute("ALTER ROLE visitor CONNECTION LIMIT -1")
    cramped.execute("CREATE DATABASE shut CONNECTION LIMIT 0")
    try:
        with pytest.raises(errors.TooManyConnectionsError, match='database "shut"'):
            colonnade.sync.connect(narrow.dsn_for("visitor", database="shut"))
    finally:
        cramped.execute("DROP DATABASE shut")


# Space, memory, size


@pytest.mark.parametrize(
    ("query", "error", "text"),
    [
        (
            "DO $$ BEGIN COPY (SELECT generate_series(1, 9999)) TO '/dev/full'; END $$",
            errors.DiskFullError,
            "No space left on device",
        ),
        (
            "SELECT count(pg_advisory_xact_lock(n)) FROM generate_series(1, 30000) n",
            errors.OutOfMemoryError,
            "out of shared memory",
        ),
        (
            "SELECT n, repeat(md5(n::text), 30) AS t FROM generate_series(1, 20000) n ORDER BY t",
            errors.ConfigurationLimitExceededError,
            "temp_file_limit",
        ),
        (
            "SELECT " + "(1 + " * 3000 + "1" + ")" * 3000,
            errors.StatementTooComplexError,
            "max_stack_depth",
        ),
        ("SELECT repeat('four', 1 << 29)", errors.ProgramLimitExceededError, "too large"),
        ("SELECT " + ", ".join(["1"] * 1665), errors.TooManyColumnsError, "1664"),
        ("SELECT array_fill(0, ARRAY[1 << 29])", errors.ProgramLimitExceededError, "array size"),
    ],
    ids=["disk", "locks", "temporary files", "stack", "field", "columns", "array"],
)
def test_what_is_too_much_for_the_server(
    cramped: colonnade.sync.Connection, query: str, error: type[Exception], text: str
) -> None:
    cramped.execute("SET work_mem = '64kB'")
    for call in (cramped.fetch, cramped.fetch_columns, cramped.execute):
        with pytest.raises(error, match=text):
            call(query, timeout=_SECONDS_MAX)
        check_usable(cramped)
