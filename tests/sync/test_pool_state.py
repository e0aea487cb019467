# Generated from tests/async/test_pool_state.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""What a release takes back from a session, and what stays, as the page about the pool says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import colonnade

if TYPE_CHECKING:
    from collections.abc import Iterator

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
def _roles(dsn: str) -> Iterator[None]:
    drop = "DROP SEQUENCE IF EXISTS pool_numbers; DROP ROLE IF EXISTS pool_member, pool_guest"
    with colonnade.sync.connect(dsn) as connection:
        connection.execute(drop)
        connection.execute(
            "CREATE ROLE pool_guest; CREATE ROLE pool_member LOGIN IN ROLE pool_guest;"
            " CREATE SEQUENCE pool_numbers"
        )
        yield
        connection.execute(drop)


def _one(dsn: str, **options: Any) -> colonnade.sync.Pool:
    return colonnade.sync.create_pool(dsn, min_size=1, max_size=1, **options)


def _used(pool: colonnade.sync.Pool) -> None:
    for _ in range(3):
        pool.execute("SELECT 1")


@pytest.mark.parametrize("name", TAKEN_BACK)
def test_a_release_takes_it_back(dsn: str, name: str) -> None:
    leave, look = TAKEN_BACK[name]
    with _one(dsn) as pool:
        fresh = pool.fetchval(look)
        with pool.acquire() as connection:
            pid = connection.get_server_pid()
            connection.execute(leave)
            assert connection.fetchval(look) != fresh
        with pool.acquire() as connection:
            assert connection.get_server_pid() == pid
            assert connection.fetchval(look) == fresh
        assert pool.get_stats().closed == {}


def test_the_encoding_is_taken_back(dsn: str) -> None:
    with _one(dsn) as pool:
        pool.execute("SET client_encoding TO latin1")
        assert pool.fetchval("SELECT 'ä' || current_setting('client_encoding')") == "äUTF8"


@pytest.mark.parametrize("name", STAYS)
def test_it_stays(dsn: str, name: str) -> None:
    leave, look = STAYS[name]
    with _one(dsn) as pool:
        pool.execute(leave)
        assert pool.fetchval(look)


def test_a_role_that_is_no_superuser_s_costs_no_round_trip(proxy: Proxy) -> None:
    with _one(f"{proxy.dsn}?sslmode=disable", user="pool_member") as pool:
        connection = pool.acquire()
        connection.execute("SET ROLE pool_guest")
        assert connection.fetchval("SELECT current_user::text") == "pool_guest"
        proxy.hold_after(0)
        pool.release(connection, timeout=5)
        assert pool.get_idle_size() == 1
        proxy.release()
        assert pool.fetchval(_WHO) == ["pool_member", "pool_member"]
        # The role, the query, and one message for the whole reset, before the next query.
        # The first question is the pool's, about the cluster.
        assert proxy.first.tags.startswith("QQPDSBESQPDSBES")


def test_a_role_of_the_start_is_kept(dsn: str) -> None:
    with _one(dsn, server_settings={"role": "pool_guest"}) as pool:
        for leave in ("SELECT 1", "RESET ROLE", "SET ROLE NONE", "SET ROLE pool_member"):
            assert pool.fetchval("SELECT current_user::text") == "pool_guest"
            pool.execute(leave)
        pool.execute("SET SESSION AUTHORIZATION pool_member")
        assert pool.fetchval("SELECT current_user::text") == "pool_guest"


@pytest.mark.parametrize("way", ["init", "connect"])
def test_a_role_of_init_is_kept(dsn: str, way: str) -> None:
    def become(connection: colonnade.sync.Connection) -> None:
        connection.execute("SET SESSION AUTHORIZATION pool_member; SET ROLE pool_guest")

    def connect(*args: Any, **options: Any) -> colonnade.sync.Connection:
        connection = colonnade.sync.connect(*args, **options)
        become(connection)
        return connection

    options: dict[str, Any] = {"init": become} if way == "init" else {"connect": connect}
    with _one(dsn, **options) as pool:
        for leave in (
            "SELECT 1",
            "RESET ROLE",
            "RESET SESSION AUTHORIZATION",
            "SET work_mem TO 64",
        ):
            assert pool.fetchval(_WHO) == ["pool_member", "pool_guest"]
            assert pool.fetchval("SHOW work_mem") != "64kB"
            pool.execute(leave)
        assert pool.get_stats().closed == {}


def test_no_role_of_init_is_kept(dsn: str) -> None:
    def become(connection: colonnade.sync.Connection) -> None:
        connection.execute("SET ROLE NONE")

    settings = {"role": "pool_guest"}
    with _one(dsn, user="pool_member", server_settings=settings, init=become) as pool:
        for _ in range(2):
            assert pool.fetchval(_WHO) == ["pool_member", "pool_member"]
            pool.execute("SET ROLE pool_guest")


def test_temporary_tables_of_init_stay(dsn: str) -> None:
    def create(connection: colonnade.sync.Connection) -> None:
        connection.execute("CREATE TEMP TABLE made_by_init (n int)")

    with _one(dsn, init=create) as pool:
        for count in range(3):
            assert pool.fetchval("SELECT count(*) FROM made_by_init") == count
            pool.execute("INSERT INTO made_by_init VALUES (1)")


def test_a_role_of_setup_is_taken_back_and_set_again(dsn: str) -> None:
    roles = iter(("pool_guest", "pool_member", "pool_guest"))

    def become(connection: colonnade.sync.Connection) -> None:
        connection.execute(f"SET ROLE {next(roles)}")

    with _one(dsn, setup=become) as pool:
        for expected in ("pool_guest", "pool_member", "pool_guest"):
            assert pool.fetchval("SELECT current_user::text") == expected


def test_a_reset_of_one_s_own_can_call_ours(dsn: str) -> None:
    def reset(connection: colonnade.sync.Connection) -> None:
        connection.reset()
        connection.execute("DEALLOCATE ALL")

    with _one(dsn, reset=reset) as pool:
        pool.execute("PREPARE left_here AS SELECT 1; SET ROLE pool_guest")
        assert (pool.fetchval(_WHO))[1] != "pool_guest"
        assert not pool.fetchval("SELECT count(*) FROM pg_prepared_statements WHERE from_sql")


def test_an_init_that_only_looks_costs_one_question(proxy: Proxy) -> None:
    def look(connection: colonnade.sync.Connection) -> None:
        connection.execute("SELECT 1")

    with _one(f"{proxy.dsn}?sslmode=disable", init=look) as pool:
        before = list(proxy.first.tags)
        assert before.count("P") == 1
        assert pool.fetchval("SELECT 1") == 1
    with _one(f"{proxy.dsn}?sslmode=disable") as pool:
        assert pool.fetchval("SELECT 1") == 1
        assert proxy.connections[-1].tags.count("P") == 1


def test_a_role_that_is_gone_costs_the_connection(dsn: str) -> None:
    def become(connection: colonnade.sync.Connection) -> None:
        connection.execute("SET ROLE pool_passing")

    with colonnade.sync.connect(dsn) as owner:
        owner.execute("DROP ROLE IF EXISTS pool_passing; CREATE ROLE pool_passing")
        with _one(dsn, init=become) as pool:
            owner.execute("DROP ROLE pool_passing")
            with pytest.raises(colonnade.PostgresError, match="pool_passing"):
                _used(pool)
            assert pool.get_stats().closed
