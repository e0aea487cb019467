"""A release resets a part of a session, and keeps the rest, as the page about the pool says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# async-only: begin
import asyncpg

# async-only: end
import pytest

import colonnade

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.support.proxy import Proxy

_WHO = "SELECT ARRAY[session_user, current_user]::text[]"

# A statement that changes the session, and a query that shows the change.
TAKEN_BACK = {
    "role": ("SET ROLE pool_guest", _WHO),
    "authorization": ("SET SESSION AUTHORIZATION pool_guest", _WHO),
    "both": ("SET SESSION AUTHORIZATION pool_member; SET ROLE pool_guest", _WHO),
    "role by a function": ("SELECT set_config('role', 'pool_guest', false)", _WHO),
    "isolation": (
        "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        "SHOW transaction_isolation",
    ),
    "read only": (
        "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
        "SHOW transaction_read_only",
    ),
    "deferrable": ("SET default_transaction_deferrable TO on", "SHOW transaction_deferrable"),
    "search_path": ("SET search_path TO nowhere", "SHOW search_path"),
    "a parameter": ("SET work_mem TO '64kB'", "SHOW work_mem"),
    "the time zone": ("SET TimeZone TO 'Asia/Tokyo'", "SHOW TimeZone"),
    "a parameter of one's own": (
        "SET colonnade.tenant TO '17'",
        "SELECT coalesce(current_setting('colonnade.tenant', true), '')",
    ),
    "triggers": ("SET session_replication_role TO replica", "SHOW session_replication_role"),
    "a temporary table": (
        "CREATE TEMP TABLE pg_class (n int)",
        "SELECT to_regclass('pg_temp.pg_class')",
    ),
    "a temporary function": (
        "CREATE FUNCTION pg_temp.left_here() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "SELECT to_regproc('pg_temp.left_here')",
    ),
    "a cursor": (
        "DECLARE left_here CURSOR WITH HOLD FOR SELECT 1",
        "SELECT count(*) FROM pg_cursors WHERE name = 'left_here'",
    ),
    "LISTEN": ("LISTEN left_here", "SELECT count(*) FROM pg_listening_channels()"),
    "an advisory lock": (
        "SELECT pg_advisory_lock(4712)",
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 4712",
    ),
    "an open transaction": (
        "BEGIN; CREATE TABLE never_there ()",
        "SELECT to_regclass('never_there')",
    ),
}

STAYS = {
    "a statement prepared by SQL": (
        "PREPARE left_here AS SELECT 1",
        "SELECT count(*) FROM pg_prepared_statements WHERE name = 'left_here'",
    ),
    "the last number of a sequence": (
        "SELECT nextval('pool_numbers')",
        "SELECT currval('pool_numbers') > 0",
    ),
}


@pytest.fixture(autouse=True)
async def _roles(dsn: str) -> AsyncIterator[None]:
    drop = "DROP SEQUENCE IF EXISTS pool_numbers; DROP ROLE IF EXISTS pool_member, pool_guest"
    async with await colonnade.connect(dsn) as connection:
        await connection.execute(drop)
        await connection.execute(
            "CREATE ROLE pool_guest; CREATE ROLE pool_member LOGIN IN ROLE pool_guest;"
            " CREATE SEQUENCE pool_numbers"
        )
        yield
        await connection.execute(drop)


def _one(dsn: str, **options: Any) -> colonnade.Pool:
    return colonnade.create_pool(dsn, min_size=1, max_size=1, **options)


async def _used(pool: colonnade.Pool) -> None:
    for _ in range(3):
        await pool.execute("SELECT 1")


@pytest.mark.parametrize("name", TAKEN_BACK)
async def test_a_release_takes_it_back(dsn: str, name: str) -> None:
    leave, look = TAKEN_BACK[name]
    async with _one(dsn) as pool:
        fresh = await pool.fetchval(look)
        async with pool.acquire() as connection:
            pid = connection.get_server_pid()
            await connection.execute(leave)
            assert await connection.fetchval(look) != fresh
        async with pool.acquire() as connection:
            assert connection.get_server_pid() == pid
            assert await connection.fetchval(look) == fresh
        assert pool.get_stats().closed == {}


async def test_the_encoding_is_taken_back(dsn: str) -> None:
    async with _one(dsn) as pool:
        await pool.execute("SET client_encoding TO latin1")
        assert await pool.fetchval("SELECT 'ä' || current_setting('client_encoding')") == "äUTF8"


@pytest.mark.parametrize("name", STAYS)
async def test_it_stays(dsn: str, name: str) -> None:
    leave, look = STAYS[name]
    async with _one(dsn) as pool:
        await pool.execute(leave)
        assert await pool.fetchval(look)


async def test_a_role_that_is_no_superuser_s_costs_no_round_trip(proxy: Proxy) -> None:
    async with _one(f"{proxy.dsn}?sslmode=disable", user="pool_member") as pool:
        connection = await pool.acquire()
        await connection.execute("SET ROLE pool_guest")
        assert await connection.fetchval("SELECT current_user::text") == "pool_guest"
        proxy.hold_after(0)
        await pool.release(connection, timeout=5)
        assert pool.get_idle_size() == 1
        proxy.release()
        assert await pool.fetchval(_WHO) == ["pool_member", "pool_member"]
        # The role, the query, and one message for the whole reset, before the next query.
        # The first question is the pool's, about the cluster.
        assert proxy.first.tags.startswith("QQPDSBESQPDSBES")


async def test_a_role_of_the_start_is_kept(dsn: str) -> None:
    async with _one(dsn, server_settings={"role": "pool_guest"}) as pool:
        for leave in ("SELECT 1", "RESET ROLE", "SET ROLE NONE", "SET ROLE pool_member"):
            assert await pool.fetchval("SELECT current_user::text") == "pool_guest"
            await pool.execute(leave)
        await pool.execute("SET SESSION AUTHORIZATION pool_member")
        assert await pool.fetchval("SELECT current_user::text") == "pool_guest"


@pytest.mark.parametrize("way", ["init", "connect"])
async def test_a_role_of_init_is_kept(dsn: str, way: str) -> None:
    async def become(connection: colonnade.Connection) -> None:
        await connection.execute("SET SESSION AUTHORIZATION pool_member; SET ROLE pool_guest")

    async def connect(*args: Any, **options: Any) -> colonnade.Connection:
        connection = await colonnade.connect(*args, **options)
        await become(connection)
        return connection

    options: dict[str, Any] = {"init": become} if way == "init" else {"connect": connect}
    async with _one(dsn, **options) as pool:
        for leave in (
            "SELECT 1",
            "RESET ROLE",
            "RESET SESSION AUTHORIZATION",
            "SET work_mem TO 64",
        ):
            assert await pool.fetchval(_WHO) == ["pool_member", "pool_guest"]
            assert await pool.fetchval("SHOW work_mem") != "64kB"
            await pool.execute(leave)
        assert pool.get_stats().closed == {}


async def test_no_role_of_init_is_kept(dsn: str) -> None:
    async def become(connection: colonnade.Connection) -> None:
        await connection.execute("SET ROLE NONE")

    settings = {"role": "pool_guest"}
    async with _one(dsn, user="pool_member", server_settings=settings, init=become) as pool:
        for _ in range(2):
            assert await pool.fetchval(_WHO) == ["pool_member", "pool_member"]
            await pool.execute("SET ROLE pool_guest")


async def test_temporary_tables_of_init_stay(dsn: str) -> None:
    async def create(connection: colonnade.Connection) -> None:
        await connection.execute("CREATE TEMP TABLE made_by_init (n int)")

    async with _one(dsn, init=create) as pool:
        for count in range(3):
            assert await pool.fetchval("SELECT count(*) FROM made_by_init") == count
            await pool.execute("INSERT INTO made_by_init VALUES (1)")


async def test_a_role_of_setup_is_taken_back_and_set_again(dsn: str) -> None:
    roles = iter(("pool_guest", "pool_member", "pool_guest"))

    async def become(connection: colonnade.Connection) -> None:
        await connection.execute(f"SET ROLE {next(roles)}")

    async with _one(dsn, setup=become) as pool:
        for expected in ("pool_guest", "pool_member", "pool_guest"):
            assert await pool.fetchval("SELECT current_user::text") == expected


async def test_a_reset_of_one_s_own_can_call_ours(dsn: str) -> None:
    async def reset(connection: colonnade.Connection) -> None:
        await connection.reset()
        await connection.execute("DEALLOCATE ALL")

    async with _one(dsn, reset=reset) as pool:
        await pool.execute("PREPARE left_here AS SELECT 1; SET ROLE pool_guest")
        assert (await pool.fetchval(_WHO))[1] != "pool_guest"
        assert not await pool.fetchval("SELECT count(*) FROM pg_prepared_statements WHERE from_sql")


async def test_an_init_that_only_looks_costs_one_question(proxy: Proxy) -> None:
    async def look(connection: colonnade.Connection) -> None:
        await connection.execute("SELECT 1")

    async with _one(f"{proxy.dsn}?sslmode=disable", init=look) as pool:
        before = list(proxy.first.tags)
        assert before.count("P") == 1
        assert await pool.fetchval("SELECT 1") == 1
    async with _one(f"{proxy.dsn}?sslmode=disable") as pool:
        assert await pool.fetchval("SELECT 1") == 1
        assert proxy.connections[-1].tags.count("P") == 1


async def test_a_role_that_is_gone_costs_the_connection(dsn: str) -> None:
    async def become(connection: colonnade.Connection) -> None:
        await connection.execute("SET ROLE pool_passing")

    async with await colonnade.connect(dsn) as owner:
        await owner.execute("DROP ROLE IF EXISTS pool_passing; CREATE ROLE pool_passing")
        async with _one(dsn, init=become) as pool:
            await owner.execute("DROP ROLE pool_passing")
            with pytest.raises(colonnade.PostgresError, match="pool_passing"):
                await _used(pool)
            assert pool.get_stats().closed


# async-only: begin
async def test_asyncpg_lends_the_role(dsn: str) -> None:
    """The page about compatibility says so."""
    async with asyncpg.create_pool(dsn, min_size=1, max_size=1) as pool:
        await pool.execute("CREATE TEMP TABLE left_here (n int); GRANT ALL ON left_here TO PUBLIC")
        await pool.execute("SET ROLE pool_guest")
        assert await pool.fetchval("SELECT current_user::text") == "pool_guest"
        assert await pool.fetchval("SELECT count(*) FROM left_here") == 0


# async-only: end
