"""Metrics as OpenTelemetry's own library collects them."""

from __future__ import annotations

import asyncio
import gc
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader, Sum

import colonnade
from colonnade import observe, tracing
from colonnade.observe.metrics import definitions
from tests.observe.watched_work import SECRET, watched, work
from tests.support.until import until

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    Run = Callable[[Coroutine[Any, Any, Any]], Any]
    Points = dict[tuple[tuple[str, Any], ...], Any]

ALL = (
    *(*definitions.OF_QUERIES, definitions.PHASE),
    *(*definitions.OF_POOL_EVENTS, *definitions.OF_POOLS, *definitions.OF_LOOPS),
)
POOL = "db.client.connection.pool.name"


class Collected:
    """A provider whose metrics are read from memory."""

    def __init__(self) -> None:
        self.reader = InMemoryMetricReader()
        self.provider = MeterProvider([self.reader])

    def metrics(self) -> dict[str, Any]:
        """All metrics, by name."""
        data = self.reader.get_metrics_data()
        if data is None:
            return {}
        return {
            metric.name: metric
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    def points(self, name: str) -> Points:
        """The data points of a metric, by their attributes."""
        return {
            tuple(sorted(point.attributes.items())): point
            for point in self.metrics()[name].data.data_points
        }


def has_answered(monitor: observe.LoopMonitor, beats: int) -> bool:
    return monitor.snapshot().beats >= beats


@pytest.fixture
def collected() -> Iterator[Collected]:
    collected = Collected()
    yield collected
    collected.provider.shutdown()


def test_every_metric_has_its_name_unit_and_attributes(
    run: Run, dsn: str, collected: Collected
) -> None:
    async def check(pool: colonnade.Pool, monitor: observe.LoopMonitor) -> None:
        with observe.OpenTelemetryMetrics(collected.provider, {"main": pool}, monitor):
            await work(pool)
            await until(lambda: monitor.snapshot().beats > 0)
            metrics = collected.metrics()
        assert set(metrics) == {metric.name for metric in ALL}
        for metric in ALL:
            found = metrics[metric.name]
            assert found.unit == metric.unit
            assert found.description == metric.text
            names = {name for point in found.data.data_points for name in point.attributes}
            assert names <= set(metric.labels)
            if metric.kind == "histogram":
                (bounds,) = {point.explicit_bounds for point in found.data.data_points}
                assert bounds == metric.bounds
            else:
                assert isinstance(found.data, Sum)
                assert found.data.is_monotonic == (metric.kind == "counter")
            assert SECRET not in found.to_json()

    run(watched(dsn, check))


def test_queries_have_the_stable_attributes(run: Run, dsn: str, collected: Collected) -> None:
    async def check(pool: colonnade.Pool, _: observe.LoopMonitor) -> None:
        with observe.OpenTelemetryMetrics(collected.provider):
            async with pool.acquire() as connection:
                place: Any = connection._addr
                database = connection._params.database
            await work(pool)
            phases = {
                dict(key)["phase"]: point.value
                for key, point in collected.points("colonnade.db.phase").items()
            }
        points = collected.points("db.client.operation.duration")
        summaries = {dict(key)["db.query.summary"]: dict(key) for key in points}
        assert set(summaries) == {
            *("CREATE watched", "SELECT", "SELECT pg_class", "SELECT watched"),
        }
        failed = summaries["SELECT pg_class"]
        assert failed["error.type"] == "colonnade.errors.DivisionByZeroError"
        assert failed["db.response.status_code"] == "22012"
        good = summaries["SELECT watched"]
        address = (
            {"server.address": place}
            if isinstance(place, str)
            else {
                "server.address": place[0],
                "server.port": place[1],
            }
        )
        assert good == {
            "db.system.name": "postgresql",
            "db.namespace": database,
            "db.query.summary": "SELECT watched",
            **address,
        }
        assert all(point.count == 1 for point in points.values())
        rows = {
            dict(key)["db.query.summary"]: point.sum
            for key, point in collected.points("db.client.response.returned_rows").items()
        }
        assert rows["SELECT"] == 7
        assert "SELECT pg_class" not in rows
        assert set(phases) == set(definitions.PHASES)
        assert phases["server_wait"] > 0

    run(watched(dsn, check))


def test_pools_have_their_figures_and_events(run: Run, dsn: str, collected: Collected) -> None:
    async def check(pool: colonnade.Pool, _: observe.LoopMonitor) -> None:
        main = ((POOL, "main"),)
        async with colonnade.create_pool(dsn, min_size=1, max_size=3) as late:
            with observe.OpenTelemetryMetrics(collected.provider, {"main": pool}) as metrics:
                await work(pool)
                assert collected.points("db.client.connection.timeouts")[main].value == 1
                waits = collected.points("db.client.connection.wait_time")[main]
                assert isinstance(waits, HistogramDataPoint)
                assert waits.count == 6
                assert waits.max > 0
                assert collected.points("db.client.connection.use_time")[main].count == 6
                assert collected.points("db.client.connection.create_time")[main].count == 1
                metrics.add_pool(late, "late")
                async with late.acquire(), late.acquire():
                    counts = collected.points("db.client.connection.count")
                key = (POOL, "late")
                state = "db.client.connection.state"
                assert counts[(key, (state, "used"))].value == 2
                assert counts[(key, (state, "idle"))].value == 0
                assert counts[(*main, (state, "idle"))].value == 1
                created = collected.points("db.client.connection.create_time")
                assert created[(key,)].count == 1
                assert collected.points("db.client.connection.max")[(key,)].value == 3
                metrics.remove_pool(late)
                assert (key,) not in collected.points("db.client.connection.max")

    run(watched(dsn, check))


def test_the_delays_of_a_loop_are_a_histogram(run: Run, dsn: str, collected: Collected) -> None:
    async def check(pool: colonnade.Pool, monitor: observe.LoopMonitor) -> None:
        with observe.OpenTelemetryMetrics(collected.provider, [pool], monitor):
            for beats in (3, 6):
                await until(partial(has_answered, monitor, beats))
                collected.metrics()
            monitor.stop()
            point = collected.points("colonnade.loop.delay")[()]
            lag = monitor.snapshot().lag
            assert point.count == lag.count >= 6
            # The first of the narrow buckets ends at 0.1 ms, the others a fifth above their start.
            deviation = 0.1 * lag.mean + 0.000_05
            assert point.sum == pytest.approx(point.count * lag.mean, abs=point.count * deviation)
            times = collected.points("colonnade.loop.time")
            assert times[(("state", "active"),)].value > 0
            assert times[(("state", "idle"),)].value > 0
            causes = {dict(key)["cause"] for key in collected.points("colonnade.loop.stalls")}
            assert causes == {"gc", "decode", "gil", "starved", "blocked", "code"}
            # A monitor that is started anew counts from zero.
            monitor.start()
            await until(lambda: monitor.snapshot().beats > 0)
            assert collected.points("colonnade.loop.delay")[()].count > point.count

    run(watched(dsn, check))


def test_a_monitor_that_was_never_started_has_no_metrics(dsn: str, collected: Collected) -> None:
    with (
        observe.OpenTelemetryMetrics(collected.provider, monitor=observe.LoopMonitor()),
        colonnade.sync.connect(dsn) as connection,
    ):
        connection.fetchval("SELECT 1")
        metrics = collected.metrics()
    assert "db.client.operation.duration" in metrics
    assert not [name for name in metrics if name.startswith("colonnade.loop")]


def test_closing_ends_the_recording(dsn: str, collected: Collected) -> None:
    metrics = observe.OpenTelemetryMetrics(collected.provider)
    with colonnade.sync.connect(dsn) as connection:
        connection.fetchval("SELECT 1")
        metrics.close()
        metrics.close()
        connection.fetchval("SELECT 2")
    (point,) = collected.points("db.client.operation.duration").values()
    assert point.count == 1
    assert tracing.active is None
    assert not tracing.pool_observers


def test_a_stream_that_the_collector_ends_is_recorded_later(
    run: Run, dsn: str, collected: Collected
) -> None:
    """The instruments have locks, and the collector may strike while its thread holds one."""

    class Cycle:
        def __init__(self, stream: Any) -> None:
            self.itself = self
            self.stream = stream

    async def check(pool: colonnade.Pool, _: observe.LoopMonitor) -> None:
        with observe.OpenTelemetryMetrics(collected.provider, [pool]) as metrics:
            gc.disable()
            try:
                stream = pool.iter_columns("SELECT generate_series(1, 1000000)")
                await anext(aiter(stream))
                cycle = Cycle(stream)
                del stream, cycle
                gc.collect()
            finally:
                gc.enable()
            assert metrics._watch._calls._delayed
            assert "db.client.operation.duration" not in collected.metrics()
            await pool.fetchval("SELECT 1")
            assert not metrics._watch._calls._delayed
            points = collected.points("db.client.operation.duration")
            assert sum(point.count for point in points.values()) == 2

    run(watched(dsn, check))


@pytest.mark.parametrize(
    ("pools", "error", "text"),
    [
        ([5], TypeError, "pools must be pools of colonnade, not int"),
        ({5: None}, TypeError, "pools must be pools of colonnade"),
    ],
)
def test_other_objects_are_no_pools(pools: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        observe.OpenTelemetryMetrics(pools=pools)
    assert tracing.active is None


def test_two_pools_need_two_names(dsn: str, collected: Collected) -> None:
    async def main() -> None:
        async with (
            colonnade.create_pool(dsn, min_size=0, max_size=1) as one,
            colonnade.create_pool(dsn, min_size=0, max_size=1) as two,
        ):
            with observe.OpenTelemetryMetrics(collected.provider, [one, two]) as metrics:
                with pytest.raises(ValueError, match="another pool has the name 'pool-1'"):
                    metrics.add_pool(two, "pool-1")
                names = {dict(key)[POOL] for key in collected.points("db.client.connection.max")}
                assert names == {"pool-1", "pool-2"}

    asyncio.run(main())


@pytest.mark.parametrize("metrics", [observe.OpenTelemetryMetrics, observe.PrometheusMetrics])
def test_arguments_in_the_wrong_place_are_named(metrics: Any) -> None:
    with pytest.raises(TypeError, match=r"must be a (Meter|Collector).*, not dict; pools= are"):
        metrics({"main": None})
    with pytest.raises(TypeError, match="monitor must be a LoopMonitor, not str"):
        metrics(monitor="main")
    with pytest.raises(TypeError, match="jobs must be a JobsMonitor of the queues, not list"):
        metrics(jobs=["mails"])
