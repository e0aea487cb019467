"""Writes what this process did in each second, in a thread: also while the loop hangs."""

from __future__ import annotations

import contextlib
import logging
import math
import os
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from examples.service.page.reports import Report, Reports, Second
from examples.service.phases import spans_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    import colonnade
    from colonnade import observe
    from examples.service.admission.gate import Gate
    from examples.service.phases import Work
    from examples.service.recent import RecentRequests, Request

#: The routes that the figures count; health and the page itself are left out.
WORKING = frozenset({"/search", "/analytics", "/export"})
#: The buckets of latencies begin here, and are a quarter of a doubling wide each.
LATENCY_LEAST = 1e-4
_PER_DOUBLING = 4
_BUCKETS = 72
#: The number of requests of each second that are shown in their phases.
_SLOWEST = 3
_log = logging.getLogger("service.page")


@dataclass(frozen=True)
class Sources:
    """The sources of the figures."""

    recent: RecentRequests
    monitor: observe.LoopMonitor
    pool: colonnade.Pool
    gate: Gate
    is_draining: Callable[[], bool]


def bucket_of(seconds: float) -> int:
    """The bucket of a latency."""
    if seconds <= LATENCY_LEAST:
        return 0
    return min(_BUCKETS - 1, 1 + int(_PER_DOUBLING * math.log2(seconds / LATENCY_LEAST)))


class Reporter:
    """Looks once a second; each call of `look` tells what happened since the one before."""

    def __init__(self, sources: Sources, reports: Reports, deadline: float) -> None:
        self._sources = sources
        self._reports = reports
        self._report = Report(os.getpid(), time.time(), deadline)
        self._loop = sources.monitor.snapshot()
        self._pool = sources.pool.get_stats()
        self._stalls_after = time.time()
        self._has_failed = False

    def look(self, second: int) -> None:
        """Write down the second that has just passed."""
        requests = [
            (request, work)
            for request, work in self._sources.recent.take()
            if request.route in WORKING
        ]
        row = Second(second)
        _count(row, [request for request, _ in requests])
        self._count_loop(row)
        self._count_pool(row)
        row.load = self._sources.gate.load
        answered = [one for one in requests if not one[0].shed]
        slowest = sorted(answered, key=lambda one: -one[0].seconds)[:_SLOWEST]
        self._report.state = "draining" if self._sources.is_draining() else "serving"
        self._report.add(row, self._new_stalls(), [_shown(*one) for one in slowest])
        self._write()

    def end(self) -> None:
        """Say that the process ends."""
        self._report.state = "ended"
        self._write()

    def _write(self) -> None:
        try:
            self._reports.write(self._report)
        except OSError as error:
            if not self._has_failed:
                _log.warning("other processes do not see this one on the page: %s", error)
            self._has_failed = True
        else:
            self._has_failed = False

    def _count_loop(self, row: Second) -> None:
        monitor = self._sources.monitor
        now = monitor.snapshot()
        since = monitor.snapshot(since=self._loop)
        self._loop = now
        row.utilization = since.utilization
        if since.lag.count:
            row.lag_p50, row.lag_p99 = since.lag.percentile(50), since.lag.percentile(99)
        row.stalled = now.current_stall
        row.stalls = sum(since.stalls.values())
        row.collected = since.gc_time
        row.tasks = now.tasks

    def _count_pool(self, row: Second) -> None:
        before, now = self._pool, self._sources.pool.get_stats()
        self._pool = now
        row.size, row.busy, row.waiting, row.size_max = (
            now.size,
            now.busy,
            now.waiting,
            now.max_size,
        )
        row.waited = now.waited - before.waited
        row.wait_seconds = now.wait_seconds_total - before.wait_seconds_total
        lost = now.closed.get("lost", 0) - before.closed.get("lost", 0)
        row.failures = lost + now.open_failures - before.open_failures

    def _new_stalls(self) -> Iterable[dict[str, Any]]:
        after = self._stalls_after
        for stall in tuple(self._sources.monitor.recent_stalls):
            at = stall.started.timestamp()
            if at > after:
                self._stalls_after = max(self._stalls_after, at)
                place = "" if stall.place is None else _short(str(stall.place))
                yield {"at": at, "cause": stall.cause, "seconds": stall.duration, "place": place}


def _count(row: Second, requests: list[Request]) -> None:
    for request in requests:
        if request.shed:
            row.refused[request.shed] = row.refused.get(request.shed, 0) + 1
            continue
        row.answered += 1
        row.failed += request.status == 0 or request.status >= 500
        bucket = str(bucket_of(request.seconds))
        row.latencies[bucket] = row.latencies.get(bucket, 0) + 1


def _short(place: str) -> str:
    """A place with the last two parts of its path."""
    path, _, rest = place.rpartition(":")
    return "/".join(path.split("/")[-2:]) + ":" + rest


def _shown(request: Request, work: Work) -> dict[str, Any]:
    return {
        "id": request.request_id,
        "route": request.route,
        "status": request.status,
        "ended": request.began + request.seconds,
        "seconds": request.seconds,
        "spans": [list(span) for span in spans_of(work)],
    }


@contextlib.contextmanager
def reporting(reporter: Reporter) -> Generator[None]:
    """Look once a second while the block runs."""
    ending = threading.Event()

    def run() -> None:
        # Whole seconds of the clock, so that those of all processes are the same.
        while not ending.wait(1.005 - time.time() % 1):
            try:
                reporter.look(round(time.time()) - 1)
            except Exception:  # noqa: BLE001 - the page is not worth a process; it is logged
                _log.exception("a second is missing on the page")
        reporter.end()

    thread = threading.Thread(target=run, name="page", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()
