"""How often each key came in the last seconds, and which one came most."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from colonnade._words.arguments import check_count, check_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

K = TypeVar("K", bound="Hashable")
_NO_KEYS: dict[Any, None] = {}


class RollingCounter(Generic[K]):
    """Counts keys over a window of time, and knows the most frequent one.

    `window` is in seconds; `slices` divides it: an event counts for `window` seconds, or for up
    to a slice less. `add` and `max` take constant time, whatever the number of events and keys: an
    event costs the same when it leaves the window as when it enters. A clock that goes
    back counts as one that stands still. Not for several threads at once.

    The counts form levels: a level has the keys of one count, in the order in which they came to
    it. An event moves its key up, and an expired slice moves its keys down, so the highest level
    is always known.
    """

    __slots__ = ("_clock", "_counts", "_end", "_highest", "_levels", "_ring", "_slice", "_step")

    def __init__(
        self,
        window: float,
        *,
        slices: int = 16,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        check_seconds("window", window)
        check_count("slices", slices)
        self._clock = clock
        self._step = window / slices
        self._slice = int(clock() // self._step)
        # When the newest slice ends.
        self._end = (self._slice + 1) * self._step
        self._ring: list[dict[K, int]] = [{} for _ in range(slices)]
        self._counts: dict[K, int] = {}
        self._levels: dict[int, dict[K, None]] = {}
        self._highest = 0

    def add(self, key: K, times: int = 1) -> None:
        """Count a key that came now, `times` times."""
        now = self._clock()
        if now >= self._end:
            self._expire(now)
        events = self._ring[self._slice % len(self._ring)]
        events[key] = events.get(key, 0) + times
        counts = self._counts
        before = counts.get(key, 0)
        counts[key] = after = before + times
        self._move(key, before, after)
        if after > self._highest:  # noqa: PLR1730 - without a call
            self._highest = after

    def max(self) -> tuple[K, int] | None:
        """Return the most frequent key and its count, None if the window is empty.

        Of several keys with this count, it is the one that has had it longest.
        """
        now = self._clock()
        if now >= self._end:
            self._expire(now)
        highest = self._highest
        return (next(iter(self._levels[highest])), highest) if highest else None

    def count(self, key: K) -> int:
        """Return how often a key came within the window."""
        self._refresh()
        return self._counts.get(key, 0)

    def total(self) -> int:
        """Return the number of events within the window. It adds up the keys."""
        self._refresh()
        return sum(self._counts.values())

    def __len__(self) -> int:
        """Return the number of keys within the window."""
        self._refresh()
        return len(self._counts)

    def _refresh(self) -> None:
        now = self._clock()
        if now >= self._end:
            self._expire(now)

    def _expire(self, now: float) -> None:
        """Remove the slices that have left the window, and begin the slice of `now`."""
        current = max(self._slice, int(now // self._step))
        slices = len(self._ring)
        passed = min(current - self._slice, slices)
        for number in range(self._slice + 1, self._slice + 1 + passed):
            events = self._ring[number % slices]
            for key, times in events.items():
                before = self._counts[key]
                after = before - times
                self._move(key, before, after)
                if after:
                    self._counts[key] = after
                else:
                    del self._counts[key]
            events.clear()
        self._slice = current
        self._end = (current + 1) * self._step
        # Each step down was paid for by a step up.
        while self._highest and self._highest not in self._levels:
            self._highest -= 1

    def _move(self, key: K, before: int, after: int) -> None:
        levels = self._levels
        if before:
            if len(levels[before]) == 1:
                level = levels.pop(before)
                if after and after not in levels:
                    # A level of one key moves as a whole.
                    levels[after] = level
                    return
            else:
                del levels[before][key]
        if after:
            level = levels.get(after, _NO_KEYS)
            if level is _NO_KEYS:
                levels[after] = {key: None}
            else:
                level[key] = None
