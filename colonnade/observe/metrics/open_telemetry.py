"""Metrics for OpenTelemetry."""

from __future__ import annotations

import importlib
from functools import lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from colonnade._words.shown import class_name
from colonnade.observe.metrics import definitions
from colonnade.observe.metrics.query_watch import Metrics, check_monitors, monitor_snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from colonnade._core.watch import DurationHistogram
    from colonnade.observe.loop.monitor import LoopMonitor
    from colonnade.observe.loop.snapshot import LoopSnapshot
    from colonnade.observe.metrics.definitions import Metric
    from colonnade.observe.metrics.jobs_monitor import JobsMonitor
    from colonnade.tracing import PoolEvent

# An asynchronous instrument cannot be a histogram, so the delays of a loop are recorded one by one
# when metrics are collected, each as the middle of one of these narrow buckets.
_FINE_BOUNDS = [0.0001 * 1.2**step for step in range(80)]


class OpenTelemetryMetrics(Metrics):
    """Records queries, pools, a loop and queues with `opentelemetry-api`, from its making on.

    `pools` are pools of either colour, or a mapping of names to pools; `monitor` is a `LoopMonitor`
    that may be started later, and `jobs` a `JobsMonitor`. `colonnade docs metrics` lists the
    metrics. `close()`, or the end of a `with` block, ends the recording.

    Raises ImportError if `opentelemetry-api` is not installed, TypeError or ValueError for pools
    that cannot be observed.
    """

    def __init__(
        self,
        meter_provider: Any = None,
        pools: Mapping[str, Any] | Iterable[Any] = (),
        monitor: LoopMonitor | None = None,
        jobs: JobsMonitor | None = None,
    ) -> None:
        check_monitors(monitor, jobs)
        if meter_provider is not None and not hasattr(meter_provider, "get_meter"):
            kind = class_name(meter_provider)
            msg = f"meter_provider must be a MeterProvider, not {kind}; pools= are the pools"
            raise TypeError(msg)
        self._api: Any = importlib.import_module("opentelemetry.metrics")
        meter = self._api.get_meter("colonnade", meter_provider=meter_provider)
        self._monitor = monitor
        self._loop_times = definitions.LoopTimes()
        self._counted: LoopSnapshot | None = None
        self._is_open = True
        self._recorder = _Recorder(meter)
        super().__init__(self._recorder, pools)
        self._delay = _made(meter, definitions.LOOP_DELAY)
        self._observe(meter, definitions.PHASE, self._phases)
        for metric in definitions.OF_POOLS:
            self._observe(meter, metric, partial(self._pool_figures, metric))
        if monitor is not None:
            for metric in definitions.OF_LOOPS:
                if metric.kind != "histogram":
                    self._observe(meter, metric, partial(self._loop_figures, metric))
        if jobs is not None:
            for metric in definitions.OF_JOBS:
                self._observe(meter, metric, partial(_jobs_figures, jobs, metric))
        self._watch.start()

    def close(self) -> None:
        """Stop recording; recorded values stay with the meter's provider."""
        self._watch.stop()
        self._is_open = False

    # Inside

    def _observe(
        self, meter: Any, metric: Metric, figures: Callable[[], Iterator[tuple[float, Any]]]
    ) -> None:
        """Make an instrument that asks for its figures when metrics are collected."""

        def observations(options: object) -> list[Any]:
            del options
            if not self._is_open:
                return []
            return [self._api.Observation(value, labels) for value, labels in figures()]

        kind = "counter" if metric.kind == "counter" else "up_down_counter"
        make = getattr(meter, f"create_observable_{kind}")
        make(metric.name, [observations], unit=metric.unit, description=metric.text)

    def _phases(self) -> Iterator[tuple[float, dict[str, str]]]:
        for phase, seconds in self._watch.phases.items():
            yield seconds, {"phase": phase}

    def _pool_figures(self, metric: Metric) -> Iterator[tuple[float, dict[str, str]]]:
        for name, stats in self._watch.pool_stats():
            for labels, value in definitions.of_pool(metric, name, stats):
                yield value, dict(zip(metric.labels, labels, strict=True))

    def _loop_figures(self, metric: Metric) -> Iterator[tuple[float, dict[str, str]]]:
        snapshot = monitor_snapshot(self._monitor)
        if snapshot is None:
            return
        if metric is definitions.LOOP_TIME:
            self._record_delays(snapshot)
        for labels, value in definitions.of_loop(metric, snapshot, self._loop_times):
            yield value, dict(zip(metric.labels, labels, strict=True))

    def _record_delays(self, snapshot: LoopSnapshot) -> None:
        """Record the delays since the last collection."""
        try:
            new = monitor_snapshot(self._monitor, self._counted)
        except ValueError:
            # The monitor was started anew.
            new = snapshot
        if new is not None:
            # Later counts follow at the next collection.
            self._counted = new
            for value, count in _spread(new.lag):
                for _ in range(count):
                    self._delay.record(value)


class _Recorder:
    """Records into instruments."""

    def __init__(self, meter: Any) -> None:
        self._operations = _made(meter, definitions.OPERATIONS)
        self._rows = _made(meter, definitions.ROWS)
        self._timeouts = _made(meter, definitions.TIMEOUTS)
        self._pool_times: dict[PoolEvent, Any] = {
            "created": _made(meter, definitions.CREATE),
            "acquired": _made(meter, definitions.WAIT),
            "released": _made(meter, definitions.USE),
        }

    def query(self, labels: tuple[str, ...], seconds: float, rows: int | None) -> None:
        attributes = _attributes(labels)
        self._operations.record(seconds, attributes)
        if rows is not None:
            self._rows.record(rows, attributes)

    def pool_event(self, pool: str, event: PoolEvent, seconds: float) -> None:
        attributes = {definitions.TIMEOUTS.labels[0]: pool}
        if event == "timed_out":
            self._timeouts.add(1, attributes)
        else:
            self._pool_times[event].record(seconds, attributes)


def _jobs_figures(jobs: JobsMonitor, metric: Metric) -> Iterator[tuple[float, dict[str, str]]]:
    for figures in jobs.figures():
        for labels, value in definitions.of_jobs(metric, figures):
            yield value, dict(zip(metric.labels, labels, strict=True))


def _made(meter: Any, metric: Metric) -> Any:
    """The synchronous instrument of a metric."""
    if metric.kind == "counter":
        return meter.create_counter(metric.name, unit=metric.unit, description=metric.text)
    return meter.create_histogram(
        metric.name,
        unit=metric.unit,
        description=metric.text,
        explicit_bucket_boundaries_advisory=list(metric.bounds),
    )


@lru_cache(1024)
def _attributes(labels: tuple[str, ...]) -> dict[str, str | int]:
    """The attributes of a query, without those that it lacks; the port is a number."""
    named = dict(zip(definitions.OPERATIONS.labels, labels, strict=True))
    return {
        name: int(text) if name == "server.port" else text for name, text in named.items() if text
    }


def _spread(lag: DurationHistogram) -> Iterator[tuple[float, int]]:
    """A value for each narrow bucket, and how many durations are in it."""
    counts = [0, *lag.buckets(_FINE_BOUNDS), lag.count]
    bounds = [0.0, *_FINE_BOUNDS, _FINE_BOUNDS[-1]]
    for (low, high), (before, until) in zip(pairwise(bounds), pairwise(counts), strict=True):
        yield (low + high) / 2, until - before
