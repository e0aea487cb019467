"""Whether a queue stands: the rule of CoDel (RFC 8289), applied to waits that are measured.

A short queue that comes and goes is what queues are for. A queue that never got short for a whole
interval only makes everybody wait, and must be drained.
"""

from __future__ import annotations


class StandingQueue:
    """Is told waits; stands when none was below the aim for a whole interval. In seconds."""

    def __init__(self, aim: float, interval: float) -> None:
        self.aim = aim
        self._interval = interval
        self._above_since: float | None = None

    def seen(self, wait: float, now: float) -> None:
        """Take note of a wait."""
        if wait < self.aim:
            self._above_since = None
        elif self._above_since is None:
            self._above_since = now

    def stands(self, now: float) -> bool:
        """Say whether every wait was above the aim for an interval."""
        return self._above_since is not None and now - self._above_since >= self._interval
