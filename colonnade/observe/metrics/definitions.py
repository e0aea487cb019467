"""Every metric: its name, kind, unit, labels and buckets, for OpenTelemetry and Prometheus alike.

The names `db.client.*` are OpenTelemetry's conventions for databases; the others are our own.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from colonnade.observe.loop.snapshot import are_of_one_run

if TYPE_CHECKING:
    from colonnade import PoolStats
    from colonnade.observe.loop.snapshot import LoopSnapshot
    from colonnade.observe.metrics.jobs_monitor import QueueFigures

PHASES = ("pool_wait", "prepare", "send", "server_wait", "transfer", "decode", "loop_delay")
"""The phases of `QueryTiming`; a tracer gets them as `colonnade.pool_wait` and so on."""

# The boundaries that OpenTelemetry advises, in seconds and rows.
_DURATIONS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0)
_ROWS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0, 10000.0)
# A beat is 10 ms, so an idle loop is in the first ones.
_DELAYS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)

_QUERY = (
    *("db.system.name", "db.namespace", "db.query.summary", "server.address", "server.port"),
    *("error.type", "db.response.status_code"),
)
_POOL = ("db.client.connection.pool.name",)
_QUEUE = ("schema", "queue")
_JOB_STATES = ("ready", "delayed", "leased", "dead")


@dataclass(frozen=True)
class Metric:
    """A metric, under OpenTelemetry's rules of naming."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    """A `gauge` is an up-down counter, because its values may be added over processes."""
    unit: str
    text: str
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()

    @property
    def prometheus_name(self) -> str:
        """The name as OpenTelemetry's exporters translate it, without `_total`."""
        return self.name.replace(".", "_") + ("_seconds" if self.unit == "s" else "")

    @property
    def prometheus_labels(self) -> tuple[str, ...]:
        """The labels as OpenTelemetry's exporters translate them."""
        return tuple(label.replace(".", "_") for label in self.labels)


OPERATIONS = Metric(
    "db.client.operation.duration", "histogram", "s", "Duration of queries.", _QUERY, _DURATIONS
)
ROWS = Metric(
    *("db.client.response.returned_rows", "histogram", "{row}", "Rows that queries returned."),
    labels=_QUERY,
    bounds=_ROWS,
)
PHASE = Metric(
    "colonnade.db.phase", "counter", "s", "Time that queries spent in each phase.", ("phase",)
)
CREATE = Metric(
    *("db.client.connection.create_time", "histogram", "s", "Time to open a connection."),
    labels=_POOL,
    bounds=_DURATIONS,
)
WAIT = Metric(
    *("db.client.connection.wait_time", "histogram", "s", "Wait for a connection of the pool."),
    labels=_POOL,
    bounds=_DURATIONS,
)
USE = Metric(
    *("db.client.connection.use_time", "histogram", "s", "Time from lending to return."),
    labels=_POOL,
    bounds=_DURATIONS,
)
TIMEOUTS = Metric(
    *("db.client.connection.timeouts", "counter", "{timeout}", "Waits that exceeded their limit."),
    labels=_POOL,
)
COUNT = Metric(
    *("db.client.connection.count", "gauge", "{connection}", "Open connections."),
    labels=(*_POOL, "db.client.connection.state"),
)
IDLE_MAX = Metric(
    *("db.client.connection.idle.max", "gauge", "{connection}", "All connections may be idle."),
    labels=_POOL,
)
IDLE_MIN = Metric(
    *("db.client.connection.idle.min", "gauge", "{connection}", "Connections kept open if idle."),
    labels=_POOL,
)
MAX = Metric(
    *("db.client.connection.max", "gauge", "{connection}", "The most connections allowed."),
    labels=_POOL,
)
PENDING = Metric(
    *("db.client.connection.pending_requests", "gauge", "{request}", "Callers that wait."),
    labels=_POOL,
)
LOOP_DELAY = Metric(
    *("colonnade.loop.delay", "histogram", "s", "How long ready callbacks waited for their turn."),
    bounds=_DELAYS,
)
LOOP_TIME = Metric(
    *("colonnade.loop.time", "counter", "s", "Time in which the loop was active or idle."),
    labels=("state",),
)
LOOP_TASKS = Metric("colonnade.loop.tasks", "gauge", "{task}", "Tasks of the loop.")
STALLS = Metric(
    "colonnade.loop.stalls", "counter", "{stall}", "Stalls of the loop, by cause.", ("cause",)
)
STALL_TIME = Metric(
    "colonnade.loop.stall_time", "counter", "s", "Time of the loop's stalls, by cause.", ("cause",)
)
GC_PAUSE = Metric("colonnade.gc.pause", "counter", "s", "Time of garbage collections.")
GC_PAUSES = Metric("colonnade.gc.pauses", "counter", "{pause}", "Number of garbage collections.")

JOBS = Metric(
    *("colonnade.jobs.count", "gauge", "{job}", "Jobs of a queue, by state."),
    labels=(*_QUEUE, "state"),
)
JOBS_AGE = Metric(
    *("colonnade.jobs.oldest", "gauge", "s", "How long the oldest ready job has been ready."),
    labels=_QUEUE,
)
JOBS_EVENTS = Metric(
    *("colonnade.jobs.events", "counter", "{job}", "Jobs that the process added, got, did, ..."),
    labels=(*_QUEUE, "event"),
)

OF_QUERIES = (OPERATIONS, ROWS)
OF_POOL_EVENTS = (CREATE, WAIT, USE, TIMEOUTS)
OF_POOLS = (COUNT, IDLE_MAX, IDLE_MIN, MAX, PENDING)
OF_LOOPS = (LOOP_DELAY, LOOP_TIME, LOOP_TASKS, STALLS, STALL_TIME, GC_PAUSE, GC_PAUSES)
OF_JOBS = (JOBS, JOBS_AGE, JOBS_EVENTS)


def of_pool(metric: Metric, name: str, stats: PoolStats) -> list[tuple[tuple[str, ...], float]]:
    """The labels and values of a metric of `OF_POOLS`."""
    if metric is COUNT:
        return [((name, "idle"), stats.idle), ((name, "used"), stats.busy)]
    values = {
        IDLE_MAX: stats.max_size,
        IDLE_MIN: stats.min_size,
        MAX: stats.max_size,
        PENDING: stats.waiting,
    }
    return [((name,), values[metric])]


class LoopTimes:
    """The active and the idle time of a loop, as counters: they never fall.

    In a snapshot, both may: the clocks behind them differ, and a call that sleeps is known as such
    after some milliseconds only. To Prometheus, a counter that falls has begun anew at zero.
    """

    def __init__(self) -> None:
        # Several threads may scrape at once.
        self._lock = threading.Lock()
        self._last: LoopSnapshot | None = None
        self._active = self._idle = 0.0

    def until(self, snapshot: LoopSnapshot) -> tuple[float, float]:
        """The active and the idle seconds; they begin anew with each start of the monitor."""
        with self._lock:
            if self._last is None or not are_of_one_run(self._last, snapshot):
                self._active = self._idle = 0.0
            self._last = snapshot
            self._active = max(self._active, snapshot.busy)
            self._idle = max(self._idle, snapshot.wall - snapshot.busy)
            return self._active, self._idle


def of_loop(
    metric: Metric, snapshot: LoopSnapshot, times: LoopTimes
) -> list[tuple[tuple[str, ...], float]]:
    """The labels and values of a metric of `OF_LOOPS` that is no histogram."""
    if metric is LOOP_TIME:
        active, idle = times.until(snapshot)
        return [(("active",), active), (("idle",), idle)]
    if metric in {STALLS, STALL_TIME}:
        by_cause = snapshot.stalls if metric is STALLS else snapshot.stall_time
        return [((cause,), value) for cause, value in by_cause.items()]
    values: dict[Metric, float] = {
        LOOP_TASKS: snapshot.tasks,
        GC_PAUSE: snapshot.gc_time,
        GC_PAUSES: snapshot.gc_pauses,
    }
    return [((), values[metric])]


def of_jobs(metric: Metric, figures: QueueFigures) -> list[tuple[tuple[str, ...], float]]:
    """The labels and values of a metric of `OF_JOBS`; none for numbers that are not known."""
    queue = (figures.schema, figures.name)
    if metric is JOBS_EVENTS:
        return [((*queue, event), count) for event, count in figures.events.items()]
    stats = figures.stats
    if stats is None:
        return []
    if metric is JOBS_AGE:
        return [(queue, stats.oldest_ready_s)]
    return [((*queue, state), getattr(stats, state)) for state in _JOB_STATES]
