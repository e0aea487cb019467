"""Looks for each variant's highest rate; they take turns, so that all meet the same machine."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benches.service.load.processes import Meter
from benches.service.load.rate_search import RateSearch
from benches.service.load.steps import Step, Target, roles_of
from examples.service.suppliers.processes import change_mood

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benches.service.load.stages import Running, Stage
    from benches.service.load.workloads import Contestant, Workload

_SETTLE_SECONDS_MAX = 8.0
#: A part of a processor that monitors and a checkpointer may use.
_STILL = 0.15


@dataclass
class Result:
    """The rates that a contestant reached."""

    contestant: Contestant
    target: Target
    search: RateSearch
    best: Step | None = None
    first_failed: Step | None = None
    steps: list[Step] = field(default_factory=list)

    def note(self, made: Step, deadline: float) -> None:
        """Keep a step, and choose the next rate."""
        self.steps.append(made)
        rate, passed = self.search.next, made.passed(deadline)
        self.search.took(passed=passed)
        if passed:
            self.best = made
        elif self.search.worst == rate:
            self.first_failed = made


async def contest(
    workload: Workload,
    services: Mapping[str, Running],
    on: Stage,
    *,
    seconds: float,
) -> list[Result]:
    """Try rates in turn until each contestant's highest one is known."""
    patience = 1.0 + 2 * workload.deadline
    results = [
        Result(
            contestant,
            Target(services[contestant.variant], on, patience),
            RateSearch(workload.first_rate),
        )
        for contestant in workload.contestants
        if contestant.variant in services
    ]
    await change_mood(on.suppliers, workload.mood)
    for result in results:
        # The first request makes lasting objects: they are made before.
        await _stepped(result, workload.first_rate, 1.0)
    while any(result.search.next for result in results):
        for result in results:
            rate = result.search.next
            if rate is None:
                continue
            made = await _stepped(result, rate, seconds)
            result.note(made, workload.deadline)
            told = made.outcome
            print(
                f"  {result.contestant.title}: {rate:.0f}/s,"
                f" {told.share_within(workload.deadline):.1%} in time,"
                f" p99 {told.percentile(99) * 1e3:.1f} ms, {made.cpu_ms:.2f} ms CPU,"
                f" others {made.usage.others:.0%} of the machine {told.errors() or ''}",
                flush=True,
            )
    return results


async def _stepped(result: Result, rate: float, seconds: float) -> Step:
    # At least fifty requests: of fewer, a percentile says nothing.
    seconds = min(max(seconds, 50 / rate), 4 * seconds)
    made = await result.target.step(result.contestant.paths(), rate, seconds)
    await _settled(result.target)
    return made


async def _settled(target: Target) -> None:
    """Wait until abandoned requests are no longer worked on, for a while at most."""
    give_up = time.monotonic() + _SETTLE_SECONDS_MAX
    roles = roles_of(target.service, target.on)
    while time.monotonic() < give_up:
        meter = Meter(roles)
        await asyncio.sleep(0.2)
        usage = meter.read()
        if usage.share("service") + usage.share("database") < _STILL:
            return
