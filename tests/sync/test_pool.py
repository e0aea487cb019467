# Generated from tests/async/test_pool.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""The pool: its size, its life, and the connections that it lends."""

from __future__ import annotations

import io
import time
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade import InterfaceError, errors
from colonnade._driver._sync.pool.proxy import PoolConnectionProxy

if TYPE_CHECKING:
    from tests.support.proxy import Proxy


class _MyConnection(colonnade.sync.Connection):
    def greet(self) -> str:
        return "hello"


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"max_size": 0}, ValueError, "max_size is expected to be greater than zero"),
        ({"min_size": -1}, ValueError, "min_size is expected to be greater or equal to zero"),
        ({"max_size": 5}, ValueError, "min_size is greater than max_size"),
        ({"init_size": -1}, ValueError, "init_size is expected to be greater or equal to zero"),
        ({"init_size": 11}, ValueError, "init_size is greater than max_size"),
        ({"init_size": 3, "min_size": 5}, ValueError, "init_size is smaller than min_size"),
        ({"max_size": 10.5}, TypeError, "max_size must be a whole number, not 10.5"),
        ({"max_queries": 0}, ValueError, "max_queries is expected to be greater than zero"),
        (
            {"max_inactive_connection_lifetime": -1},
            ValueError,
            "max_inactive_connection_lifetime is expected to be greater or equal to zero",
        ),
        ({"max_lifetime": 0}, ValueError, "max_lifetime is expected to be greater than zero"),
        ({"connection_class": object}, TypeError, "connection_class is expected to be a subclass"),
        ({"record_class": 3}, TypeError, "record_class is expected to be a subclass"),
    ],
)
def test_options_are_checked(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        colonnade.sync.create_pool(**options)


def test_a_pool_opens_and_closes_its_connections(dsn: str) -> None:
    pool = colonnade.sync.create_pool(dsn, min_size=2, max_size=4, init_size=3)
    sizes = (pool.get_init_size(), pool.get_min_size(), pool.get_max_size())
    assert sizes == (3, 2, 4)
    with pool as entered:
        assert entered is pool
        assert (pool.get_size(), pool.get_idle_size(), pool.is_closing()) == (3, 3, False)
        with pool.acquire() as connection:
            assert (pool.get_size(), pool.get_idle_size()) == (3, 2)
            assert connection.fetchval("SELECT 1") == 1
        assert repr(pool) == "<Pool size=3 idle=3 waiting=0 min_size=2 max_size=4>"
    assert (pool.get_size(), pool.get_idle_size(), pool.is_closing()) == (0, 0, True)
    assert repr(pool) == "<Pool closed>"
    pool.close()
    pool.terminate()


def test_a_pool_grows_when_it_is_asked_to(dsn: str) -> None:
    with colonnade.sync.create_pool(dsn, min_size=0, max_size=2) as pool:
        assert pool.get_size() == 0
        first, second = pool.acquire(), pool.acquire()
        assert first.get_server_pid() != second.get_server_pid()
        with pytest.raises(TimeoutError):
            pool.acquire(timeout=0.01)
        pool.release(first)
        third = pool.acquire()
        assert third.get_server_pid() is not None
        pool.release(second)
        pool.release(third)
        stats = pool.get_stats()
        assert (stats.opened, stats.given_up, stats.acquired) == (2, 1, 3)


def test_a_server_that_is_not_there_shows_at_once() -> None:
    with pytest.raises(ConnectionRefusedError):
        colonnade.sync.create_pool("postgresql://x@127.0.0.1:1/x", min_size=3, max_size=3)


def test_a_proxy_is_a_connection(dsn: str) -> None:
    with colonnade.sync.create_pool(
        dsn, min_size=1, max_size=1, connection_class=_MyConnection
    ) as pool:
        with pool.acquire() as connection:
            classes = (colonnade.sync.Connection, _MyConnection, PoolConnectionProxy)
            assert [isinstance(connection, one) for one in classes] == [True, True, True]
            assert type(connection) is PoolConnectionProxy
            assert connection.greet() == "hello"
            assert repr(connection).startswith("<PoolConnectionProxy <_MyConnection ")
        assert "[released]" in repr(connection)
        with pytest.raises(AttributeError, match="released back to the pool"):
            connection.greet()


def test_what_was_given_back_is_stale(dsn: str) -> None:
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=1) as pool:
        connection = pool.acquire()
        pool.release(connection)
        pool.release(connection)
        public = {name for name in dir(colonnade.sync.Connection) if not name.startswith("_")}
        names = {name for name in public if callable(getattr(colonnade.sync.Connection, name))}
        for name in public - names:
            with pytest.raises(AttributeError, match="released back to the pool"):
                getattr(connection, name)
        for name in names:
            with pytest.raises(
                InterfaceError,
                match=rf"cannot call Connection\.{name}\(\): "
                "connection has been released back to the pool",
            ):
                getattr(connection, name)()


def test_release_takes_what_is_its_own(dsn: str, connection: colonnade.sync.Connection) -> None:
    with (
        colonnade.sync.create_pool(dsn, min_size=1, max_size=1) as one,
        colonnade.sync.create_pool(dsn, min_size=1, max_size=1) as other,
        one.acquire() as acquired,
    ):
        strangers: list[Any] = [acquired, connection, None, 3]
        for stranger in strangers:
            with pytest.raises(
                InterfaceError,
                match=r"Pool\.release\(\) received invalid connection: .* is not a member",
            ):
                other.release(stranger)
        assert acquired.fetchval("SELECT 1") == 1


def test_a_user_may_close_a_connection(dsn: str) -> None:
    with colonnade.sync.create_pool(dsn, min_size=0, max_size=1) as pool:
        with pool.acquire() as connection:
            connection.close()
            with pytest.raises(InterfaceError, match="released back to the pool"):
                _ = connection.fetch("SELECT 1")
            assert pool.get_size() == 0
        with pool.acquire() as connection:
            connection.terminate()
            assert pool.get_size() == 0
        assert pool.fetchval("SELECT 1") == 1
        assert pool.get_stats().closed == {"user": 2}


def test_every_query_method_of_a_connection_is_one_of_the_pool(dsn: str) -> None:
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=1) as pool:
        pool.execute("DROP TABLE IF EXISTS numbers")
        assert pool.execute("CREATE TABLE numbers (n int)") == "CREATE TABLE"
        assert pool.execute("INSERT INTO numbers VALUES ($1), ($2)", 1, 2) == "INSERT 0 2"
        assert pool.fetch("SELECT n FROM numbers ORDER BY n") == [(1,), (2,)]
        assert pool.fetchrow("SELECT n FROM numbers WHERE n = $1", 2) == (2,)
        assert pool.fetchval("SELECT 1, 5", column=1) == 5
        pool.executemany("INSERT INTO numbers VALUES ($1)", [(3,), (4,)])
        assert pool.fetchmany("DELETE FROM numbers WHERE n = $1 RETURNING n", [(3,), (4,)])
        columns = pool.fetch_columns("SELECT n FROM numbers ORDER BY n")
        assert columns["n"].tolist() == [1, 2]
        assert pool.execute("DROP TABLE numbers") == "DROP TABLE"
        assert pool.get_idle_size() == 1
        with pytest.raises(errors.UndefinedTableError):
            pool.fetch("SELECT * FROM no_such_table")
        assert pool.get_idle_size() == 1


def test_the_copy_methods_are_there_too(dsn: str) -> None:
    table = "pool_copies"
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=1) as pool:
        pool.execute(f"DROP TABLE IF EXISTS {table}; CREATE TABLE {table} (n int)")
        source = pool.fetch_columns("SELECT generate_series(1, 3) AS n")
        pool.copy_columns_to_table(table, source)
        assert pool.copy_to_table(table, source=io.BytesIO(b"4\n")) == "COPY 1"
        sink = io.BytesIO()
        assert pool.copy_from_table(table, output=sink) == "COPY 4"
        assert sink.getvalue() == b"1\n2\n3\n4\n"
        columns = pool.fetch_columns(f"SELECT n FROM {table} WHERE n > 2")
        assert columns["n"].tolist() == [3, 4]
        pool.execute(f"DROP TABLE {table}")


def test_a_stream_of_the_pool_holds_its_connection(dsn: str) -> None:
    query = "SELECT generate_series(1, 10) AS n"
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=1) as pool:
        seen = [batch["n"].tolist() for batch in pool.iter_columns(query, batch_rows=5)]
        assert seen == [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]]
        assert pool.get_idle_size() == 1
        with pool.iter_columns(query, batch_rows=2) as stream:
            assert (next(stream))["n"].tolist() == [1, 2]
            assert pool.get_idle_size() == 0
        assert pool.fetchval("SELECT 1") == 1
        for _ in pool.iter_columns("SELECT generate_series(1, 1000000)", batch_rows=2):
            break
        assert pool.fetchval("SELECT 2") == 2
        with pytest.raises(ValueError, match="batch_rows"):
            next(pool.iter_columns(query, batch_rows=0))
        assert pool.get_idle_size() == 1


def test_a_stream_of_the_pool_that_has_ended(dsn: str) -> None:
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=1) as pool:
        stream = pool.iter_columns("SELECT 1 AS n")
        assert [batch["n"].tolist() for batch in stream] == [[1]]
        # Another task now has the connection.
        with pool.acquire() as connection:
            with pytest.raises(StopIteration):
                next(stream)
            stream.close()
            assert connection.fetchval("SELECT 2") == 2


def test_a_lent_connection_is_a_block_of_its_own(dsn: str) -> None:
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=1) as pool:
        connection = pool.acquire()
        with connection as same:
            assert same is connection
            same.execute("SET application_name = 'changed'")
            assert pool.get_idle_size() == 0
        assert pool.get_idle_size() == 1
        with pytest.raises(InterfaceError, match="released"):
            connection.fetchval("SELECT 1")
        with pytest.raises(InterfaceError, match="released"):
            with connection:
                pass
        assert pool.fetchval("SHOW application_name") != "changed"


def test_a_setup_that_gives_its_connection_back(dsn: str) -> None:
    def setup(connection: Any) -> None:
        pool.release(connection)

    with colonnade.sync.create_pool(dsn, min_size=1, max_size=1, setup=setup) as pool:
        with pytest.raises(InterfaceError, match="setup callback has given its connection back"):
            pool.fetchval("SELECT 1")
        assert pool.get_idle_size() == 1


def test_the_last_one_back_is_the_next_one_out(dsn: str) -> None:
    with colonnade.sync.create_pool(dsn, min_size=3, max_size=3) as pool:
        connections = [pool.acquire() for _ in range(3)]
        pids = [connection.get_server_pid() for connection in connections]
        for connection in connections:
            pool.release(connection)
        for _ in range(3):
            with pool.acquire() as connection:
                assert connection.get_server_pid() == pids[-1]


def test_connections_are_replaced_after_so_many_queries(dsn: str) -> None:
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=1, max_queries=3) as pool:
        pids = {pool.fetchval("SELECT pg_backend_pid()") for _ in range(6)}
        assert len(pids) == 3
        assert pool.get_stats().closed == {"max_queries": 3}


def test_old_connections_are_replaced(dsn: str) -> None:
    query = "SELECT pg_backend_pid() FROM pg_sleep(0.002)"
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=1, max_lifetime=0.002) as pool:
        assert len({pool.fetchval(query) for _ in range(3)}) == 3
        assert pool.get_stats().closed["max_lifetime"] == 3


def test_a_connection_grows_old_while_it_is_idle(dsn: str) -> None:
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=1, max_lifetime=0.02) as pool:
        pid = pool.fetchval("SELECT pg_backend_pid()")
        time.sleep(0.03)  # noqa: ASYNC251 - the loop is blocked, and its timers are late
        assert pool.fetchval("SELECT pg_backend_pid()") != pid


def test_expired_connections_are_replaced(dsn: str) -> None:
    with colonnade.sync.create_pool(dsn, min_size=2, max_size=2) as pool:
        busy = pool.acquire()
        old = {busy.get_server_pid(), pool.fetchval("SELECT pg_backend_pid()")}
        pool.expire_connections()
        pool.release(busy)
        with pool.acquire() as one, pool.acquire() as other:
            assert not old & {one.get_server_pid(), other.get_server_pid()}
        assert pool.get_stats().closed == {"expired": 2}


def test_the_next_connection_uses_the_new_arguments(dsn: str) -> None:
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=1) as pool:
        pool.set_connect_args(dsn, server_settings={"application_name": "second"})
        pool.expire_connections()
        assert pool.fetchval("SHOW application_name") == "second"


def test_types_are_learned_once_for_all(proxy: Proxy) -> None:
    plain = f"{proxy.dsn}?sslmode=disable"
    with colonnade.sync.create_pool(plain, min_size=2, max_size=2) as pool:
        pool.execute("DROP TYPE IF EXISTS pool_mood; CREATE TYPE pool_mood AS ENUM ('fine')")
        with pool.acquire() as one, pool.acquire() as other:
            assert one.fetchval("SELECT 'fine'::pool_mood") == "fine"
            assert other.fetchval("SELECT 'fine'::pool_mood") == "fine"
        pool.execute("DROP TYPE pool_mood")
        prepared = sorted(relayed.tags.count("P") for relayed in proxy.connections)
    # The first query also read the catalogs.
    assert prepared == [1, 2]
