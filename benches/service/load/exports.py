"""Exports back to back by some readers, and pings beside them: how long these wait."""

from __future__ import annotations

import asyncio
import itertools
import json
import statistics
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from benches.service.load.http_client import Client
from benches.service.load.open_loop import sent
from benches.service.load.processes import Meter
from benches.service.load.steps import roles_of
from examples.service.commands import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benches.service.load.stages import Running, Stage

PINGS = 50.0
_PING = "/livez"


@dataclass
class Exports:
    """The figures of a variant, one for each round."""

    title: str
    readers: int
    each_second: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    """Of the service, for one export."""
    idle_p99: list[float] = field(default_factory=list)
    busy_p99: list[float] = field(default_factory=list)
    failed: int = 0
    limits: list[str] = field(default_factory=list)

    def median(self, name: str) -> float:
        """The median of the rounds."""
        values: list[float] = getattr(self, name)
        return statistics.median(values)


async def exports(
    services: Mapping[str, Running], on: Stage, *, readers: int, rounds: int, seconds: float
) -> list[Exports]:
    """Measure each variant in turn, in some rounds."""
    results = {name: Exports(running.variant.title, readers) for name, running in services.items()}
    for _ in range(rounds):
        for name, service in services.items():
            await _measure(results[name], service, on, seconds)
    return list(results.values())


async def _measure(result: Exports, service: Running, on: Stage, seconds: float) -> None:
    async with Client(service.port) as client:
        await sent(client, itertools.repeat(_PING), PINGS, 0.5)
        idle = await sent(client, itertools.repeat(_PING), PINGS, seconds)
        meter = Meter(roles_of(service, on))
        reading = asyncio.gather(*(_read(service.port, seconds) for _ in range(result.readers)))
        busy = await sent(client, itertools.repeat(_PING), PINGS, seconds)
        usage = meter.read()
        read = await reading
    each_second = sum(one["exports"] / one["seconds"] for one in read)
    errors = [error for one in read for error in one["errors"]]
    result.each_second.append(each_second)
    result.cpu_seconds.append(usage.share("service") / each_second if each_second else 0.0)
    result.idle_p99.append(idle.percentile(99))
    result.busy_p99.append(busy.percentile(99))
    result.failed += len(errors) + idle.sent - len(idle.good) + busy.sent - len(busy.good)
    shares = ", ".join(f"{role} {usage.share(role):.0%}" for role in usage.by_role)
    result.limits.append(f"{shares}, others {usage.others * usage.processors:.0%}")
    print(
        f"  {result.title}: {each_second:.2f} exports/s by {result.readers}, ping p99"
        f" {result.idle_p99[-1] * 1e3:.1f} -> {result.busy_p99[-1] * 1e3:.1f} ms;"
        f" {result.limits[-1]} {errors or ''}",
        flush=True,
    )


async def _read(port: int, seconds: float) -> dict[str, Any]:
    """Read exports in a process of its own: the pings of this one must not wait for them."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "benches.service.load.export_reader",
        str(port),
        str(seconds),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    told, _ = await process.communicate()
    return dict(json.loads(told))
