"""Notifications, and gaps between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Notification:
    """One notification, sent by NOTIFY."""

    channel: str
    payload: str
    pid: int
    """The process ID of the sending server process."""
    gap: bool = False
    """Whether notifications before this one may have been lost."""


@dataclass(frozen=True, slots=True)
class NotificationGap:
    """A gap between notifications, in which others were lost or may have been."""

    reason: Literal["reconnected", "overflow"]
    """The cause: "reconnected" after a lost connection, "overflow" if the queue was full."""
    lost: int | None
    """The number of dropped notifications; None after a lost connection, where it is unknown."""
    seconds: float | None
    """The seconds without a connection; None if the queue was full."""
