# async-only: file
"""A primary and its streaming replica: choice of the server, failover, refused writes."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade import embedded, errors
from tests.support.servers import shut_down, start_again, start_replica
from tests.support.until import until

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.every_loop

_SECONDS_MAX = 60.0
_NOT_NOW = (errors.CannotConnectNowError, OSError)


@pytest.fixture(scope="module")
def primary() -> Iterator[embedded.Server]:
    """A server that allows replication."""
    with embedded.start(tcp=True) as server:
        yield server


@pytest.fixture(scope="module")
def replica(primary: embedded.Server) -> Iterator[embedded.Server]:
    """A replica of the primary that soon cancels queries in conflict with recovery."""
    settings = {"max_standby_streaming_delay": "50ms", "hot_standby_feedback": "off"}
    with start_replica(primary, settings=settings) as server:
        yield server


def both(*servers: embedded.Server, kind: str, more: str = "") -> str:
    """The DSN of several servers."""
    hosts = ",".join(f"127.0.0.1:{server.port}" for server in servers)
    options = f"sslmode=disable&target_session_attrs={kind}{more}"
    return f"postgresql://postgres@{hosts}/postgres?{options}"


async def in_recovery(connection: Any) -> bool:
    """Whether the connection's server is a replica."""
    found: bool = await connection.fetchval("SELECT pg_is_in_recovery()")
    return found


async def replayed(primary: colonnade.Connection, replica: colonnade.Connection) -> None:
    """Wait until the replica has replayed everything that the primary has written."""
    position = await primary.fetchval("SELECT pg_current_wal_insert_lsn()::text")
    async with asyncio.timeout(_SECONDS_MAX):
        has_all = "SELECT pg_last_wal_replay_lsn() >= $1::text::pg_lsn"
        while not await replica.fetchval(has_all, position):  # noqa: ASYNC110 - of a server
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("kind", "follows"),
    [
        ("any", True),
        ("read-write", False),
        ("read-only", True),
        ("primary", False),
        ("standby", True),
        ("prefer-standby", True),
    ],
)
async def test_the_kind_that_is_asked_for(
    primary: embedded.Server, replica: embedded.Server, kind: str, follows: bool
) -> None:
    async with await colonnade.connect(both(replica, primary, kind=kind)) as connection:
        assert await in_recovery(connection) is follows
    hosts = both(replica, primary, kind=kind, more="&load_balance_hosts=random")
    async with colonnade.create_pool(hosts, min_size=4, max_size=4) as pool:
        async with asyncio.timeout(_SECONDS_MAX):
            seen = Counter(await asyncio.gather(*(in_recovery(pool) for _ in range(8))))
    assert kind == "any" or set(seen) == {follows}


async def test_a_replica_reads_what_was_written_and_writes_nothing(
    primary: embedded.Server, replica: embedded.Server
) -> None:
    async with (
        await colonnade.connect(primary.dsn) as writer,
        await colonnade.connect(replica.dsn) as reader,
    ):
        await writer.execute(
            "CREATE TYPE tint AS ENUM ('red'); CREATE TABLE paints (n int, t tint)"
        )
        try:
            await writer.copy_columns_to_table("paints", {"n": [1, 2], "t": ["red", None]})
            await replayed(writer, reader)
            columns = await reader.fetch_columns("SELECT * FROM paints ORDER BY n")
            assert columns.to_pydict() == {"n": [1, 2], "t": ["red", None]}
            batches = [part async for part in reader.iter_columns("SELECT * FROM paints")]
            assert sum(map(len, batches)) == 2
            for call in (
                reader.execute("INSERT INTO paints VALUES (3, 'red')"),
                reader.copy_columns_to_table("paints", {"n": [3], "t": ["red"]}),
                reader.fetch("SELECT * FROM paints FOR UPDATE"),
                reader.execute("CREATE TEMP TABLE own (n int)"),
            ):
                with pytest.raises(errors.ReadOnlySQLTransactionError):
                    await call
                assert await reader.fetchval("SELECT 1") == 1
            with pytest.raises(errors.FeatureNotSupportedError):
                async with reader.transaction(isolation="serializable"):
                    await reader.fetch("SELECT * FROM paints")
            assert await reader.fetchval("SELECT 1") == 1
        finally:
            await writer.execute("DROP TABLE paints; DROP TYPE tint")


async def test_a_query_in_the_way_of_the_recovery(
    primary: embedded.Server, replica: embedded.Server
) -> None:
    """The query is cancelled with an error that permits a retry; the connection stays usable."""
    async with (
        await colonnade.connect(primary.dsn) as writer,
        await colonnade.connect(replica.dsn) as reader,
    ):
        await writer.execute("CREATE TABLE cleared AS SELECT generate_series(1, 1000) AS n")
        try:
            await replayed(writer, reader)
            slow = "SELECT n, pg_sleep(0.1) FROM cleared"
            async with asyncio.timeout(_SECONDS_MAX):
                task = asyncio.ensure_future(reader.fetch_columns(slow))
                await until_active(reader, replica)
                await writer.execute("TRUNCATE cleared")
                with pytest.raises(errors.SerializationError, match="conflict with recovery"):
                    await task
            assert await reader.fetchval("SELECT 1") == 1
            await replayed(writer, reader)
            # An idle session that holds a snapshot is terminated.
            await reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            await reader.fetch("SELECT * FROM cleared")
            await writer.execute("INSERT INTO cleared VALUES (1); TRUNCATE cleared")
            await until(reader.is_closed)
            with pytest.raises(colonnade.InterfaceError, match="is closed") as caught:
                await reader.fetch("SELECT 1")
            assert isinstance(caught.value.__cause__, errors.SerializationError)
        finally:
            await writer.execute("DROP TABLE cleared")


async def until_active(reader: colonnade.Connection, server: embedded.Server) -> None:
    """Wait until a connection runs its query."""
    sql = "SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND state = 'active'"
    async with await colonnade.connect(server.dsn) as other:
        pid = reader.get_server_pid()
        while not await other.fetchval(sql, pid):  # noqa: ASYNC110 - of a server
            await asyncio.sleep(0.01)


async def test_a_promotion_under_a_pool(primary: embedded.Server) -> None:
    """Sessions continue when their server is promoted; only new connections check its role."""
    with start_replica(primary) as replica:
        await promote_under_a_pool(replica)


async def promote_under_a_pool(replica: embedded.Server) -> None:
    async with asyncio.timeout(_SECONDS_MAX):
        pool = await colonnade.create_pool(both(replica, kind="standby"), min_size=1, max_size=2)
        async with pool, await colonnade.connect(replica.dsn) as other:
            assert await in_recovery(pool)
            with pytest.raises(errors.ReadOnlySQLTransactionError):
                await pool.execute("CREATE TABLE late (n int)")
            assert await other.fetchval("SELECT pg_promote()")
            assert not await in_recovery(pool)
            await pool.execute("CREATE TABLE late (n int)")
            await pool.expire_connections()
            with pytest.raises(errors.TargetServerAttributeNotMatched, match="standby"):
                await pool.fetchval("SELECT 1")


async def test_a_pool_follows_the_primary() -> None:
    """The primary stops, its replica is promoted, and the pool's new connections go there."""
    with embedded.start(tcp=True) as first, start_replica(first) as second:
        hosts = both(first, second, kind="read-write")
        async with (
            asyncio.timeout(_SECONDS_MAX),
            colonnade.create_pool(hosts, min_size=2, max_size=4) as pool,
            await colonnade.connect(second.dsn) as witness,
        ):
            await pool.execute("CREATE TABLE kept AS SELECT 1 AS n")
            async with await colonnade.connect(first.dsn) as writer:
                await replayed(writer, witness)
            shut_down(first, "immediate")
            await pool_is_refused(pool)
            assert await witness.fetchval("SELECT pg_promote()")
            while True:
                try:
                    await pool.execute("INSERT INTO kept VALUES (2)")
                    break
                except (*_NOT_NOW, errors.TargetServerAttributeNotMatched):
                    await asyncio.sleep(0.02)
            assert await pool.fetch("SELECT n FROM kept ORDER BY n") == [(1,), (2,)]
            assert await pool.fetchval("SELECT inet_server_port()") == second.port
        start_again(first)


async def pool_is_refused(pool: colonnade.Pool) -> None:
    """Wait until no host of a pool has the requested role."""
    while True:
        try:
            await pool.fetchval("SELECT 1")
        except ConnectionRefusedError:
            # The first host is gone and the second has the wrong role: the error has the first
            # reason.
            return
        except (*_NOT_NOW, errors.PostgresConnectionError, colonnade.InterfaceError):
            pass
        await asyncio.sleep(0.02)
