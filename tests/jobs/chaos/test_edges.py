"""Arguments without a meaning, tables that vanish or change, full disks, strangers, forks."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import colonnade
from colonnade import jobs
from tests.jobs.chaos.plan import LAYOUTS
from tests.support.until import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.thorough


@pytest.fixture
async def pool(dsn: str) -> AsyncIterator[colonnade.Pool]:
    async with colonnade.create_pool(dsn, min_size=1, max_size=4) as pool:
        yield pool
        await pool.execute('DROP SCHEMA IF EXISTS "jobs" CASCADE')


@pytest.fixture(params=LAYOUTS)
async def queue(pool: colonnade.Pool, request: pytest.FixtureRequest) -> jobs.Queue:
    return await jobs.create_queue(pool, "work", {"a": "int8"}, layout=request.param)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("delay", -1.0),
        ("delay", math.nan),
        ("delay", math.inf),
        ("delay", 1e10),
        ("ttl", 0.0),
        ("ttl", -1.0),
        ("ttl", math.nan),
    ],
)
async def test_values_of_arrays_are_refused_like_single_ones(
    queue: jobs.Queue, option: str, value: float
) -> None:
    def given(seconds: Any) -> dict[str, Any]:
        return {option: seconds}

    with pytest.raises(ValueError, match=f"{option} must be"):
        await queue.add({"a": [1]}, **given(value))
    with pytest.raises(colonnade.CheckViolationError, match=f"{option} must be") as caught:
        await queue.add({"a": [1, 2]}, **given([1.0, value]))
    assert "line 2" in str(caught.value.context)
    assert await queue.length() == 0
    assert await queue.add({"a": [1, 2]}, **given([None, 1.0])) == 2


@pytest.mark.parametrize("value", [math.nan, math.inf, -1, 10**30])
async def test_a_consumer_refuses_times_without_an_end(queue: jobs.Queue, value: float) -> None:
    async def handler(_batch: jobs.Batch) -> None:
        raise AssertionError

    for option in ("stop_within", "lease"):
        options: dict[str, Any] = {option: value}
        with pytest.raises(ValueError, match=f"{option} must be"):
            queue.consume(handler, **options)


async def test_a_consumer_goes_on_when_its_rights_come_back(
    pool: colonnade.Pool, queue: jobs.Queue, dsn: str
) -> None:
    await pool.execute("DROP ROLE IF EXISTS chaos_worker; CREATE ROLE chaos_worker LOGIN")
    await jobs.grant_queue(pool, "work", "chaos_worker")
    done: list[int] = []

    async def handler(batch: jobs.Batch) -> None:
        done.extend(batch.columns["a"].tolist())

    role = {"role": "chaos_worker"}
    async with colonnade.create_pool(dsn, min_size=1, max_size=4, server_settings=role) as workers:
        theirs = await jobs.open_queue(workers, "work", poll=0.1)
        consumer = theirs.consume(handler, lease=0.5)
        running = asyncio.create_task(consumer.run())
        await queue.add({"a": [1]})
        await until(lambda: done == [1])
        await pool.execute("REVOKE ALL ON ALL TABLES IN SCHEMA jobs FROM chaos_worker")
        await queue.add({"a": [2]})
        with pytest.raises(colonnade.InsufficientPrivilegeError):
            await theirs.get(timeout=0)
        await jobs.grant_queue(pool, "work", "chaos_worker")
        await until(lambda: done[-1] == 2)
        consumer.stop()
        consumer.stop()
        await running
    await pool.execute("DROP SCHEMA jobs CASCADE; DROP OWNED BY chaos_worker")
    await pool.execute("DROP ROLE chaos_worker")


async def test_a_consumer_of_a_dropped_queue_can_be_stopped(
    pool: colonnade.Pool, queue: jobs.Queue
) -> None:
    begun = asyncio.Event()

    async def handler(_batch: jobs.Batch) -> None:
        begun.set()

    await queue.add({"a": np.arange(100)})
    consumer = queue.consume(handler, limit=1)
    running = asyncio.create_task(consumer.run())
    await begun.wait()
    await jobs.drop_queue(pool, "work")
    with pytest.raises(colonnade.UndefinedTableError):
        await queue.get(timeout=0)
    consumer.stop()
    async with asyncio.timeout(20):
        await running


async def test_a_drop_that_ends_a_deadlock_is_tried_again(
    pool: colonnade.Pool, queue: jobs.Queue, dsn: str
) -> None:
    await queue.add({"a": [1]})
    names = await pool.fetchval(
        "SELECT array_agg(oid::regclass::text ORDER BY oid) FROM pg_class"
        " WHERE relnamespace = 'jobs'::regnamespace AND relname LIKE 'work%'"
        " AND relkind IN ('r', 'p')"
    )
    locks = "SELECT granted FROM pg_locks WHERE mode = 'AccessExclusiveLock'"
    # The server asks the drop to end it: the other one looks for deadlocks much later.
    settings = {"deadlock_timeout": "60s"}
    async with await colonnade.connect(dsn, server_settings=settings) as other:
        async with other.transaction():
            await other.execute(f"SELECT FROM {names[-1]}")
            dropping = asyncio.create_task(jobs.drop_queue(pool, "work"))
            while not dropping.done() and (False,) not in await other.fetch(locks):
                pass
            await other.execute(f"SELECT FROM {names[0]}")
        await dropping
    with pytest.raises(jobs.QueueDefinitionError):
        await jobs.open_queue(pool, "work")


async def test_a_cancelled_consumer_gives_back_what_it_holds(queue: jobs.Queue) -> None:
    begun = asyncio.Event()

    async def handler(_batch: jobs.Batch) -> None:
        begun.set()
        await asyncio.Event().wait()

    await queue.add({"a": np.arange(50)})
    running = asyncio.create_task(queue.consume(handler, limit=10, lease=600).run())
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (await queue.stats()).ready == 50


async def test_a_statement_timeout_amid_a_get_leases_nothing(queue: jobs.Queue, dsn: str) -> None:
    async def left_alone(connection: object) -> None:
        """On a busy machine, the usual reset would not end within the timeout either."""

    await queue.add({"a": np.arange(20_000)})
    settings = {"statement_timeout": "4ms"}
    cancelled = 0
    async with colonnade.create_pool(
        dsn, min_size=1, max_size=2, server_settings=settings, reset=left_alone
    ) as hasty:
        # `open_queue` asks the server, too.
        theirs = jobs.Queue(hasty, queue.definition)
        got = 0
        for _ in range(20):
            try:
                got += len(await theirs.get(20_000, lease=600, timeout=0))
            except colonnade.QueryCanceledError:
                cancelled += 1
    assert cancelled
    stats = await queue.stats()
    assert (stats.leased, stats.ready) == (got, 20_000 - got)


async def test_objects_of_strangers_are_not_used(pool: colonnade.Pool, dsn: str) -> None:
    """A role that may create objects in public cannot change what the verbs do."""
    await pool.execute("CREATE SCHEMA IF NOT EXISTS strangers")
    for name in ("now()", "statement_timestamp()"):
        await pool.execute(
            f"CREATE FUNCTION strangers.{name} RETURNS timestamptz LANGUAGE sql"
            " AS $$ SELECT 'infinity'::timestamptz $$"
        )
    await pool.execute(
        "CREATE FUNCTION strangers.same(bigint, bigint) RETURNS boolean LANGUAGE sql"
        " AS $$ SELECT true $$; CREATE OPERATOR strangers.= (LEFTARG = bigint,"
        " RIGHTARG = bigint, FUNCTION = strangers.same); CREATE TABLE strangers.work (a int8)"
    )
    settings = {"search_path": "strangers, pg_temp, pg_catalog"}
    try:
        async with colonnade.create_pool(
            dsn, min_size=1, max_size=4, server_settings=settings
        ) as theirs:
            for layout in LAYOUTS:
                queue = await jobs.create_queue(theirs, layout, {"a": "int8"}, layout=layout)
                await queue.add({"a": np.arange(6)})
                await queue.add({"a": [6, 7]}, priority=[1, 2], delay=[0.0, 0.0])
                batch = await queue.get(4, timeout=5)
                await batch.ack(batch.ids[:1])
                await batch.nack(batch.ids[1:2], delay=0.0)
                await batch.release(batch.ids[2:3])
                await batch.ack()
                rest = await queue.get(timeout=5)
                assert sorted(rest.columns["a"].tolist()) == [1, 2, 4, 5, 6, 7]
                await rest.ack()
                assert (await queue.stats()).total == 0
    finally:
        await pool.execute("DROP SCHEMA strangers CASCADE")
