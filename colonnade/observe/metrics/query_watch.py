"""The facts about queries and pools that both kinds of metrics record."""

from __future__ import annotations

import logging
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, Protocol, Self

from colonnade import tracing
from colonnade._words.outside_gc import OutsideGc
from colonnade._words.shown import class_name, shown
from colonnade.observe.metrics.definitions import PHASES
from colonnade.observe.metrics.pool_names import given_pools, name_of
from colonnade.observe.metrics.summaries import Summaries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from types import TracebackType

    from colonnade import PoolStats
    from colonnade.observe.loop.monitor import LoopMonitor
    from colonnade.observe.loop.snapshot import LoopSnapshot
    from colonnade.tracing import PoolEvent

# Distinct summaries of statements; the others are `other`.
SUMMARIES_MAX = 200
_USUAL_PORT = 5432

_log = logging.getLogger("colonnade.observe")


class Recorder(Protocol):
    """Records what happened: OpenTelemetry's instruments or Prometheus' metrics."""

    def query(self, labels: tuple[str, ...], seconds: float, rows: int | None) -> None:
        """A query has ended; the labels are those of `definitions.OPERATIONS`."""

    def pool_event(self, pool: str, event: PoolEvent, seconds: float) -> None:
        """Something happened in a pool of this name."""


class QueryWatch:
    """A tracer of all queries and an observer of some pools."""

    def __init__(self, recorder: Recorder) -> None:
        self.phases: dict[str, float] = dict.fromkeys(PHASES, 0.0)
        """The seconds that all queries have spent in each phase."""
        self._recorder = recorder
        self._summaries = Summaries(SUMMARIES_MAX)
        self._names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._calls = OutsideGc()
        self._is_watching = False
        self._has_failed = False
        self._phases_lock = threading.Lock()

    def start(self) -> None:
        """Watch all later queries."""
        tracing.add_tracer(self)
        tracing.add_pool_observer(self)
        self._is_watching = True

    @property
    def is_watching(self) -> bool:
        """Whether it was started, and not stopped."""
        return self._is_watching

    def stop(self) -> None:
        """Stop watching; does nothing the second time."""
        if self._is_watching:
            self._is_watching = False
            tracing.remove_tracer(self)
            tracing.remove_pool_observer(self)

    # Pools

    def add_pools(self, pools: Mapping[str, Any] | Iterable[Any]) -> None:
        """Observe these pools; those without a name are numbered."""
        for name, pool in given_pools(pools):
            self.add_pool(pool, name)

    def add_pool(self, pool: Any, name: str | None) -> None:
        """Observe a pool.

        Raises TypeError for another object, ValueError for a name that another pool has.
        """
        used = {known for other, known in self._names.items() if other is not pool}
        name = name_of(pool, name, used)
        if name in used:
            raise ValueError(f"another pool has the name {shown(name)}: names tell pools apart")
        self._names[pool] = name

    def remove_pool(self, pool: Any) -> None:
        """Stop observing a pool; does nothing if it is not observed."""
        self._names.pop(pool, None)

    def pool_stats(self) -> Iterator[tuple[str, PoolStats]]:
        """Names and figures of the observed pools; a pool that is not open yet has none."""
        for pool, name in list(self._names.items()):
            try:
                stats = pool.get_stats()
            except Exception:  # noqa: BLE001, S112 - a pool that is not open has no figures
                continue
            yield name, stats

    def pool_event(self, pool: Any, event: PoolEvent, seconds: float) -> None:
        """Record an event of a pool that is observed."""
        name = self._names.get(pool)
        if name is not None:
            self._record(lambda: self._recorder.pool_event(name, event, seconds))

    # Queries

    def query_started(
        self, name: str, attributes: Mapping[str, tracing.Attribute]
    ) -> tuple[float, Mapping[str, tracing.Attribute]]:
        """Note the time."""
        del name
        return time.perf_counter(), attributes

    def query_ended(
        self,
        span: tuple[float, Mapping[str, tracing.Attribute]],
        attributes: Mapping[str, tracing.Attribute],
        error: BaseException | None,
    ) -> None:
        """Record a query."""
        began, start = span
        seconds = time.perf_counter() - began
        rows: int | None = None
        if error is None and "colonnade.send" in attributes:
            # Only the time in which the caller waited: it may have worked between two batches.
            times = [float(attributes[f"colonnade.{phase}"]) for phase in PHASES]
            seconds = sum(times) - times[0]
            rows = int(attributes["db.response.returned_rows"])
            self._record(lambda: self._add_phases(times))
        port = start.get("server.port", _USUAL_PORT)
        labels = (
            str(start["db.system.name"]),
            str(start["db.namespace"]),
            self._summaries.of(str(start["db.query.text"])),
            str(start["server.address"]),
            "" if port == _USUAL_PORT else str(port),
            str(attributes.get("error.type", "")),
            str(attributes.get("db.response.status_code", "")),
        )
        self._record(lambda: self._recorder.query(labels, seconds, rows))

    # Inside

    def _record(self, record: Callable[[], None]) -> None:
        self._calls.call(lambda: self._try(record))

    def _try(self, record: Callable[[], None]) -> None:
        """Record; where a library fails, the query that is recorded has succeeded nevertheless."""
        try:
            record()
        except Exception:  # noqa: BLE001 - see above, and it is logged
            if not self._has_failed:
                _log.exception("metrics cannot be recorded; further errors are not logged")
            self._has_failed = True

    def _add_phases(self, times: list[float]) -> None:
        with self._phases_lock:
            for phase, spent in zip(PHASES, times, strict=True):
                self.phases[phase] += spent


class Metrics:
    """The methods of both kinds of metrics."""

    def __init__(self, recorder: Recorder, pools: Mapping[str, Any] | Iterable[Any]) -> None:
        self._watch = QueryWatch(recorder)
        self._watch.add_pools(pools)

    def add_pool(self, pool: Any, name: str | None = None) -> None:
        """Observe a pool that was made later; without a name it is numbered.

        Raises TypeError for another object, ValueError for a name that another pool has.
        """
        self._watch.add_pool(pool, name)

    def remove_pool(self, pool: Any) -> None:
        """Stop observing a pool."""
        self._watch.remove_pool(pool)

    def close(self) -> None:
        """Stop recording; does nothing the second time."""
        self._watch.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def check_monitors(monitor: object, jobs: object) -> None:
    """Raise TypeError for an object that would fail at each scrape instead."""
    if monitor is not None and not hasattr(monitor, "snapshot"):
        raise TypeError(f"monitor must be a LoopMonitor, not {class_name(monitor)}")
    if jobs is not None and not hasattr(jobs, "figures"):
        raise TypeError(f"jobs must be a JobsMonitor of the queues, not {class_name(jobs)}")


def monitor_snapshot(
    monitor: LoopMonitor | None, since: LoopSnapshot | None = None
) -> LoopSnapshot | None:
    """A snapshot of the monitor; None without a monitor, or if it was not started."""
    if monitor is None:
        return None
    try:
        return monitor.snapshot(since)
    except RuntimeError:
        return None
