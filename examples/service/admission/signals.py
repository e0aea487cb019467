"""The waits that the gate looks at: for a connection of the pool, and for the event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import colonnade
    from colonnade import observe


class PoolWait:
    """The mean wait for a connection since the last look; 0 if nobody waits now, as in CoDel."""

    def __init__(self, pool: colonnade.Pool) -> None:
        self._pool = pool
        self._waited = 0
        self._seconds = 0.0
        self._last = 0.0

    def __call__(self) -> float:
        """Look."""
        stats = self._pool.get_stats()
        waited = stats.waited - self._waited
        seconds = stats.wait_seconds_total - self._seconds
        self._waited, self._seconds = stats.waited, stats.wait_seconds_total
        if not stats.waiting:
            self._last = 0.0
        elif waited:
            self._last = seconds / waited
        else:
            # Callers wait, and none got a connection since the last look.
            self._last = float("inf")
        return self._last


class LoopLag:
    """How late the loop answered since the last look: the median, which one burst does not move."""

    def __init__(self, monitor: observe.LoopMonitor) -> None:
        self._monitor = monitor
        self._last = monitor.snapshot()

    def __call__(self) -> float:
        """Look."""
        now = self._monitor.snapshot()
        try:
            lag = self._monitor.snapshot(since=self._last).lag
        except ValueError:
            # The monitor was started anew.
            self._last = now
            return 0.0
        self._last = now
        return max(lag.percentile(50) if lag.count else 0.0, now.current_stall)
