"""Queues of jobs: reports of users of other queues, on any server."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from functools import partial
from operator import contains
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import colonnade
from colonnade import dbapi, jobs
from tests.support.restarts import RestartableServer
from tests.support.until import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from colonnade.jobs.definition import LayoutName

SCHEMA = "jobs_reported"
PAYLOAD = {"a": "int8", "b": "text"}
# Longer than any test: code that waits for the clock would be found.
LONG_POLL_S = 60.0


@pytest.fixture
async def pool(dsn: str) -> AsyncIterator[colonnade.Pool]:
    async with colonnade.create_pool(dsn, min_size=1, max_size=4) as pool:
        yield pool
        await pool.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")


@pytest.fixture(params=["rows", "segments"])
def layout(request: pytest.FixtureRequest) -> LayoutName:
    name: LayoutName = request.param
    return name


async def made(pool: colonnade.Pool, layout: LayoutName = "rows", **options: Any) -> jobs.Queue:
    options.setdefault("retry", jobs.Retry(max_attempts=3, delay=0))
    return await jobs.create_queue(pool, "work", PAYLOAD, schema=SCHEMA, layout=layout, **options)


@pytest.fixture
async def queue(pool: colonnade.Pool, layout: LayoutName) -> jobs.Queue:
    return await made(pool, layout)


async def numbers(queue: jobs.Queue) -> list[int]:
    """The jobs that are in the queue, in order."""
    return (await queue.peek(1000)).to_pydict()["a"]


async def let_leases_end(queue: jobs.Queue) -> None:
    """Make all leases end now, without waiting."""
    table = "work" if queue.definition.layout == "rows" else "work_r"
    await queue.pool.execute(
        f"UPDATE {SCHEMA}.{table} SET job_ready_at = now() - interval '1s'"
        " WHERE job_token IS NOT NULL"
    )
    queue._next_sweep = 0.0


# Workers that end, and leases


async def test_a_worker_comes_back_under_its_old_name(queue: jobs.Queue, dsn: str) -> None:
    """procrastinate#1518, oban#862: orphans of a name that is alive again were never rescued."""
    await queue.add({"a": [1]})
    for attempt in (1, 2):
        async with colonnade.create_pool(
            dsn, min_size=1, max_size=2, server_settings={"application_name": "worker-0"}
        ) as named:
            again = await jobs.open_queue(named, "work", schema=SCHEMA)
            batch = await again.get(timeout=0)
            assert batch.attempts.tolist() == [attempt]
        await let_leases_end(queue)


async def test_a_late_worker_changes_nothing_of_a_newer_attempt(queue: jobs.Queue) -> None:
    """oban#1496: an older execution overwrote the state that a newer one had written."""
    await queue.add({"a": [1, 2]})
    late = await queue.get()
    await let_leases_end(queue)
    newer = await queue.get()
    await newer.ack(newer.ids[:1])
    for verb in (late.nack, late.release, late.extend, late.ack):
        arguments = (5.0,) if verb == late.extend else ()
        late._settled.clear()
        with pytest.raises(jobs.LeaseLostError):
            await verb(*arguments)
    assert (await queue.stats()).leased == 1
    assert newer.held.tolist() == newer.ids[1:].tolist()
    await newer.ack()


async def test_a_job_that_is_killed_each_time_is_a_dead_letter(queue: jobs.Queue) -> None:
    """dramatiq#213: kills did not count as attempts, so the job came back for ever."""
    await queue.add({"a": [1]})
    for _ in range(3):
        assert len(await queue.get(timeout=0)) == 1
        await let_leases_end(queue)
    assert not await queue.get(timeout=0)
    assert (await queue.dead())["job_reason"].tolist() == ["the lease ended"]


async def test_a_lease_that_has_ended_unnoticed_can_be_acknowledged(queue: jobs.Queue) -> None:
    """getmoto/moto#352: a message that was visible again, and not taken, could not be deleted."""
    await queue.add({"a": [1]})
    batch = await queue.get()
    await let_leases_end(queue)
    await batch.ack()
    assert await queue.length() == 0


async def test_a_lease_can_be_extended_shortened_and_then_acknowledged(queue: jobs.Queue) -> None:
    """localstack#12954, pgmq#350: the time counted from the receipt, or was added to the rest."""
    await queue.add({"a": [1]})
    batch = await queue.get(lease=0.05)
    await batch.extend(600)
    await asyncio.sleep(0.06)
    assert not await queue.get(timeout=0)
    await batch.extend(0.001)
    newer = await queue.get(timeout=10)
    assert newer.attempts.tolist() == [2]
    await newer.extend(600)
    await newer.ack()


async def test_a_stop_costs_no_attempt(queue: jobs.Queue) -> None:
    """arq#267, dramatiq#618: jobs that a deployment cancelled had one attempt less."""
    await queue.add({"a": [1]})
    begun = asyncio.Event()

    async def handler(_batch: jobs.Batch) -> None:
        begun.set()
        await asyncio.Event().wait()

    consumer = queue.consume(handler, stop_within=0)
    running = asyncio.create_task(consumer.run())
    await begun.wait()
    consumer.stop()
    with pytest.raises(TimeoutError):
        await running
    assert (await queue.get(timeout=0)).attempts.tolist() == [1]


async def test_an_idle_worker_stops_at_once(pool: colonnade.Pool, queue: jobs.Queue) -> None:
    """terascope/teraslice#53, go-vela/community#581: it stopped after its wait for work."""
    again = await jobs.open_queue(pool, "work", schema=SCHEMA, poll=LONG_POLL_S)

    async def handler(_batch: jobs.Batch) -> None:
        pytest.fail("there is no job")

    consumer = again.consume(handler)
    running = asyncio.create_task(consumer.run())
    await until(lambda: consumer._hub is not None and not consumer._hub.is_behind)
    consumer.stop()
    await asyncio.wait_for(running, 10)
    assert await queue.length() == 0


async def test_a_server_that_restarts_gives_no_job_away(layout: LayoutName) -> None:
    """good_job#90: locks of connections ended with the server, and another worker began the job."""
    with RestartableServer() as server:
        async with colonnade.create_pool(server.dsn, min_size=1, max_size=3) as pool:
            queue = await made(pool, layout)
            await queue.add({"a": [1]})
            batch = await queue.get()
            await asyncio.to_thread(server.restart, "fast")
            for _ in range(2):
                with contextlib.suppress(OSError, colonnade.PostgresError):
                    assert not await queue.get(timeout=0)
            await batch.ack()
            assert await queue.length() == 0


# Times


async def test_a_delay_longer_than_the_lease_runs_once(queue: jobs.Queue) -> None:
    """celery#3270, #2599, celery/kombu#337: it ran once for each visibility timeout."""
    await queue.add({"a": [1]}, delay=0.3)
    seen: list[int] = []

    async def handler(batch: jobs.Batch) -> None:
        seen.extend(batch.attempts.tolist())

    consumers = [queue.consume(handler, lease=0.1) for _ in range(2)]
    running = [asyncio.create_task(consumer.run()) for consumer in consumers]
    await until(lambda: bool(seen))
    for consumer in consumers:
        consumer.stop()
    await asyncio.gather(*running)
    assert seen == [1]


async def test_work_longer_than_the_lease_runs_once(queue: jobs.Queue) -> None:
    """pretix#2058, celery#5306, queue-jobs-worker#11: others began it again and again."""
    await queue.add({"a": [1, 2]})
    seen: list[int] = []

    async def handler(batch: jobs.Batch) -> None:
        seen.extend(batch.columns["a"].tolist())
        await asyncio.sleep(1.0)

    consumers = [queue.consume(handler, lease=0.3, limit=1) for _ in range(2)]
    await asyncio.gather(*(consumer.drain() for consumer in consumers))
    assert sorted(seen) == [1, 2]


async def test_zero_is_a_value(pool: colonnade.Pool, layout: LayoutName) -> None:
    """dramatiq#388, river#1037: a pause of 0 was taken for none, or told as a failure."""
    queue = await made(pool, layout, retry=jobs.Retry(max_attempts=3, delay=3600, jitter=0))
    told: list[tuple[str, int]] = []

    def note(_schema: str, _name: str, event: str, count: int) -> None:
        told.append((event, count))

    await queue.add({"a": [1, 2]}, delay=0, priority=0)
    batch = await queue.get()
    jobs.add_observer(note)
    try:
        await batch.nack(batch.ids[:1], delay=0)
        await batch.release()
    finally:
        jobs.remove_observer(note)
    assert [event for event in told if event[1]] == [("failed", 1), ("released", 1)]
    again = await queue.get(timeout=0)
    assert again.attempts.tolist() == [2, 1]
    assert (await queue.peek())["job_is_leased"].tolist() == [True, True]


async def test_a_time_to_live_counts_from_the_adding(
    pool: colonnade.Pool, layout: LayoutName
) -> None:
    """que#409, pgmq#367: from the begin of the transaction, so that its jobs were expired."""
    queue = await made(pool, layout, ttl=0.4)
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("SELECT pg_sleep(0.5)")
        await queue.add({"a": [1]}, connection=connection)
    assert len(await queue.get(timeout=0)) == 1


async def test_a_dead_letter_begins_anew(pool: colonnade.Pool, layout: LayoutName) -> None:
    """garrytan/gbrain#2783, sidequest#155: a retried job died at once, by its old attempts."""
    queue = await made(pool, layout, ttl=60)
    await queue.add({"a": [1]}, ttl=0.001)
    await queue.add({"a": [2]})
    batch = await queue.get(timeout=0)
    for _ in range(2):
        await batch.nack(delay=0)
        batch = await queue.get(timeout=0)
    await batch.nack()
    await until_dead(queue, 2)
    assert await queue.requeue() == 2
    again = await queue.get(timeout=0)
    assert sorted(again.columns["a"].tolist()) == [1, 2]
    assert again.attempts.tolist() == [1, 1]


async def until_dead(queue: jobs.Queue, count: int) -> None:
    while len(await queue.dead()) < count:
        queue._next_sweep = 0.0
        await queue.sweep()


# Order and visibility


async def test_a_lower_number_that_commits_later_is_not_skipped(
    pool: colonnade.Pool, queue: jobs.Queue
) -> None:
    """NixOS/hydra#496, brandur/sorg#159: a reader at a number never saw later, lower ones."""
    async with pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await queue.add({"a": [1]}, connection=connection)
        await queue.add({"a": [2]})
        first = await queue.get(timeout=0)
        await first.ack()
        await transaction.commit()
    assert first.columns["a"].tolist() == [2]
    assert (await queue.get(timeout=0)).columns["a"].tolist() == [1]


async def test_jobs_of_one_transaction_are_in_order(
    pool: colonnade.Pool, queue: jobs.Queue
) -> None:
    """graphile/worker#457, malthe/pq#49: now() is one moment, and their order was any."""
    async with pool.acquire() as connection, connection.transaction():
        for number in range(20):
            await queue.add({"a": [number]}, connection=connection)
    assert (await queue.get()).columns["a"].tolist() == list(range(20))


async def test_what_comes_back_has_its_priority(queue: jobs.Queue) -> None:
    """pgqueuer#684: jobs of a dead worker came after all fresh ones, however urgent."""
    await queue.add({"a": [1]}, priority=-5)
    await queue.get(timeout=0)
    await queue.add({"a": [2, 3]}, priority=0)
    await let_leases_end(queue)
    assert (await queue.get(1, timeout=0)).columns["a"].tolist() == [1]


async def test_many_jobs_at_once(queue: jobs.Queue) -> None:
    """porsager/postgres#112, node-postgres#2292, elixir_observer#90: 65,535 parameters at most."""
    count = 70_000
    assert await queue.add({"a": np.arange(count)}, priority=np.zeros(count, np.int16)) == count
    batch = await queue.get(count)
    await batch.ack(batch.ids[:-1])
    await batch.nack(reason=["no"])
    assert await queue.length() == 1


# Waking


async def test_a_listener_that_lost_its_connection_hears_again(
    dsn: str, pool: colonnade.Pool, queue: jobs.Queue
) -> None:
    """bullmq#4729, graphile/worker#541, hull#273: from then on it looked by the clock alone."""
    seen: list[int] = []

    async def handler(batch: jobs.Batch) -> None:
        seen.extend(batch.columns["a"].tolist())

    settings = {"application_name": "listens"}
    async with colonnade.create_pool(
        dsn, min_size=1, max_size=2, server_settings=settings
    ) as listening:
        again = await jobs.open_queue(listening, "work", schema=SCHEMA, poll=LONG_POLL_S)
        consumer = again.consume(handler)
        running = asyncio.create_task(consumer.run())
        for number in range(4):
            await until(lambda: consumer._hub is not None and not consumer._hub.is_behind)
            await queue.add({"a": [number]})
            await until(partial(contains, seen, number))
            await pool.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'listens'"
            )
        consumer.stop()
        await asyncio.wait_for(running, 20)
    assert sorted(set(seen)) == [0, 1, 2, 3]


async def test_a_retry_wakes_who_waits_for_it(pool: colonnade.Pool, queue: jobs.Queue) -> None:
    """graphile/worker#433, litestar-queues#69, good_job#1419: it was found at the next poll."""
    await queue.add({"a": [1]})
    batch = await queue.get()
    again = await jobs.open_queue(pool, "work", schema=SCHEMA, poll=LONG_POLL_S)
    waiting = asyncio.create_task(again.get())
    await asyncio.sleep(0.1)
    await batch.nack(delay=0.2)
    assert len(await asyncio.wait_for(waiting, 20)) == 1


@pytest.mark.parametrize(
    "name", ["MyQueue", "image-worker-queue", "app.queue", "veryloong" * 6 + "1234", "名前"]
)
async def test_a_name_is_only_a_name(pool: colonnade.Pool, layout: LayoutName, name: str) -> None:
    """pgmq#593, #114, #33, Npgmq#7, PgQue#122, DotNetWorkQueue#343, #375: letters and lengths."""
    twin = name[:-1] + ("x" if name[-1] != "x" else "y")
    for each in (name, twin):
        queue = await jobs.create_queue(
            pool, each, PAYLOAD, schema=SCHEMA, layout=layout, poll=LONG_POLL_S
        )
        waiting = asyncio.create_task(queue.get(timeout=LONG_POLL_S))
        await asyncio.sleep(0.05)
        await queue.add({"a": [1]})
        await (await asyncio.wait_for(waiting, 20)).nack()
    listed = [info.name for info in await jobs.list_queues(pool, schema=SCHEMA)]
    assert sorted(listed) == sorted([name, twin])
    with pytest.raises(ValueError, match="58 bytes"):
        await jobs.create_queue(pool, "x" * 59, PAYLOAD, schema=SCHEMA, layout=layout)


# Keys


async def test_a_key_whose_job_failed_is_still_in_the_queue(pool: colonnade.Pool) -> None:
    """sidekiq-unique-jobs#890, #394, sidekiq#182, mastodon#4814, pg-boss#535: it came twice."""
    queue = await made(pool, retry=jobs.Retry(delay=3600))
    await queue.add({"a": [1]}, key="a")
    await (await queue.get()).nack(delay=0)
    assert await queue.add({"a": [1, 2]}, key="a") == 1
    batch = await queue.get(10)
    assert batch.columns["a"].tolist() == [1, 2]
    await batch.nack()
    assert await queue.add({"a": [1]}, key="a") == 0


async def test_no_chore_stumbles_over_a_key(pool: colonnade.Pool) -> None:
    """pg-boss#522, #492, Verath#105: expired and failed jobs of one key stopped maintenance."""
    queue = await made(pool, retry=jobs.Retry(max_attempts=1))
    for _ in range(3):
        assert await queue.add({"a": [1]}, key="a") == 1
        await queue.get(timeout=0)
        await let_leases_end(queue)
        await queue.sweep()
    assert await queue.add({"a": [1]}, key="a") == 1
    assert len(await queue.dead()) == 3
    with pytest.raises(colonnade.errors.UniqueViolationError):
        await queue.requeue()
    assert (await queue.length(), len(await queue.dead())) == (1, 3)


async def test_jobs_that_are_purged_while_they_run_stay_away(queue: jobs.Queue) -> None:
    """zorrobyte/asset-studio#4, mkvbatchmultiplex#7: they were found as orphans, and run again."""
    await queue.add({"a": [1]})
    batch = await queue.get()
    assert await queue.purge() == 1
    with pytest.raises(jobs.LeaseLostError):
        await batch.nack(delay=0)
    await let_leases_end(queue)
    assert not await queue.get(timeout=0)
    assert await queue.dead() is not None


# Failures and what they leave


async def test_a_failure_of_a_group_says_which(
    queue: jobs.Queue, caplog: pytest.LogCaptureFixture
) -> None:
    """statgpt-backend#453, mcp python-sdk#2114, celery#28, pyres#66: no cause, and no place."""
    await queue.add({"a": [1]})

    async def handler(_batch: jobs.Batch) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fails())

    async def fails() -> None:
        raise LookupError("no such user")

    with caplog.at_level(logging.WARNING, logger="colonnade.jobs"):
        await queue.consume(handler).drain()
    (reason,) = (await queue.dead())["job_reason"].tolist()
    assert "one is LookupError: no such user" in reason
    assert "in test_a_failure_of_a_group_says_which.<locals>.fails" in reason
    assert any(record.exc_info for record in caplog.records)


@pytest.mark.parametrize("half", [["fine", "\ud800"], np.array(["fine", "\ud800"], object)])
async def test_half_a_surrogate_is_refused_by_place(queue: jobs.Queue, half: Any) -> None:
    """estuary/flow#1885, graph-ts#264: the error did not say where."""
    with pytest.raises(colonnade.EncodeError, match=r'column "b", row 1'):
        await queue.add({"b": half})
    assert await queue.length() == 0


@pytest.mark.parametrize("reason", ["\0", "\ud800", "x" * 5_000_000, "\\u0000\\"])
async def test_any_reason_is_kept(queue: jobs.Queue, reason: str) -> None:
    """estuary/flow#1885: a NUL in an error's text was an error, and the job hung."""
    await queue.add({"a": [1]})
    await (await queue.get()).nack(delay=0, reason=reason)
    (errors,) = (await queue.peek()).to_pydict()["job_errors"]
    assert len(errors[0]) >= len(reason)


async def test_attempts_have_an_end(pool: colonnade.Pool, layout: LayoutName) -> None:
    """laravel#25612, cloud_controller_ng#1104, kue#338: counters left the range of their type."""
    with pytest.raises(ValueError, match="32000"):
        jobs.Retry(max_attempts=40_000)
    queue = await made(pool, layout, retry=jobs.Retry(max_attempts=32_000, delay=0))
    for priority in (-32_767, 32_767):
        await queue.add({"a": [1]}, priority=priority)
    with pytest.raises(ValueError, match="priority"):
        await queue.add({"a": [1]}, priority=32_768)
    table = "work" if layout == "rows" else "work_r"
    await pool.execute(f"UPDATE {SCHEMA}.{table} SET job_attempts = 31999")
    batch = await queue.get(timeout=0)
    assert batch.attempts.tolist() == [32_000] * 2
    await batch.release()
    batch = await queue.get(timeout=0)
    await batch.nack()
    assert (await queue.dead())["job_attempts"].tolist() == [32_000] * 2


# Transactions and other sessions


async def test_an_open_transaction_holds_up_its_job_alone(pool: colonnade.Pool, dsn: str) -> None:
    """graphile/worker#121, #303: the acknowledgement of all jobs waited, and leases ended."""
    queue = await made(pool)
    await queue.add({"a": np.arange(10)}, key="a")
    seen: list[int] = []

    async def handler(batch: jobs.Batch) -> None:
        seen.extend(batch.columns["a"].tolist())

    async with await colonnade.connect(dsn) as other:
        transaction = other.transaction()
        await transaction.start()
        consumer = queue.consume(handler, lease=0.5)
        running = asyncio.create_task(consumer.run())
        await until(lambda: len(seen) == 10)
        await queue.add({"a": [0]}, key="a", on_conflict="replace", connection=other)
        await asyncio.sleep(1.0)
        assert len(seen) <= 11
        await transaction.commit()
        await until(lambda: seen.count(0) == 2)
    consumer.stop()
    await running
    assert sorted(set(seen)) == list(range(10))
    assert len(seen) == 11


async def test_handlers_that_use_the_whole_pool(queue: jobs.Queue) -> None:
    """workhorse#121, #119, ebean-datasource#111: leases were not extended, and jobs ran twice."""
    await queue.add({"a": np.arange(6)})
    seen: list[int] = []

    async def handler(batch: jobs.Batch) -> None:
        async with queue.pool.acquire() as connection:
            seen.extend(batch.columns["a"].tolist())
            await connection.execute("SELECT pg_sleep(0.8)")

    await queue.consume(handler, limit=1, lease=0.4, concurrency=4).drain()
    assert sorted(seen) == list(range(6))


async def test_a_blocked_loop_does_not_take_its_own_jobs(queue: jobs.Queue) -> None:
    """pgqueuer#323, #430, #431: another lane of the process began the job again."""
    import time

    await queue.add({"a": [1, 2]})
    seen: list[int] = []

    async def handler(batch: jobs.Batch) -> None:
        seen.extend(batch.columns["a"].tolist())
        time.sleep(1.0)  # noqa: ASYNC251 - that is the report

    await queue.consume(handler, limit=1, lease=0.6, prefetch=2).drain()
    assert sorted(seen) == [1, 2]


def test_an_outbox_in_another_librarys_transaction(dsn: str) -> None:
    """procrastinate#1500, #502, oban-py#8, dbos-transact-py#709: it could not take part."""
    from colonnade.jobs import sync as blocking

    with (
        colonnade.sync.create_pool(dsn, min_size=1, max_size=2) as pool,
        dbapi.connect(dsn) as link,
    ):
        queue = blocking.create_queue(pool, "work", PAYLOAD, schema=SCHEMA)
        try:
            for end, count in ((link.rollback, 0), (link.commit, 1)):
                link.cursor().execute("SELECT 1")
                queue.add({"a": [1]}, connection=link)
                end()
                assert queue.length() == count
        finally:
            pool.execute(f"DROP SCHEMA {SCHEMA} CASCADE")


async def test_a_database_that_is_serializable_by_default(
    dsn: str, pool: colonnade.Pool, layout: LayoutName
) -> None:
    """oban#1093, #1087, #1030: acknowledgements failed, and jobs ran twice."""
    await made(pool, layout)
    strict = {"default_transaction_isolation": "serializable"}
    seen: list[int] = []

    async def handler(batch: jobs.Batch) -> None:
        seen.extend(batch.columns["a"].tolist())

    async with colonnade.create_pool(dsn, min_size=1, max_size=8, server_settings=strict) as there:
        queue = await jobs.open_queue(there, "work", schema=SCHEMA)
        await queue.add({"a": np.arange(300)})
        consumers = [queue.consume(handler, limit=5, concurrency=2) for _ in range(3)]
        await asyncio.gather(*(consumer.drain() for consumer in consumers))
    assert sorted(seen) == list(range(300))


async def test_parts_of_one_batch_are_settled_at_once(
    pool: colonnade.Pool, queue: jobs.Queue
) -> None:
    """solid_queue#609, #531, pgqueuer#170: deadlocks; a server of PostgreSQL 18 crashed."""
    started = await pool.fetchval("SELECT pg_postmaster_start_time()")
    for _ in range(8):
        for _ in range(8):
            await queue.add({"a": [1, 2, 3]})
        batch = await queue.get()
        async with pool.acquire() as connection, connection.transaction():
            await batch.commit(connection, batch.ids[::3])
            settling = [
                asyncio.create_task(batch.release(batch.ids[1::3])),
                asyncio.create_task(batch.nack(batch.ids[2::3], delay=0)),
            ]
            await asyncio.sleep(0.01)
        await asyncio.gather(*settling)
        assert await queue.purge() == 16
    assert await pool.fetchval("SELECT pg_postmaster_start_time()") == started
