"""The order of a gather's queries, and the bundles in which they are sent."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from colonnade._driver.gather.costs import QueryCosts
    from colonnade._driver.gather.query import Query

Order: TypeAlias = Literal["longest-first", "given"]

# Queries that are expected to take no longer than this may share a bundle: a round trip and the
# work of the event loop cost as much as the query.
SHORT_S = 0.002
# The most queries in one bundle: those behind a query that is slow for once wait for it.
BUNDLE_QUERIES_MAX = 16


class Job:
    """One query of a gather, on its way."""

    __slots__ = (
        *("_lock", "connection", "error", "expected", "is_done", "name", "query", "read", "value"),
    )

    def __init__(self, name: str, query: Query[Any], costs: QueryCosts) -> None:
        self.name = name
        self.query = query
        self.expected = costs.expected(query.sql) if query.cost is None else query.cost
        """Seconds; None if they are not known."""
        self.connection: Any = None
        """The connection on which it runs; None while it waits for one."""
        self.read: Any = None
        """The workers that ask a shared query, of this gather or another; None before it joins."""
        self.is_done = False
        self.value: Any = None
        self.error: Exception | None = None
        # A thread may still work on it when its gather's time is over.
        self._lock = threading.Lock()

    def settle(self, value: Any = None, error: Exception | None = None) -> None:
        """Record the result, or an error in its place; the first word counts."""
        with self._lock:
            if self.is_done:
                return
            self.value, self.error = value, error
            self.connection = None
            self.is_done = True

    def can_be_bundled(self) -> bool:
        """Whether it is short, and its connection serves this gather alone."""
        return self.expected is not None and self.expected <= SHORT_S and not self.query.shared


class Plan:
    """The queries that are still to be sent, which the workers take in order.

    The longest comes first: then the others fill the gaps, and the last to end is no long one. The
    total is at most a third above the best possible (Graham's bound). Queries of unknown length
    come before all others, in the given order, because they may be long.
    """

    def __init__(self, jobs: list[Job], worker_count: int, order: Order) -> None:
        if order == "longest-first":
            # Stable: where all are unknown, this is the given order.
            jobs = sorted(jobs, key=_length, reverse=True)
        self._left = deque(jobs)
        self._worker_count = worker_count
        # Workers may be threads.
        self._lock = threading.Lock()

    def take(self) -> list[Job]:
        """The queries of the next bundle: one, or several short ones; empty at the end.

        A bundle takes no more than its worker's share of the queries that are left.
        """
        with self._lock:
            if not self._left:
                return []
            share = min(-(-len(self._left) // self._worker_count), BUNDLE_QUERIES_MAX)
            bundle = [self._left.popleft()]
            if bundle[0].can_be_bundled():
                while len(bundle) < share and self._left and self._left[0].can_be_bundled():
                    bundle.append(self._left.popleft())
            return bundle


def _length(job: Job) -> float:
    return float("inf") if job.expected is None else job.expected
