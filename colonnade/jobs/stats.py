"""The numbers of a queue."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class QueueStats:
    """The jobs of a queue by state, in one snapshot of the database."""

    total: int
    """The jobs in the queue: ready, delayed or leased."""
    ready: int
    """Those that the next `get` may return."""
    delayed: int
    """Those whose time has not come, as delayed or as failed."""
    leased: int
    """Those that a worker holds."""
    dead: int
    """The dead letters, which are not in `total`."""
    oldest_ready_s: float
    """The seconds for which the oldest ready job has been ready; 0 without one."""
