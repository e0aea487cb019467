"""The statement cache: one round trip for a known statement; stale ones are replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade.errors import InvalidCachedStatementError, InvalidSQLStatementNameError
from tests.support.elsewhere import elsewhere

if TYPE_CHECKING:
    from tests.support.proxy import Proxy


def kept(connection: colonnade.Connection) -> int:
    return connection.conversation.session.cached_statements


async def on_server(connection: colonnade.Connection) -> int:
    """The number of prepared statements of this connection on the server."""
    count = await connection.fetchval("SELECT count(*) FROM pg_prepared_statements")
    assert isinstance(count, int)
    return count


async def test_a_known_statement_takes_one_round_trip(proxy: Proxy) -> None:
    async with await colonnade.connect(f"{proxy.dsn}?sslmode=disable") as connection:
        sent = proxy.first
        before = sent.tags
        assert before == ""
        assert await connection.fetchval("SELECT $1::int", 1) == 1
        assert sent.tags == "PDSBES"
        assert await connection.fetchval("SELECT $1::int", 2) == 2
        assert sent.tags == "PDSBES" + "BES"
        await connection.fetch_columns("SELECT $1::int", 3)
        assert sent.tags == "PDSBES" + "BES" * 2
        async for batch in connection.iter_columns("SELECT $1::int", 4):
            assert len(batch) == 1
        assert sent.tags == "PDSBES" + "BES" * 3
        await connection.execute("SELECT 1")
        assert sent.tags == "PDSBES" + "BES" * 3 + "Q"


async def test_the_least_recently_used_leaves(dsn: str) -> None:
    async with await colonnade.connect(dsn, statement_cache_size=3) as connection:
        for number in (1, 2, 1, 3, 1, 4, 1, 5):
            assert await connection.fetchval(f"SELECT {number}") == number
        assert kept(connection) == 3
        assert await on_server(connection) == 3
        assert await connection.fetchval("SELECT 1") == 1


async def test_many_texts(dsn: str) -> None:
    async with await colonnade.connect(dsn, statement_cache_size=10) as connection:
        for number in range(100):
            assert await connection.fetchval(f"SELECT {number}") == number
        assert await on_server(connection) == 10


async def test_nothing_is_kept(dsn: str) -> None:
    async with await colonnade.connect(dsn, statement_cache_size=0) as connection:
        for _ in range(3):
            assert await connection.fetchval("SELECT $1::int", 1) == 1
        assert kept(connection) == 0
        assert await on_server(connection) == 0


@pytest.mark.parametrize("command", ["DISCARD ALL", "DEALLOCATE ALL"])
async def test_the_server_forgets_all(connection: colonnade.Connection, command: str) -> None:
    assert await connection.fetchval("SELECT 1") == 1
    await connection.execute(command)
    assert kept(connection) == 0
    assert await connection.fetchval("SELECT 1") == 1
    # Without a command tag that tells the client, it prepares the statement anew after the error.
    await connection.execute("DEALLOCATE ALL; SELECT 1")
    assert await connection.fetchval("SELECT 1") == 1
    await connection.fetch("DEALLOCATE ALL")
    assert await connection.fetchval("SELECT 1") == 1


async def test_forgotten_within_a_transaction(connection: colonnade.Connection) -> None:
    assert await connection.fetchval("SELECT 1") == 1
    await connection.execute("BEGIN; DEALLOCATE ALL; SELECT 1")
    with pytest.raises(InvalidSQLStatementNameError):
        await connection.fetchval("SELECT 1")
    await connection.execute("ROLLBACK")
    assert await connection.fetchval("SELECT 1") == 1


async def test_a_table_that_changes(connection: colonnade.Connection) -> None:
    await connection.execute("CREATE TEMPORARY TABLE t (a int); INSERT INTO t VALUES (1)")
    query = "SELECT * FROM t"
    assert await connection.fetch(query) == [(1,)]
    await connection.execute("ALTER TABLE t ADD COLUMN b text DEFAULT 'x'")
    assert await connection.fetch(query) == [(1, "x")]
    await connection.execute("ALTER TABLE t ALTER COLUMN a TYPE text")
    columns = await connection.fetch_columns(query)
    assert columns.to_pylist() == [{"a": "1", "b": "x"}]
    await connection.execute("ALTER TABLE t DROP COLUMN b")
    assert [len(batch) async for batch in connection.iter_columns(query)] == [1]


async def test_a_table_that_changes_within_a_transaction(connection: colonnade.Connection) -> None:
    await connection.execute("CREATE TEMPORARY TABLE t (a int); INSERT INTO t VALUES (1)")
    assert await connection.fetch("SELECT * FROM t") == [(1,)]
    await connection.execute("BEGIN; ALTER TABLE t ADD COLUMN b text")
    assert await connection.fetch("SELECT * FROM t") == [(1, None)]
    await connection.execute("ROLLBACK")
    assert await connection.fetch("SELECT * FROM t") == [(1,)]


async def test_a_table_that_another_connection_changes(
    connection: colonnade.Connection, dsn: str
) -> None:
    await connection.execute("DROP TABLE IF EXISTS changed; CREATE TABLE changed (a int)")
    assert await connection.fetch("SELECT * FROM changed") == []
    elsewhere(dsn, "ALTER TABLE changed ADD COLUMN b text")
    await connection.execute("BEGIN")
    with pytest.raises(InvalidCachedStatementError, match="cached statement plan") as caught:
        await connection.fetch("SELECT * FROM changed")
    assert caught.value.safe_to_retry
    assert caught.value.is_outdated
    assert "described anew the next time" in caught.value.__notes__[0]
    await connection.execute("ROLLBACK")
    assert await connection.fetch("SELECT * FROM changed") == []
    await connection.execute("DROP TABLE changed")


async def test_a_search_path_that_changes(connection: colonnade.Connection) -> None:
    await connection.execute(
        "CREATE SCHEMA one; CREATE TABLE one.t AS SELECT 1 AS v;"
        "CREATE SCHEMA two; CREATE TABLE two.t AS SELECT 'two' AS v, true AS w"
    )
    try:
        await connection.execute("SET search_path = one")
        assert await connection.fetch("SELECT * FROM t") == [(1,)]
        await connection.execute("SET search_path = two")
        assert await connection.fetch("SELECT * FROM t") == [("two", True)]
    finally:
        await connection.execute("DROP SCHEMA one CASCADE; DROP SCHEMA two CASCADE")


async def test_a_statement_gets_old(dsn: str) -> None:
    async with await colonnade.connect(dsn, max_cached_statement_lifetime=0.05) as connection:
        assert await connection.fetchval("SELECT 1") == 1
        assert await connection.fetchval("SELECT pg_sleep(0.06)") is None
        assert kept(connection) == 2
        assert await connection.fetchval("SELECT 1") == 1
        assert kept(connection) == 2
        texts = await connection.fetch("SELECT statement FROM pg_prepared_statements")
        assert [text for (text,) in texts].count("SELECT 1") == 1


async def test_nothing_gets_old(dsn: str) -> None:
    for lifetime in (0, 1e300):
        async with await colonnade.connect(
            dsn, max_cached_statement_lifetime=lifetime
        ) as connection:
            assert await connection.fetchval("SELECT 1") == 1
            assert await connection.fetchval("SELECT 1") == 1
            assert kept(connection) == 1


async def test_long_texts_are_not_kept(dsn: str) -> None:
    async with await colonnade.connect(dsn, max_cacheable_statement_size=20) as connection:
        for query, is_kept in [("SELECT 1 ".ljust(20), True), ("SELECT 1 ".ljust(21), False)]:
            before = kept(connection)
            for _ in range(2):
                assert await connection.fetchval(query) == 1
            assert kept(connection) == before + is_kept
    async with await colonnade.connect(dsn, max_cacheable_statement_size=0) as connection:
        assert await connection.fetchval("SELECT 1".ljust(100_000)) == 1
        assert kept(connection) == 1


@pytest.mark.parametrize(
    "setting",
    [
        "statement_cache_size",
        "max_cached_statement_lifetime",
        "max_cacheable_statement_size",
    ],
)
async def test_settings_that_are_none(dsn: str, setting: str) -> None:
    options: dict[str, Any]
    for value in (-1, True, None, "x", float("nan")):
        options = {setting: value}
        with pytest.raises(ValueError, match=f"{setting} must be "):
            await colonnade.connect(dsn, **options)
