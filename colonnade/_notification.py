"""Notifications, gaps between them, and the pauses between attempts to reconnect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from colonnade.errors import (
    AuthenticationError,
    ClientConfigurationError,
    InterfaceError,
    InternalClientError,
    PostgresError,
)

QUEUE_SIZE = 10_000
PAUSE_SECONDS_LEAST = 0.1
PAUSE_SECONDS_MOST = 30.0
_DOUBLINGS_MOST = 10
# Errors that may be gone at the next attempt, except those of STAYING, which the caller must fix.
PASSING = (OSError, PostgresError, InternalClientError, InterfaceError)
STAYING = (ClientConfigurationError, AuthenticationError)


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


def pause_before(attempt: int) -> float:
    """Return the pause in seconds before an attempt to reconnect; the first attempt is number 0."""
    import random

    most = PAUSE_SECONDS_LEAST * 2.0 ** min(attempt, _DOUBLINGS_MOST)
    # Random, so that clients that were cut off together do not reconnect together.
    return random.uniform(0.5, 1.0) * min(most, PAUSE_SECONDS_MOST)  # noqa: S311 - no secret


def checked_channels(channels: tuple[str, ...]) -> tuple[str, ...]:
    """Return the channels without duplicates. Raises InterfaceError if there are none."""
    if not channels:
        msg = "listen() needs at least one channel"
        raise InterfaceError(msg)
    return tuple(dict.fromkeys(channels))
