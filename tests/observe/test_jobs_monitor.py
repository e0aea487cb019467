"""Queues as metrics: counted by a monitor, collected by both libraries."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

import colonnade
from colonnade import jobs, observe
from colonnade.jobs import observing, sync as blocking_jobs
from colonnade.observe.metrics import definitions
from tests.observe.counted_queue import SCHEMA, counted, counted_queue
from tests.support.until import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

STATES = {"ready": 2, "delayed": 1, "leased": 1, "dead": 1}
EVENTS = {"added": 5, "got": 2, "failed": 1, "dead": 1}


@pytest.fixture
async def pool(dsn: str) -> AsyncIterator[colonnade.Pool]:
    async with colonnade.create_pool(dsn, min_size=1, max_size=3) as pool:
        await pool.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
        yield pool
        await pool.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")


@pytest.fixture(autouse=True)
def no_observers_left() -> Iterator[None]:
    yield
    assert observing._observers == ()


async def queue_of(pool: colonnade.Pool, name: str = "mails", **options: Any) -> jobs.Queue:
    return await jobs.create_queue(pool, name, {"a": "int8"}, schema=SCHEMA, **options)


async def test_prometheus_gets_states_age_and_events(dsn: str) -> None:
    registry = CollectorRegistry()
    async with counted_queue(dsn) as monitor:
        with observe.PrometheusMetrics(registry, jobs=monitor):
            text = generate_latest(registry).decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    for metric in definitions.OF_JOBS:
        assert families[metric.prometheus_name].documentation == metric.text
        for sample in families[metric.prometheus_name].samples:
            assert set(sample.labels) == set(metric.labels)
            assert (sample.labels["schema"], sample.labels["queue"]) == (SCHEMA, "mails")
    states = families["colonnade_jobs_count"].samples
    assert {each.labels["state"]: each.value for each in states} == STATES
    (age,) = families["colonnade_jobs_oldest_seconds"].samples
    assert 0 <= age.value < 60
    events = families["colonnade_jobs_events"].samples
    assert {each.labels["event"]: each.value for each in events if each.value} == EVENTS
    assert {each.labels["event"] for each in events} == set(observing.EVENTS)


async def test_open_telemetry_gets_the_same(dsn: str) -> None:
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader])
    async with counted_queue(dsn) as monitor:
        with observe.OpenTelemetryMetrics(provider, jobs=monitor):
            data = reader.get_metrics_data()
    assert data is not None
    metrics = {each.name: each for each in data.resource_metrics[0].scope_metrics[0].metrics}
    provider.shutdown()

    def values(name: str, label: str) -> dict[Any, Any]:
        points: Any = metrics[name].data.data_points
        return {point.attributes[label]: point.value for point in points}

    assert values("colonnade.jobs.count", "state") == STATES
    events = values("colonnade.jobs.events", "event")
    assert {event: count for event, count in events.items() if count} == EVENTS
    assert values("colonnade.jobs.oldest", "queue")["mails"] >= 0
    assert metrics["colonnade.jobs.oldest"].unit == "s"


@pytest.mark.parametrize("layout", ["rows", "segments"])
async def test_events_are_those_of_the_process(layout: str, pool: colonnade.Pool) -> None:
    retry = jobs.Retry(max_attempts=2, delay=0)
    queue = await queue_of(pool, retry=retry, layout=layout)
    other = await queue_of(pool, "other")
    async with observe.JobsMonitor([queue], every=1000) as monitor:
        await other.add({"a": [1]})
        await queue.add({"a": list(range(10))})
        batch = await queue.get(limit=4)
        await batch.extend(60)
        await batch.release(batch.ids[:1])
        await batch.nack(batch.ids[1:2], delay=0)
        await batch.ack()
        # In which order they come back depends on the layout.
        retried = await queue.get(limit=8)
        again = retried.ids[retried.attempts == 2]
        assert len(again) == 1
        await retried.nack(again)
        await retried.release(retried.held[1:])
        async with pool.acquire() as connection, connection.transaction():
            await retried.commit(connection)
        await queue.get(limit=1, lease=None)
        late = await queue.get(limit=1)
        await queue.purge()
        with pytest.raises(jobs.LeaseLostError):
            await late.ack()
        (figures,) = monitor.figures()
    assert figures.events == {
        "added": 10,
        "got": 4 + 8 + 1 + 1,
        "retried": 1,
        "extended": 4,
        "released": 1 + 6,
        "failed": 2,
        "dead": 1,
        # Two of the first batch, one committed, one taken without a lease.
        "done": 2 + 1 + 1,
        "lost": 1,
    }


@pytest.mark.parametrize("layout", ["rows", "segments"])
async def test_a_consumer_is_seen(layout: str, pool: colonnade.Pool) -> None:
    queue = await queue_of(pool, layout=layout, retry=jobs.Retry(max_attempts=1))

    async def handler(batch: jobs.Batch) -> None:
        if 7 in batch.columns["a"]:
            raise LookupError

    async with observe.JobsMonitor([queue], every=1000) as monitor:
        await queue.add({"a": list(range(100))})
        await queue.consume(handler, limit=5, concurrency=3).drain()
        events = monitor.figures()[0].events
    assert {event: count for event, count in events.items() if count} == {
        "added": 100,
        "got": 100,
        "done": 95,
        "failed": 5,
        "dead": 5,
    }


@pytest.mark.parametrize("layout", ["rows", "segments"])
async def test_what_expires_is_counted_as_dead(layout: str, pool: colonnade.Pool) -> None:
    queue = await queue_of(pool, layout=layout)
    async with observe.JobsMonitor([queue], every=1000) as monitor:
        await queue.add({"a": [1, 2]}, ttl=0.001)
        give_up = time.monotonic() + 30
        while not monitor.figures()[0].events["dead"]:
            assert time.monotonic() < give_up
            await queue.get(timeout=0)
        assert monitor.figures()[0].events["dead"] == 2


async def test_a_committed_job_is_not_lost(pool: colonnade.Pool) -> None:
    queue = await queue_of(pool)
    async with observe.JobsMonitor([queue], every=1000) as monitor:
        await queue.add({"a": [1, 2]})
        batch = await queue.get()
        async with pool.acquire() as connection, connection.transaction():
            await batch.commit(connection)
        await batch.extend(60)
        assert monitor.figures()[0].events["lost"] == 0


async def test_it_counts_again_and_again(pool: colonnade.Pool) -> None:
    queue = await queue_of(pool)
    async with observe.JobsMonitor([queue], every=0.01) as monitor:
        await until(lambda: counted(monitor) == 0)
        await queue.add({"a": [1, 2]})
        await until(lambda: counted(monitor) == 2)


async def test_numbers_stay_until_the_next_although_counting_is_slow(pool: colonnade.Pool) -> None:
    seen = []

    class Slow:
        """A queue whose counting takes longer than the interval."""

        def __init__(self, queue: jobs.Queue) -> None:
            self.definition = queue.definition
            self._queue = queue

        async def stats(self) -> jobs.QueueStats:
            seen.append(counted(monitor))
            await asyncio.sleep(0.02)
            return await self._queue.stats()

    async with observe.JobsMonitor([Slow(await queue_of(pool))], every=0.01) as monitor:
        await until(lambda: len(seen) > 3)
    assert seen[0] is None
    assert set(seen[1:]) == {0}


async def test_old_numbers_are_not_shown(
    pool: colonnade.Pool, caplog: pytest.LogCaptureFixture
) -> None:
    queue = await queue_of(pool)
    registry = CollectorRegistry()

    def failures() -> int:
        return sum("cannot be counted" in record.getMessage() for record in caplog.records)

    async with observe.JobsMonitor([queue], every=0.05) as monitor:
        await until(lambda: counted(monitor) == 0)
        await jobs.drop_queue(pool, "mails", schema=SCHEMA)
        # On a busy machine, numbers are old before a count has failed.
        await until(lambda: failures() > 0)
        await until(lambda: counted(monitor) is None)
        with observe.PrometheusMetrics(registry, jobs=monitor):
            assert "colonnade_jobs_count{" not in generate_latest(registry).decode()
        await queue_of(pool)
        await until(lambda: counted(monitor) == 0)
    assert failures() == 1


def test_blocking_queues_are_counted_in_a_thread(dsn: str) -> None:
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=2) as pool:
        pool.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
        queue = blocking_jobs.create_queue(pool, "mails", {"a": "int8"}, schema=SCHEMA)
        with observe.JobsMonitor([queue], every=0.01) as monitor:
            queue.add({"a": [1, 2]})
            give_up = time.monotonic() + 30
            while counted(monitor) != 2:
                assert time.monotonic() < give_up
            assert monitor.figures()[0].events["added"] == 2
        pool.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")


async def test_wrong_arguments_are_refused(pool: colonnade.Pool) -> None:
    queue = await queue_of(pool)
    with pytest.raises(ValueError, match="given twice"):
        observe.JobsMonitor([queue, queue])
    with pytest.raises(ValueError, match="more than 0"):
        observe.JobsMonitor([queue], every=0)
    with pytest.raises(TypeError, match=r"colonnade\.jobs"):
        observe.JobsMonitor([pool])
    async with observe.JobsMonitor([queue]) as monitor:
        with pytest.raises(RuntimeError, match="started before"):
            monitor.start()


async def test_an_observer_that_fails_fails_no_job(
    pool: colonnade.Pool, caplog: pytest.LogCaptureFixture
) -> None:
    queue = await queue_of(pool)

    def fail(*_: object) -> None:
        raise LookupError

    jobs.add_observer(fail)
    jobs.add_observer(fail)
    try:
        assert await queue.add({"a": [1]}) == 1
    finally:
        jobs.remove_observer(fail)
        jobs.remove_observer(fail)
    assert caplog.text.count("an observer of jobs has failed") == 1
