"""How often, and after which pauses, a job that failed is tried again."""

from __future__ import annotations

import random
from dataclasses import dataclass

from colonnade._words.arguments import check_between, check_whole

ATTEMPTS_MOST = 32_000


@dataclass(frozen=True)
class Retry:
    """The policy of a queue for jobs that fail.

    A job is tried at most `max_attempts` times. Before attempt n + 1 it waits
    `delay * factor ** (n - 1)` seconds, at most `delay_max`. A random part of up to `jitter` (0 to
    1) of the pause is left out, so that jobs that failed together do not come back together.
    """

    max_attempts: int = 20
    delay: float = 1.0
    factor: float = 2.0
    delay_max: float = 3600.0
    jitter: float = 0.2

    def __post_init__(self) -> None:
        check_whole("max_attempts", self.max_attempts)
        check_between("max_attempts", self.max_attempts, 1, ATTEMPTS_MOST)
        for option, least, most in (
            ("delay", 0, 10**9),
            ("factor", 1, 10**6),
            ("delay_max", 0, 10**9),
            ("jitter", 0, 1),
        ):
            check_between(option, getattr(self, option), least, most)

    def pause(self, attempts: int) -> float:
        """Return the seconds to wait after `attempts` failures; a new random part each time."""
        # Far more doublings than any pause needs would overflow.
        exponent = min(max(attempts, 1) - 1, 1000)
        try:
            longest = min(self.delay * self.factor**exponent, self.delay_max)
        except OverflowError:
            longest = self.delay_max if self.delay else 0.0
        return longest * (1 - self.jitter * random.random())  # noqa: S311 - no secret
