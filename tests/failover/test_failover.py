# async-only: file
"""A pool works while its primary is killed and a standby, which has every commit, is promoted."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade import embedded, errors
from tests.support.servers import start_replica

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.every_loop

_SECONDS_MAX = 120.0
_WRITERS = 8
#: The errors that a caller may get between the end of one primary and the start of the next.
AWAY = (
    errors.PostgresConnectionError,
    errors.AdminShutdownError,
    errors.CrashShutdownError,
    errors.CannotConnectNowError,
    errors.TargetServerAttributeNotMatched,
    errors.ReadOnlySQLTransactionError,
    OSError,
)


@pytest.fixture
def pair() -> Iterator[tuple[embedded.Server, embedded.Server]]:
    """A primary, and a standby without which nothing is committed."""
    durable = {"synchronous_commit": "on"}
    with (
        embedded.start(tcp=True, settings=durable) as primary,
        start_replica(primary, settings=durable) as standby,
    ):
        yield primary, standby


def hosts(*servers: embedded.Server, kind: str) -> str:
    listed = ",".join(f"127.0.0.1:{server.port}" for server in servers)
    options = f"sslmode=disable&target_session_attrs={kind}"
    return f"postgresql://postgres@{listed}/postgres?{options}"


async def make_synchronous(connection: colonnade.Connection) -> None:
    """Let each COMMIT wait for the standby."""
    await connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
    await connection.execute("SELECT pg_reload_conf()")
    state = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
    while not await connection.fetchval(state):  # noqa: ASYNC110 - of a server
        await asyncio.sleep(0.01)


class Load:
    """Tasks that write numbers, each once, and ask for values, and note what they get."""

    def __init__(self, pool: colonnade.Pool) -> None:
        self._pool = pool
        self.written: dict[int, float] = {}
        self.in_doubt: set[int] = set()
        self.failures: list[BaseException] = []
        self.is_over = False

    async def write(self, first: int) -> None:
        """Write one number after the other."""
        number = first
        while not self.is_over:
            number += _WRITERS
            try:
                async with self._pool.acquire(timeout=20) as connection, connection.transaction():
                    sql = "INSERT INTO kept VALUES ($1) RETURNING n"
                    kept, asked = await connection.fetchval(sql, number), -number
                    columns = await connection.fetch_columns("SELECT $1::int AS n", asked)
                assert (kept, columns["n"].tolist()) == (number, [asked]), "another query's answer"
            except (*AWAY, errors.InterfaceError) as error:
                self.failures.append(error)
                self.in_doubt.add(number)
                await asyncio.sleep(0.01)
            else:
                self.written[number] = time.perf_counter()

    async def wait_for_more(self, count: int) -> None:
        """Wait until this many more numbers have been written."""
        enough = len(self.written) + count
        while len(self.written) < enough:  # noqa: ASYNC110 - of many tasks
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGQUIT, signal.SIGINT])
async def test_a_killed_primary_and_a_promoted_standby(
    pair: tuple[embedded.Server, embedded.Server], ending: signal.Signals
) -> None:
    primary, standby = pair
    async with (
        asyncio.timeout(_SECONDS_MAX),
        await colonnade.connect(standby.dsn) as witness,
        colonnade.create_pool(
            hosts(primary, standby, kind="read-write"), min_size=2, max_size=4
        ) as pool,
    ):
        await pool.execute("CREATE TABLE kept (n int PRIMARY KEY)")
        async with await colonnade.connect(primary.dsn) as connection:
            await make_synchronous(connection)
        load = Load(pool)
        async with asyncio.TaskGroup() as tasks:
            for number in range(_WRITERS):
                tasks.create_task(load.write(number))
            await load.wait_for_more(100)
            killed = time.perf_counter()
            os.kill(primary.pid, ending)
            while not load.failures:  # noqa: ASYNC110 - of many tasks
                await asyncio.sleep(0.002)
            seen = time.perf_counter()
            # The standby may be promoted before it has lost its primary, as in a hasty failover.
            assert await witness.fetchval("SELECT pg_promote()")
            promoted = time.perf_counter()
            await load.wait_for_more(100)
            load.is_over = True
        found = {n for (n,) in await witness.fetch("SELECT n FROM kept")}
        assert set(load.written) <= found <= set(load.written) | load.in_doubt
        assert await pool.fetchval("SELECT inet_server_port()") == standby.port
        for failure in load.failures:
            assert isinstance(failure, AWAY) or "connection is closed" in str(failure)
    first = min(moment for moment in load.written.values() if moment > promoted)
    kinds = Counter(type(failure).__name__ for failure in load.failures)
    print(  # noqa: T201 - the figures of the documentation
        f"{ending.name}: first error after {seen - killed:.3f} s, promotion took "
        f"{promoted - seen:.3f} s, first commit {first - promoted:.3f} s after it; {dict(kinds)}"
    )


async def test_readers_prefer_the_standby_and_outlive_either(
    pair: tuple[embedded.Server, embedded.Server],
) -> None:
    """Without its standby the pool reads from the primary; no read has a wrong answer."""
    primary, standby = pair
    dsn = hosts(primary, standby, kind="prefer-standby")
    is_replica = "SELECT pg_is_in_recovery()"
    async with (
        asyncio.timeout(_SECONDS_MAX),
        colonnade.create_pool(dsn, min_size=1, max_size=3) as pool,
    ):
        assert await pool.fetchval(is_replica)
        os.kill(standby.pid, signal.SIGKILL)
        failures = []
        while True:
            try:
                if not await pool.fetchval(is_replica):
                    break
            except (*AWAY, errors.InterfaceError) as error:
                failures.append(error)
                await asyncio.sleep(0.01)
        assert all(isinstance(error, AWAY) or "is closed" in str(error) for error in failures)


async def test_a_pool_of_standbys_only(pair: tuple[embedded.Server, embedded.Server]) -> None:
    """After the promotion of its only standby, new connections are refused with the reason."""
    primary, standby = pair
    async with (
        asyncio.timeout(_SECONDS_MAX),
        colonnade.create_pool(hosts(primary, standby, kind="standby"), min_size=1) as pool,
        await colonnade.connect(standby.dsn) as witness,
    ):
        assert await pool.fetchval("SELECT pg_is_in_recovery()")
        assert await witness.fetchval("SELECT pg_promote()")
        # A session stays where it is; the pool looks again when it is told to.
        assert not await pool.fetchval("SELECT pg_is_in_recovery()")
        await pool.expire_connections()
        with pytest.raises(errors.TargetServerAttributeNotMatched, match="standby"):
            await pool.fetchval("SELECT 1")
