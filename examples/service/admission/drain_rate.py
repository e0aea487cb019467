"""How fast work leaves: a moving mean of what was completed per second."""

from __future__ import annotations

import math


class DrainRate:
    """Units per second, in which the last `memory` seconds count most."""

    def __init__(self, memory: float = 1.0) -> None:
        self._memory = memory
        self._rate = 0.0
        self._at: float | None = None

    def done(self, units: float, now: float) -> None:
        """Count what has just been completed."""
        self._rate = self.at(now) + units / self._memory
        self._at = now

    def at(self, now: float) -> float:
        """The rate at this moment: it falls while nothing is completed."""
        if self._at is None:
            return 0.0
        return self._rate * math.exp(-(now - self._at) / self._memory)
