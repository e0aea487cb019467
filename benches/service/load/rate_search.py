"""Looks for the highest rate that a service can take, in steps."""

from __future__ import annotations

import math


class RateSearch:
    """Says which rate to try next, and is told what became of it.

    The rate is doubled until a step fails, then the place between the best and the worst is halved
    until they are within `close`. A step that fails is tried once more, because something else on
    the machine may have failed it.
    """

    def __init__(self, first: float, *, close: float = 1.12, most: float = 20_000) -> None:
        self._close = close
        self._most = most
        self._next: float | None = first
        self._failed_once = False
        self.best = 0.0
        self.worst = math.inf

    @property
    def next(self) -> float | None:
        """The rate to try; None when the highest one is known."""
        return self._next

    def took(self, *, passed: bool) -> None:
        """Note what became of the rate that was to be tried."""
        assert self._next is not None
        if passed:
            self.best = self._next
        elif not self._failed_once:
            self._failed_once = True
            return
        else:
            self.worst = self._next
        self._failed_once = False
        self._next = self._following()

    def _following(self) -> float | None:
        if self.worst == math.inf:
            return 2 * self.best if 2 * self.best <= self._most else None
        if self.best == 0:
            return self.worst / 4 if self.worst > 0.5 else None
        if self.worst / self.best <= self._close:
            return None
        return math.sqrt(self.best * self.worst)
