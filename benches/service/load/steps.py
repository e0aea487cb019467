"""One step of a load: requests at a rate, what became of them, and what they cost."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benches.service.load.http_client import Client
from benches.service.load.open_loop import Outcome, sent
from benches.service.load.processes import Meter, Usage, children_with, with_children

if TYPE_CHECKING:
    from benches.service.load.stages import Running, Stage

#: A rate is too high if more than one of a hundred requests is not answered 200 in time.
SHARE_LEAST = 0.99
_BUSY = 0.85


@dataclass(frozen=True)
class Step:
    """The result of a rate."""

    outcome: Outcome
    usage: Usage

    def passed(self, deadline: float) -> bool:
        """Whether p99 is within the deadline; an error counts as an answer that never comes."""
        return self.outcome.share_within(deadline) >= SHARE_LEAST

    @property
    def cpu_ms(self) -> float:
        """Milliseconds of processors that the service's processes had for each request."""
        return self.usage.by_role["service"] / self.outcome.sent * 1e3

    def limit(self) -> str:
        """The resource that was used up, or the cause of the waits."""
        usage = self.usage
        busiest = usage.busiest["service"] / usage.seconds
        shares = ", ".join(f"{role} {usage.share(role):.0%}" for role in usage.by_role)
        others = usage.others * usage.processors
        shares += f", others {others:.0%}"
        if busiest >= _BUSY:
            cause = f"a thread of the service has {busiest:.0%} of a processor"
        elif usage.share("service") >= _BUSY:
            cause = f"the threads of the service have {usage.share('service'):.0%} of a processor"
        elif usage.busy >= _BUSY:
            cause = f"all processors are busy ({usage.busy:.0%})"
        else:
            cause = f"waits: the processors are {usage.busy:.0%} busy"
        errors = self.outcome.errors()
        return f"{cause}; {shares}" + (f"; {errors}" if errors else "")


def roles_of(service: Running, on: Stage) -> dict[str, list[int]]:
    """The processes that a step is about."""
    return {
        "service": with_children(service.pid),
        "database": with_children(on.database_pid),
        "suppliers": children_with("examples.service.suppliers"),
        "driver": [os.getpid()],
    }


@dataclass(frozen=True)
class Target:
    """A service that is asked."""

    service: Running
    on: Stage
    patience: float
    """How long a caller waits; then it has an error."""
    headers: str = ""
    """Further headers of each request, such as ``X-Deadline-Ms: 500`` with its line's end."""

    async def step(self, paths: Iterator[str], rate: float, seconds: float) -> Step:
        """Send requests at a rate, and look at the processes meanwhile."""
        # The driver's own pauses would count as the service's.
        gc.collect()
        gc.freeze()
        meter = Meter(roles_of(self.service, self.on))
        async with Client(self.service.port) as client:
            outcome = await sent(
                client, paths, rate, seconds, patience=self.patience, headers=self.headers
            )
        return Step(outcome, meter.read())
