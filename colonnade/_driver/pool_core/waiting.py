"""The callers that wait for a connection, and the order in which they get one."""

from __future__ import annotations

import heapq
import math
from collections import OrderedDict
from typing import Generic, TypeVar

W = TypeVar("W")
# The negated priority, the deadline, the number of the arrival.
_Rank = tuple[int, float, int, W]

# At most this many connections in succession go past the caller that has waited longest; the next
# one is that caller's.
OVERTAKINGS_MAX = 3
# A heap is built anew when it has this many entries more than twice the number of callers.
STALE_ENTRIES_MAX = 16


class WaitingList(Generic[W]):
    """Callers by priority, then by deadline, then by arrival; a caller is added once.

    Among `OVERTAKINGS_MAX + 1` served callers in succession, at least one is the caller that has
    waited longest. So a caller behind `n` others is served as one of the next
    `(OVERTAKINGS_MAX + 1) * (n + 1)`, however many callers come later.

    `callers` is the truth. The heaps are built when a caller has a priority or a deadline; they may
    have entries of callers that have left. If an exception strikes between two steps, a caller may
    be missing in a heap; then its turn comes when it has waited longest.
    """

    __slots__ = ("_arrivals", "_order", "_overtakings", "_reverse", "callers")

    def __init__(self) -> None:
        self.callers: OrderedDict[W, _Rank[W]] = OrderedDict()
        """The callers in order of arrival, each with its rank."""
        self._arrivals = 0
        self._overtakings = 0
        self._order: list[_Rank[W]] | None = None
        # The lowest priority first, then the latest arrival.
        self._reverse: list[tuple[int, int, W]] | None = None

    def add(self, caller: W, priority: int = 0, deadline: float = math.inf) -> None:
        """Let a caller wait; the deadline is a time of any one clock."""
        self._arrivals += 1
        rank = (-priority, deadline, self._arrivals, caller)
        self.callers[caller] = rank
        order, reverse = self._order, self._reverse
        if order is not None:
            heapq.heappush(order, rank)
            if reverse is not None:
                heapq.heappush(reverse, (priority, -self._arrivals, caller))
        elif priority or deadline != math.inf:
            self._order = self._ordered()

    def first(self) -> W:
        """The caller to be served next; there must be one."""
        callers = self.callers
        order = self._order
        if order is not None and self._overtakings < OVERTAKINGS_MAX:
            while order:
                caller = order[0][3]
                if caller in callers:
                    return caller
                heapq.heappop(order)
        return next(iter(callers))

    def note_served(self, caller: W) -> None:
        """Remove the first caller, which has been served."""
        if self._order is None:
            self.callers.pop(caller, None)
            return
        is_oldest = next(iter(self.callers), None) is caller
        self._overtakings = 0 if is_oldest else self._overtakings + 1
        self.remove(caller)

    def remove(self, caller: W) -> None:
        """Remove a caller that no longer waits, if it still does."""
        callers = self.callers
        callers.pop(caller, None)
        order = self._order
        if order is None:
            return
        if not callers:
            self.clear()
        elif len(order) > 2 * len(callers) + STALE_ENTRIES_MAX:
            self._order = self._ordered()
        reverse = self._reverse
        if reverse is not None and len(reverse) > 2 * len(callers) + STALE_ENTRIES_MAX:
            self._reverse = self._reversed()

    def last(self) -> tuple[int, W]:
        """The caller of the lowest priority that came last, and its priority; there must be one."""
        callers = self.callers
        if self._order is not None:
            reverse = self._reverse
            if reverse is None:
                reverse = self._reverse = self._reversed()
            while reverse:
                priority, _, caller = reverse[0]
                if caller in callers:
                    return priority, caller
                heapq.heappop(reverse)
        caller = next(reversed(callers))
        return -callers[caller][0], caller

    def clear(self) -> None:
        """Let no caller wait."""
        self.callers.clear()
        self._order = self._reverse = None
        self._overtakings = 0

    def _ordered(self) -> list[_Rank[W]]:
        # Copied in one step: a finalizer that runs amid a loop may remove callers.
        order = list(self.callers.values())
        heapq.heapify(order)
        return order

    def _reversed(self) -> list[tuple[int, int, W]]:
        ranks = list(self.callers.values())
        reverse = [(-negated, -arrival, caller) for negated, _, arrival, caller in ranks]
        heapq.heapify(reverse)
        return reverse
