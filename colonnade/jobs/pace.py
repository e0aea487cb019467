"""How many jobs a worker takes at once, and how soon it connects again."""

from __future__ import annotations

import time

_FIRST = 10
# A lost connection is opened again at once, because leases do not wait, unless it was lost soon.
_SOON_S = 1.0
# Before a server that is away is asked again: the pauses double.
_AGAIN_S = 0.05
_AGAIN_MOST_S = 1.0


class Pace:
    """Few jobs at first, and after the queue was empty; each full batch doubles the next one.

    So the first of several idle workers does not take all of a few slow jobs, which it would hold
    while the others have none; under load, batches are soon as large as they may be.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.limit = min(_FIRST, most)

    def note(self, got: int) -> None:
        """Note the number of jobs that a look has got."""
        if got >= self.limit:
            self.limit = min(2 * self.limit, self._most)
        elif not got:
            self.limit = min(_FIRST, self._most)


class EvenPace(Pace):
    """As many as the caller asks for."""

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self.limit = most

    def note(self, got: int) -> None:
        """Nothing changes."""


class Comebacks:
    """The pauses before a connection is opened again."""

    def __init__(self) -> None:
        self._opened_at: float | None = None
        self._again = _AGAIN_S

    def opened(self) -> None:
        """There is a connection."""
        self._opened_at = time.monotonic()

    def pause(self) -> float:
        """The seconds until the next attempt, after a lost connection or a failed attempt."""
        if self._opened_at is not None:
            lasted = time.monotonic() - self._opened_at
            self._opened_at, self._again = None, _AGAIN_S
            return max(0.0, _SOON_S - lasted)
        pause = self._again
        self._again = min(2 * pause, _AGAIN_MOST_S)
        return pause
