"""Memory at a steady load: ``python -m benches.service.load.watch --minutes 60``.

Sends requests of every route, looks at the resident memory of the service and at what it holds
each ten seconds, prints the slope of the second half of the time, and draws it all.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import re
import signal
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benches.service.load.http_client import Client
from benches.service.load.memory_picture import draw
from benches.service.load.open_loop import Outcome, sent
from benches.service.load.processes import resident_bytes, with_children
from benches.service.load.stages import Running, Stage, running, stage

#: How many of fifty requests ask for what; a search of a day is not in the cache.
_SHARES = {"/search?dest=D17": 43, "/analytics": 5, "/search?day=DAY&month=MONTH&max_price=N": 1}
_EXPORT = "/export?months=2-2"
_BATCH_SECONDS = 10.0


@dataclass(frozen=True)
class Look:
    """The figures of a process at a time."""

    minutes: float
    service_mb: float
    database_mb: float
    tasks: float
    connections: float
    answered: int
    refused: int
    failed: int


def paths() -> itertools.chain[str]:
    """Requests without end: mostly of the cache, each route among them."""

    def of_a_second(number: int) -> list[str]:
        day, month = number % 28 + 1, number // 28 % 12 + 1
        found = [
            path.replace("DAY", str(day)).replace("MONTH", str(month)).replace("N", str(number))
            for path, count in _SHARES.items()
            for _ in range(count)
        ]
        return [*found, _EXPORT if number % 5 == 0 else "/readyz"]

    return itertools.chain.from_iterable(map(of_a_second, itertools.count()))


async def watched(service: Running, on: Stage, minutes: float, rate: float) -> list[Look]:
    """Look while requests are sent."""
    looks: list[Look] = []
    requests = paths()
    began = time.monotonic()
    async with Client(service.port, keep_bodies=True) as client:
        while (passed := time.monotonic() - began) < minutes * 60:
            outcome = await sent(client, requests, rate, min(_BATCH_SECONDS, minutes * 60 / 6))
            look = await looked(client, service, on, outcome, passed / 60)
            looks.append(look)
            print(look, outcome.errors() or "", flush=True)
    return looks


async def looked(
    client: Client, service: Running, on: Stage, outcome: Outcome, minutes: float
) -> Look:
    """Look at the memory, and ask what the process holds."""
    shown = (await client.get("/metrics")).body.decode()
    return Look(
        round(minutes, 2),
        round(resident_bytes(with_children(service.pid)) / 1e6, 2),
        round(resident_bytes(with_children(on.database_pid)) / 1e6, 2),
        metric(shown, "colonnade_loop_tasks"),
        metric(shown, "db_client_connection_count"),
        len(outcome.good),
        len(outcome.refused),
        outcome.sent - len(outcome.good) - len(outcome.refused),
    )


def metric(shown: str, name: str) -> float:
    """The sum of the values of a metric, as Prometheus reads it; raises ValueError without one."""
    found = re.findall(rf"^{name}(?:{{[^}}]*}})? ([0-9.e+-]+)$", shown, re.MULTILINE)
    if not found:
        raise ValueError(f"there is no metric {name}")
    return sum(map(float, found))


def slope(looks: list[Look]) -> float:
    """Megabytes an hour, by least squares over the second half."""
    half = looks[len(looks) // 2 :]
    line = statistics.linear_regression(
        [look.minutes / 60 for look in half], [look.service_mb for look in half]
    )
    return line.slope


def main() -> int:
    """Start everything, watch, stop everything; fail if a request did."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=50.0, help="requests a second")
    parser.add_argument("--picture", type=Path, default=Path("build/service-memory.svg"))
    options = parser.parse_args()
    # `kill` stops it as Ctrl-C does, and so everything that it has started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        on = stack.enter_context(stage(folder))
        service = stack.enter_context(running("colonnade", on))
        looks = asyncio.run(watched(service, on, options.minutes, options.rate))
    answered, refused, failed = (
        sum(getattr(look, name) for look in looks) for name in ("answered", "refused", "failed")
    )
    found = (
        f"{answered:,} answers in {options.minutes:g} minutes, {refused} refused, {failed} failed;"
        f" the service had {looks[len(looks) // 2].service_mb:.0f} MB at half of the time and"
        f" {looks[-1].service_mb:.0f} MB at the end: {slope(looks):+.1f} MB an hour"
    )
    print(found)
    draw([(look.minutes, look.service_mb) for look in looks], found, options.picture)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
