"""The latencies of the last seconds, in memory that does not grow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# Each bucket is a thousandth wider than the one before: three significant digits.
_GROWTH = np.log(1.001)
_LEAST_MS, _MOST_MS = 0.01, 1e7
_BUCKETS = int(np.log(_MOST_MS / _LEAST_MS) / _GROWTH) + 1


class Latencies:
    """A histogram for each of the last `window_s` seconds."""

    def __init__(self, window_s: int = 30) -> None:
        self._counts = np.zeros((window_s, _BUCKETS), np.int32)
        self._seconds = np.full(window_s, -1, np.int64)

    def add(self, latencies_ms: NDArray[np.float64], now: float) -> None:
        """Add latencies that were seen now."""
        second = int(now)
        row = second % len(self._seconds)
        if self._seconds[row] != second:
            self._seconds[row] = second
            self._counts[row] = 0
        kept = np.clip(latencies_ms, _LEAST_MS, _MOST_MS * 0.99)
        np.add.at(self._counts[row], (np.log(kept / _LEAST_MS) / _GROWTH).astype(np.intp), 1)

    def percentiles(self, parts: Sequence[float], now: float) -> list[float]:
        """The latency below which each part of them is; 0 without any."""
        is_recent = self._seconds > int(now) - len(self._seconds)
        sums = np.cumsum(self._counts[is_recent].sum(axis=0))
        if not len(sums) or not sums[-1]:
            return [0.0] * len(parts)
        places = np.searchsorted(sums, np.asarray(parts) * sums[-1])
        return [float(each) for each in _LEAST_MS * np.exp((places + 0.5) * _GROWTH)]
