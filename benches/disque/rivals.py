"""Counters that keep each event's time, to compare a rolling counter with."""

from __future__ import annotations

import time
from bisect import bisect_left
from typing import TYPE_CHECKING, Any

from sortedcontainers import SortedList

if TYPE_CHECKING:
    from collections.abc import Callable


class ListCounter:
    """A list of times per key. Each read expires all keys, and looks for the longest list."""

    def __init__(self, window: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.window = window
        self.clock = clock
        self.times: dict[str, list[float]] = {}

    def add(self, key: str) -> None:
        """Count a key that came now."""
        times = self.times.setdefault(key, [])
        times.append(self.clock())

    def max(self) -> tuple[str, int]:
        """Return the most frequent key and its count."""
        oldest = self.clock() - self.window
        for times in self.times.values():
            del times[: bisect_left(times, oldest)]
        ranked = sorted(self.times, key=lambda key: len(self.times[key]))
        return ranked[-1], len(self.times[ranked[-1]])


class SortedListCounter:
    """The same with a list that sorts itself."""

    def __init__(self, window: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.window = window
        self.clock = clock
        self.times: dict[str, Any] = {}

    def add(self, key: str) -> None:
        """Count a key that came now."""
        times = self.times.get(key)
        if times is None:
            times = self.times[key] = SortedList()
        times.add(self.clock())

    def max(self) -> tuple[str, int]:
        """Return the most frequent key and its count."""
        oldest = self.clock() - self.window
        for times in self.times.values():
            del times[: times.bisect_left(oldest)]
        ranked = sorted(self.times, key=lambda key: len(self.times[key]))
        return ranked[-1], len(self.times[ranked[-1]])
