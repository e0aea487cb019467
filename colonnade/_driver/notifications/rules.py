"""The rules of listening: channels, the size of a queue, and attempts to reconnect."""

from __future__ import annotations

from colonnade.errors import (
    AuthenticationError,
    ClientConfigurationError,
    InterfaceError,
    InterfaceValueError,
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


def pause_before(attempt: int) -> float:
    """Return the pause in seconds before an attempt to reconnect; the first attempt is number 0."""
    import random

    most = PAUSE_SECONDS_LEAST * 2.0 ** min(attempt, _DOUBLINGS_MOST)
    # Random, so that clients that were cut off together do not reconnect together.
    return random.uniform(0.5, 1.0) * min(most, PAUSE_SECONDS_MOST)  # noqa: S311 - no secret


def checked_channels(channels: tuple[str, ...]) -> tuple[str, ...]:
    """Return the channels without duplicates. Raises InterfaceValueError if there are none."""
    if not channels:
        msg = "listen() needs at least one channel"
        raise InterfaceValueError(msg)
    return tuple(dict.fromkeys(channels))
