"""The report that a process publishes about itself, as JSON; `status.py` reads it."""

from __future__ import annotations

import os
import platform
import sys
import time
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from colonnade.observe.beat.beat_file import boot_id
from colonnade.observe.visible import TEXT_MOST

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from colonnade import PoolStats
    from colonnade.observe.loop.monitor import LoopMonitor
    from colonnade.observe.loop.snapshot import LoopSnapshot
    from colonnade.observe.loop.stall import Stall

VERSION = 2
STALLS_MOST = 10
STATEMENTS_MOST = 10
POOLS_MOST = 20


class HasStats(Protocol):
    """A pool, asyncio's or blocking."""

    def get_stats(self) -> PoolStats:
        """The current figures."""
        ...


class Reporter:
    """Makes one report after the other; each tells what happened since the last, too."""

    def __init__(
        self, monitor: LoopMonitor, pools: Mapping[str, HasStats], interval: float
    ) -> None:
        self._monitor = monitor
        self._pools = pools
        self._interval = interval
        self._last: LoopSnapshot | None = None

    def report(self, statements: list[dict[str, Any]]) -> dict[str, Any]:
        """Return a report, ready for JSON. It may be called in any thread."""
        return {
            "version": VERSION,
            "pid": os.getpid(),
            "program": _program(),
            "python": platform.python_version(),
            "boot": boot_id(),
            "monotonic": time.monotonic(),
            "interval": self._interval,
            "loop": self._loop(),
            "stalls": [_stall(stall) for stall in self._monitor.recent_stalls[-STALLS_MOST:]],
            "pools": list(self._pool_figures()),
            "statements": statements,
        }

    def _loop(self) -> dict[str, Any] | None:
        """The monitor's figures in all and since the last report; None if it was not started."""
        try:
            whole = self._monitor.snapshot()
        except RuntimeError:
            return None
        try:
            recent = whole if self._last is None else self._monitor.snapshot(self._last)
        except ValueError:
            # The monitor was started again.
            recent = whole
        self._last = whole
        return {
            "tasks": whole.tasks,
            "stalled": whole.current_stall,
            "whole": _figures(whole),
            "recent": _figures(recent),
        }

    def _pool_figures(self) -> Iterator[dict[str, Any]]:
        for name, pool in list(self._pools.items())[:POOLS_MOST]:
            try:
                stats = pool.get_stats()
            except Exception:  # noqa: BLE001, S112 - a pool that is not open has no figures
                continue
            yield {
                "name": name[:TEXT_MOST],
                "size": stats.size,
                "busy": stats.busy,
                "idle": stats.idle,
                "waiting": stats.waiting,
                "max_size": stats.max_size,
                "acquired": stats.acquired,
                "waited": stats.waited,
                "wait_max": stats.wait_seconds_max,
                "given_up": stats.given_up,
                "refused": stats.refused,
            }


def _figures(snapshot: LoopSnapshot) -> dict[str, Any]:
    lag = snapshot.lag
    return {
        "wall": snapshot.wall,
        "utilization": snapshot.utilization,
        "lag_p50": lag.percentile(50) if lag.count else 0.0,
        "lag_p99": lag.percentile(99) if lag.count else 0.0,
        "lag_max": lag.max,
        "gc_pauses": snapshot.gc_pauses,
        "gc_time": snapshot.gc_time,
        "gc_longest": snapshot.gc_longest,
        "stalls": dict(snapshot.stalls),
        "stall_time": dict(snapshot.stall_time),
    }


def _stall(stall: Stall) -> dict[str, Any]:
    return {
        "cause": stall.cause,
        "duration": stall.duration,
        "started": stall.started.astimezone(UTC).isoformat(timespec="milliseconds"),
        # The end of a long place tells more than its beginning.
        "place": None if stall.place is None else str(stall.place)[-TEXT_MOST:],
        "task": None if stall.task is None else stall.task[:TEXT_MOST],
    }


def _program() -> str:
    """The name of the program, without its arguments, which may be secret."""
    started = Path(sys.argv[0] if sys.argv else "")
    name = started.parent.name if started.name == "__main__.py" else started.name
    return (name or "python")[:TEXT_MOST]
