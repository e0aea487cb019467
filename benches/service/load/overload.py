"""Three times as many requests as a service can answer: how many it does, how fast it refuses.

The capacity is the most good answers a second that any rate has brought. Each run at three times as
much is beside one at the capacity, so that both meet the same machine.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benches.service.load.open_loop import percentile
from benches.service.load.workloads import mixed, only, uncached

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benches.service.load.steps import Step, Target

_FASTER = 1.5
#: Good answers have become more if they are by this much more.
_MORE = 1.03
#: The requests, the deadline of their answers, and the first rate that is tried.
MIXES: dict[str, tuple[Callable[[], Iterator[str]], float, float]] = {
    "new searches": (uncached, 1.0, 4),
    "analytics": (only("/analytics"), 0.5, 15),
    "mixed: 88 % of the cache": (mixed, 1.0, 50),
}


@dataclass
class Overload:
    """Good answers a second at the capacity and at three times as many requests."""

    title: str
    capacity: float
    at_capacity: list[float] = field(default_factory=list)
    at_three: list[float] = field(default_factory=list)
    refusals: list[float] = field(default_factory=list)
    """Seconds until a refusal, from the moment at which its request was due."""
    statuses: Counter[str] = field(default_factory=Counter)
    limits: list[str] = field(default_factory=list)

    @property
    def kept(self) -> float:
        """The goodput at three times the capacity, as a part of the goodput at the capacity."""
        return statistics.median(self.at_three) / statistics.median(self.at_capacity)

    @property
    def refusal_p99(self) -> float:
        """In seconds."""
        return percentile(self.refusals, 99)

    def __str__(self) -> str:
        return (
            f"{self.title}: {statistics.median(self.at_capacity):.1f} good answers/s at the"
            f" capacity of {self.capacity:.0f}/s,"
            f" {statistics.median(self.at_three):.1f} at three times"
            f" as many ({self.kept:.0%});"
            f" refusals p50 {percentile(self.refusals, 50) * 1e3:.1f} ms,"
            f" p99 {self.refusal_p99 * 1e3:.1f} ms; {dict(self.statuses)}; {self.limits[-1]}"
        )


async def overloaded(
    name: str, target: Target, *, rounds: int, seconds: float, capacity: float = 0
) -> Overload:
    """Find the capacity, unless it is given; then send that and three times as much in turn."""
    paths, deadline, _ = MIXES[name]
    # Clients say how long they will wait, so that nothing is done in vain.
    target = dataclasses.replace(target, headers=f"X-Deadline-Ms: {deadline * 1e3:.0f}\r\n")
    requests = paths()
    if not capacity:
        capacity = await _capacity(name, target, requests, seconds / 2)
    result = Overload(name, capacity)
    for _ in range(rounds):
        usual = await target.step(requests, capacity, seconds)
        result.at_capacity.append(_goodput(usual, deadline))
        much = await target.step(requests, 3 * capacity, seconds)
        result.at_three.append(_goodput(much, deadline))
        result.refusals += much.outcome.refused
        result.statuses += much.outcome.statuses
        result.limits.append(much.limit())
    return result


async def _capacity(name: str, target: Target, requests: Iterator[str], seconds: float) -> float:
    """Raise the rate until two steps in a row have not brought more good answers."""
    _, deadline, rate = MIXES[name]
    most, vain = 0.0, 0
    while vain < 2:
        good = _goodput(await target.step(requests, rate, max(seconds, 50 / rate)), deadline)
        vain = 0 if good > _MORE * most else vain + 1
        most, rate = max(most, good), _FASTER * rate
    return most


def _goodput(made: Step, deadline: float) -> float:
    return made.outcome.within(deadline) / made.outcome.seconds
