"""How much work may be under way: less when a queue stands, slowly more when none does."""

from __future__ import annotations

_FALL = 0.85
#: A part of the allowance per step.
_RISE = 0.03
#: The number of quiet steps that lift the limit.
_FORGET = 100


class Allowance:
    """A limit of units that are under way at once; none, until a queue has stood.

    It falls by a factor and rises by steps, as TCP's window does, so it settles at what the process
    can do just now, whatever that is.
    """

    def __init__(self, least: float) -> None:
        self._least = least
        self._limit: float | None = None
        self._quiet = 0

    @property
    def limit(self) -> float:
        """The most units, infinite while nothing limits."""
        return float("inf") if self._limit is None else self._limit

    def step(self, *, queue_stands: bool, load_most: float) -> None:
        """End an interval in which at most this many units were under way."""
        if queue_stands:
            self._quiet = 0
            self._limit = max(self._least, _FALL * min(self.limit, load_most))
        elif self._limit is not None:
            self._quiet += 1
            if load_most >= 0.8 * self._limit:
                self._limit += max(1.0, _RISE * self._limit)
            if self._quiet >= _FORGET:
                self._limit = None
