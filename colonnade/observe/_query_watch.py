"""What both kinds of metrics learn of queries and pools."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from colonnade import tracing
from colonnade._shown import class_name, shown
from colonnade.observe._metrics import PHASES
from colonnade.observe._summaries import Summaries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from colonnade import PoolStats
    from colonnade.observe.loop_monitor import LoopMonitor
    from colonnade.observe.loop_snapshot import LoopSnapshot
    from colonnade.tracing import PoolEvent

# Distinct summaries of statements; the others are `other`.
SUMMARIES_MAX = 200
_USUAL_PORT = 5432


class Recorder(Protocol):
    """Records what happened: OpenTelemetry's instruments or Prometheus' metrics."""

    def query(self, labels: tuple[str, ...], seconds: float, rows: int | None) -> None:
        """A query has ended; the labels are those of `_metrics.OPERATIONS`."""

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
        # A collection of garbage may strike while this thread is inside a library's lock, and end
        # a stream that was dropped. What it reports then is recorded later.
        self._collecting: int | None = None
        self._delayed: deque[Callable[[], None]] = deque()
        self._phases_lock = threading.Lock()

    def start(self) -> None:
        """Watch all later queries."""
        tracing.add_tracer(self)
        tracing.add_pool_observer(self)
        gc.callbacks.append(self._note_collection)

    @property
    def is_watching(self) -> bool:
        """Whether it was started, and not stopped."""
        return self._note_collection in gc.callbacks

    def stop(self) -> None:
        """Watch no longer; does nothing the second time."""
        if self.is_watching:
            gc.callbacks.remove(self._note_collection)
            tracing.remove_tracer(self)
            tracing.remove_pool_observer(self)

    # Pools

    def add_pools(self, pools: Mapping[str, Any] | Iterable[Any]) -> None:
        """Observe these pools; those without a name are numbered."""
        if isinstance(pools, Mapping):
            for name, pool in pools.items():
                self.add_pool(pool, name)
        else:
            for pool in pools:
                self.add_pool(pool, None)

    def add_pool(self, pool: Any, name: str | None) -> None:
        """Observe a pool.

        Raises TypeError for another object, ValueError for a name that another pool has.
        """
        if not hasattr(pool, "get_stats"):
            raise TypeError(f"pools must be of colonnade, not {class_name(pool)}")
        if name is not None and not isinstance(name, str):
            raise TypeError(f"the name of a pool must be a str, not {class_name(name)}")
        used = {known for other, known in self._names.items() if other is not pool}
        if name is None:
            numbered = (f"pool-{number}" for number in range(1, len(used) + 2))
            name = next(free for free in numbered if free not in used)
        if name in used:
            raise ValueError(f"another pool has the name {shown(name)}: names tell pools apart")
        self._names[pool] = name

    def remove_pool(self, pool: Any) -> None:
        """Observe a pool no longer; does nothing if it is not observed."""
        self._names.pop(pool, None)

    def pool_stats(self) -> Iterator[tuple[str, PoolStats]]:
        """Names and figures of the observed pools, except for those that were not opened yet."""
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
        if self._collecting == threading.get_ident():
            self._delayed.append(record)
            return
        record()
        while self._delayed:
            self._delayed.popleft()()

    def _add_phases(self, times: list[float]) -> None:
        with self._phases_lock:
            for phase, spent in zip(PHASES, times, strict=True):
                self.phases[phase] += spent

    def _note_collection(self, phase: str, info: dict[str, int]) -> None:
        del info
        self._collecting = threading.get_ident() if phase == "start" else None


def monitor_snapshot(
    monitor: LoopMonitor | None, since: LoopSnapshot | None = None
) -> LoopSnapshot | None:
    """What a monitor has counted; None if there is none, or if it was not started."""
    if monitor is None:
        return None
    try:
        return monitor.snapshot(since)
    except RuntimeError:
        return None
