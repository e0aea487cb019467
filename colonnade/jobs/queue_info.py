"""The entry of one queue in the table of queues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from colonnade.jobs.retry import Retry


@dataclass(frozen=True)
class QueueInfo:
    """A queue of a schema: its layout and its rules, but no numbers of jobs."""

    schema: str
    name: str
    layout: str
    """How its jobs are stored: `rows` or `segments`."""
    version: int
    """The version of the layout."""
    retry: Retry
    ttl: float | None
    max_length: int | None
    created_at: datetime
