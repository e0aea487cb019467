"""How often, and after which pauses, a job that failed is tried again."""

from __future__ import annotations

import random
from dataclasses import dataclass

from colonnade._words.arguments import check_number, check_whole
from colonnade._words.shown import shown

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
        if not 1 <= self.max_attempts <= ATTEMPTS_MOST:
            msg = f"max_attempts must be from 1 to {ATTEMPTS_MOST}, not {self.max_attempts}"
            raise ValueError(msg)
        for option, least, most in (
            ("delay", 0, 10**9),
            ("factor", 1, 10**6),
            ("delay_max", 0, 10**9),
            ("jitter", 0, 1),
        ):
            value = getattr(self, option)
            check_number(option, value)
            if not least <= value <= most:
                msg = f"{option} must be from {least} to {most}, not {shown(value)}"
                raise ValueError(msg)

    def pause(self, attempts: int) -> float:
        """Return the seconds to wait after `attempts` failures; a new random part each time."""
        # Far more doublings than any pause needs would overflow.
        exponent = min(max(attempts, 1) - 1, 1000)
        try:
            longest = min(self.delay * self.factor**exponent, self.delay_max)
        except OverflowError:
            longest = self.delay_max if self.delay else 0.0
        return longest * (1 - self.jitter * random.random())  # noqa: S311 - no secret
