"""What a NOTIFY said, what became of others, and how often a lost connection is tried again."""

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
# What may be over the next time. What the caller did wrong stays wrong.
PASSING = (OSError, PostgresError, InternalClientError, InterfaceError)
STAYING = (ClientConfigurationError, AuthenticationError)


@dataclass(frozen=True, slots=True)
class Notification:
    """What a NOTIFY said."""

    channel: str
    payload: str
    pid: int
    """The server process that sent it."""
    gap: bool = False
    """Whether notifications before this one may have been lost."""


@dataclass(frozen=True, slots=True)
class NotificationGap:
    """A place where notifications were lost, or may have been."""

    reason: Literal["reconnected", "overflow"]
    """The connection was lost and is there again, or the queue was full."""
    lost: int | None
    """How many were dropped because the queue was full; None where nobody can know."""
    seconds: float | None
    """How long nobody listened; None where the queue was full."""


def pause_before(attempt: int) -> float:
    """The seconds before an attempt to connect again, of which the first has the number 0."""
    import random

    most = PAUSE_SECONDS_LEAST * 2.0 ** min(attempt, _DOUBLINGS_MOST)
    # Those that were cut off together shall not come back together.
    return random.uniform(0.5, 1.0) * min(most, PAUSE_SECONDS_MOST)  # noqa: S311 - no secret


def checked_channels(channels: tuple[str, ...]) -> tuple[str, ...]:
    """The channels, each once."""
    if not channels:
        msg = "no channel is named to listen on"
        raise InterfaceError(msg)
    return tuple(dict.fromkeys(channels))
