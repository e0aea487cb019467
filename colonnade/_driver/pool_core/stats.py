"""Statistics of a pool."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class PoolStats:
    """The state of a pool, and its totals since it was created."""

    size: int
    """Open connections, idle and busy."""
    idle: int
    """Connections without a task."""
    busy: int
    """Connections that are lent or being reset."""
    opening: int
    """Connections being opened."""
    waiting: int
    """Callers that wait for a connection."""
    min_size: int
    max_size: int
    acquired: int
    """How often a connection was lent."""
    waited: int
    """How often a caller had to wait for one."""
    wait_seconds_total: float
    """The total waiting time of callers that got a connection, in seconds."""
    wait_seconds_max: float
    """The longest such wait."""
    given_up: int
    """How often a caller stopped waiting, by a timeout or a cancelled task."""
    refused: int
    """How often a caller got `PoolExhaustedError`, because `max_waiting` callers waited."""
    opened: int
    """How many connections were opened."""
    open_failures: int
    """How often that failed."""
    closed: Mapping[str, int]
    """How many connections were closed, by reason: "inactive", "max_queries", "max_lifetime",
    "expired", "lost" (by the server or the network), "reset" (it failed), "setup" (the callback
    failed), "user" (closed by the caller), "pool" (which was closed), "dropped" (by a thread that
    did not release it)."""


class Tally:
    """The counters of a pool."""

    __slots__ = (
        "acquired",
        "closed",
        "given_up",
        "open_failures",
        "opened",
        "refused",
        "wait_seconds_max",
        "wait_seconds_total",
        "waited",
    )

    def __init__(self) -> None:
        self.acquired = 0
        self.waited = 0
        self.wait_seconds_total = 0.0
        self.wait_seconds_max = 0.0
        self.given_up = 0
        self.refused = 0
        self.opened = 0
        self.open_failures = 0
        self.closed: Counter[str] = Counter()

    def note_wait(self, seconds: float) -> None:
        """Record the seconds after which a caller got its connection."""
        self.wait_seconds_total += seconds
        self.wait_seconds_max = max(self.wait_seconds_max, seconds)
