"""Metrics for Prometheus."""

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from colonnade._words.extras import needed_by
from colonnade._words.shown import class_name
from colonnade.observe.metrics import definitions
from colonnade.observe.metrics.query_watch import Metrics, check_monitors, monitor_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from colonnade._core.watch import DurationHistogram
    from colonnade.observe.loop.monitor import LoopMonitor
    from colonnade.observe.metrics.definitions import Metric
    from colonnade.observe.metrics.jobs_monitor import JobsMonitor
    from colonnade.tracing import PoolEvent

# The metrics whose values are asked for by a scrape.
_OBSERVED = (definitions.PHASE, *definitions.OF_POOLS, *definitions.OF_LOOPS, *definitions.OF_JOBS)


class PrometheusMetrics(Metrics):
    """Records queries, pools, a loop and queues with `prometheus_client`, from its making on.

    It is a collector of `registry`, by default `prometheus_client.REGISTRY`. `pools` are pools of
    either colour, or a mapping of names to pools; `monitor` is a `LoopMonitor` that may be started
    later, and `jobs` a `JobsMonitor`. `colonnade docs metrics` lists the metrics. `close()`, or the
    end of a `with` block, ends the recording and removes the collector.

    Raises ImportError if `prometheus_client` is not installed, ValueError if the registry has these
    metrics already, TypeError or ValueError for pools that cannot be observed.
    """

    def __init__(
        self,
        registry: Any = None,
        pools: Mapping[str, Any] | Iterable[Any] = (),
        monitor: LoopMonitor | None = None,
        jobs: JobsMonitor | None = None,
    ) -> None:
        check_monitors(monitor, jobs)
        if registry is not None and not hasattr(registry, "register"):
            kind = class_name(registry)
            msg = f"registry must be a CollectorRegistry, not {kind}; pools= are the pools"
            raise TypeError(msg)
        with needed_by("PrometheusMetrics", "prometheus_client", "prometheus"):
            library: Any = importlib.import_module("prometheus_client")
        self._core: Any = importlib.import_module("prometheus_client.core")
        self._registry = library.REGISTRY if registry is None else registry
        self._monitor = monitor
        self._loop_times = definitions.LoopTimes()
        self._jobs = jobs
        self._recorder = _Recorder(library)
        super().__init__(self._recorder, pools)
        self._registry.register(self)
        self._watch.start()

    def close(self) -> None:
        """Stop recording, and remove the collector; the second time, do nothing."""
        if self._watch.is_watching:
            self._watch.stop()
            self._registry.unregister(self)

    def describe(self) -> Iterator[Any]:
        """The names of all metrics, so that a registry refuses the same ones twice."""
        yield from self._recorder.collect()
        for metric in _OBSERVED:
            yield self._family(metric)

    def collect(self) -> Iterator[Any]:
        """All metrics with their present values."""
        yield from self._recorder.collect()
        phases = self._family(definitions.PHASE)
        for phase, seconds in self._watch.phases.items():
            phases.add_metric([phase], seconds)
        yield phases
        pools = list(self._watch.pool_stats())
        for metric in definitions.OF_POOLS:
            family = self._family(metric)
            for name, stats in pools:
                for labels, value in definitions.of_pool(metric, name, stats):
                    family.add_metric(list(labels), value)
            yield family
        yield from self._of_jobs()
        snapshot = monitor_snapshot(self._monitor)
        if snapshot is None:
            return
        for metric in definitions.OF_LOOPS:
            family = self._family(metric)
            if metric is definitions.LOOP_DELAY:
                _add_delays(family, snapshot.lag)
            else:
                for labels, value in definitions.of_loop(metric, snapshot, self._loop_times):
                    family.add_metric(list(labels), value)
            yield family

    def _of_jobs(self) -> Iterator[Any]:
        if self._jobs is None:
            return
        figures = self._jobs.figures()
        for metric in definitions.OF_JOBS:
            family = self._family(metric)
            for one in figures:
                for labels, value in definitions.of_jobs(metric, one):
                    family.add_metric(list(labels), value)
            yield family

    def _family(self, metric: Metric) -> Any:
        """An empty family of samples."""
        make = getattr(self._core, f"{metric.kind.capitalize()}MetricFamily")
        return make(metric.prometheus_name, metric.text, labels=metric.prometheus_labels)


class _Recorder:
    """Records into metrics that no registry has: the collector passes them on."""

    def __init__(self, library: Any) -> None:
        self._operations = _made(library, definitions.OPERATIONS)
        self._rows = _made(library, definitions.ROWS)
        self._timeouts = _made(library, definitions.TIMEOUTS)
        self._pool_times: dict[PoolEvent, Any] = {
            "created": _made(library, definitions.CREATE),
            "acquired": _made(library, definitions.WAIT),
            "released": _made(library, definitions.USE),
        }
        # The library looks labels up under a lock, which takes longer than to observe a value.
        self._operation = lru_cache(1024)(lambda labels: self._operations.labels(*labels))
        self._row = lru_cache(1024)(lambda labels: self._rows.labels(*labels))
        self._pool_time = lru_cache(256)(lambda event, pool: self._pool_times[event].labels(pool))

    def query(self, labels: tuple[str, ...], seconds: float, rows: int | None) -> None:
        self._operation(labels).observe(seconds)
        if rows is not None:
            self._row(labels).observe(rows)

    def pool_event(self, pool: str, event: PoolEvent, seconds: float) -> None:
        if event == "timed_out":
            self._timeouts.labels(pool).inc()
        else:
            self._pool_time(event, pool).observe(seconds)

    def collect(self) -> Iterator[Any]:
        for metric in (self._operations, self._rows, self._timeouts, *self._pool_times.values()):
            yield from metric.collect()


def _made(library: Any, metric: Metric) -> Any:
    options: dict[str, Any] = {"labelnames": metric.prometheus_labels, "registry": None}
    if metric.kind == "counter":
        return library.Counter(metric.prometheus_name, metric.text, **options)
    return library.Histogram(metric.prometheus_name, metric.text, buckets=metric.bounds, **options)


def _add_delays(family: Any, lag: DurationHistogram) -> None:
    bounds = definitions.LOOP_DELAY.bounds
    counts = lag.buckets(bounds)
    buckets = [(str(bound), count) for bound, count in zip(bounds, counts, strict=True)]
    family.add_metric([], [*buckets, ("+Inf", lag.count)], sum_value=lag.mean * lag.count)
