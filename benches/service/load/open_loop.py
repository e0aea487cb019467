"""An open loop: requests are sent when they are due, whatever became of the earlier ones.

The time of an answer counts from the moment at which its request was due. A client that waits for
an answer before it sends the next request would measure one slow answer, where many callers would
have waited (coordinated omission).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benches.service.load.http_client import Client


@dataclass
class Outcome:
    """The outcome of a run's requests; times are in seconds."""

    planned: float
    """Requests a second."""
    seconds: float
    """How long they were sent."""
    statuses: Counter[str] = field(default_factory=Counter)
    """By status and cause of a refusal, or by the name of an error."""
    good: list[float] = field(default_factory=list)
    """The times of the answers 200."""
    refused: list[float] = field(default_factory=list)
    """The times of the answers 503 that say why."""
    size: int = 0
    """The bytes of the bodies."""

    @property
    def sent(self) -> int:
        """All requests."""
        return self.statuses.total()

    def share_within(self, deadline: float) -> float:
        """The share of all requests that were answered 200 in time."""
        return self.within(deadline) / self.sent if self.sent else 0.0

    def within(self, deadline: float) -> int:
        """How many requests were answered 200 in time."""
        return sum(seconds <= deadline for seconds in self.good)

    def percentile(self, part: float) -> float:
        """Of the times of good answers; infinite if there are none."""
        return percentile(self.good, part)

    def errors(self) -> dict[str, int]:
        """The counts of the answers other than 200."""
        return {name: count for name, count in self.statuses.items() if name != "200"}

    def note(self, name: str, seconds: float) -> None:
        """Count an answer."""
        self.statuses[name] += 1
        if name == "200":
            self.good.append(seconds)
        elif name.startswith("503 "):
            self.refused.append(seconds)


def percentile(times: list[float], part: float) -> float:
    """The time that `part` percent of the times do not exceed; infinite if there are none."""
    if not times:
        return float("inf")
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part / 100))]


async def sent(
    client: Client,
    paths: Iterator[str],
    rate: float,
    seconds: float,
    *,
    patience: float = 10.0,
    headers: str = "",
) -> Outcome:
    """Send `rate` times `seconds` requests, evenly spaced, and wait for all of their answers.

    A caller has given up after `patience`; that is an error.
    """
    loop = asyncio.get_running_loop()
    outcome = Outcome(rate, seconds)

    async def ask(path: str, due: float) -> None:
        try:
            reply = await client.get(path, seconds_max=patience, headers=headers)
        except (OSError, TimeoutError) as error:
            outcome.note(type(error).__name__, loop.time() - due)
            return
        name = f"{reply.status} {reply.header('x-shed')}".rstrip()
        outcome.note(name, loop.time() - due)
        outcome.size += reply.size

    began = loop.time()
    async with asyncio.TaskGroup() as group:
        for number in range(round(rate * seconds)):
            due = began + number / rate
            wait = due - loop.time()
            if wait > 0:
                await asyncio.sleep(wait)
            group.create_task(ask(next(paths), due))
    return outcome
