"""`make soak`: the soaks at full size, with counts of their operations.

    python -m tests.soak [asyncio] [uvloop] [threads] [interrupts]
                         [gathers-asyncio] [gathers-uvloop] [gathers-threads]

`SOAK_OPERATIONS` is their size, `SOAK_SEED` the seed; each soak prints its seed.
"""

from __future__ import annotations

import asyncio
import os
import random
import statistics
import sys
import time
from typing import TYPE_CHECKING

import psycopg
import uvloop

from tests.soak import gathers, interrupts, tasks, threads
from tests.soak.books import TABLES, Tally
from tests.soak.storm import Weather
from tests.support.restarts import RestartableServer

if TYPE_CHECKING:
    from collections.abc import Callable

_ROUND = 2_000
_INTERRUPTED_SECONDS_MAX = 3_600.0


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def rounds(operations: int) -> list[tuple[Weather, int]]:
    """Of five rounds, two are calm, two stormy, and one restarts the server."""
    cycle = (Weather.CALM, Weather.STORM, Weather.RESTART, Weather.CALM, Weather.STORM)
    count = max(1, operations // _ROUND)
    return [(cycle[n % len(cycle)], min(_ROUND, operations)) for n in range(count)]


def growth(resident: list[int]) -> str:
    third = max(1, len(resident) // 3)
    early = statistics.median(resident[third : 2 * third] or resident)
    late = statistics.median(resident[-third:])
    if late > 1.25 * early + 16 * 1024:
        raise AssertionError(f"memory grows: from {early:.0f} KiB to {late:.0f} KiB")
    return f"{early / 1024:.1f} MiB in the middle third of rounds, {late / 1024:.1f} in the last"


def soak_tasks(
    factory: Callable[[], asyncio.AbstractEventLoop],
) -> Callable[[RestartableServer, int, int], tuple[Tally, list[int]]]:
    def run(server: RestartableServer, seed: int, operations: int) -> tuple[Tally, list[int]]:
        soak = tasks.Soak(server, seed)
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(soak.run(rounds(operations), say))
        return soak.tally, soak.resident

    return run


def soak_threads(server: RestartableServer, seed: int, operations: int) -> tuple[Tally, list[int]]:
    soak = threads.Soak(server, seed)
    soak.run(rounds(operations), say)
    return soak.tally, soak.resident


def soak_interrupted(
    server: RestartableServer, seed: int, operations: int
) -> tuple[Tally, list[int]]:
    """Run a tenth of the operations per kind of user, with hundreds of Ctrl-C a second."""
    tally, count = Tally(), max(1, operations // 10)
    for mode in interrupts.MODES:
        done = interrupts.soak(server.dsn, mode, count, seed, _INTERRUPTED_SECONDS_MAX)
        for name, counts in done.items():
            listed = ", ".join(f"{kind} {number}" for kind, number in counts.most_common())
            say(f"  {mode}: {name} {listed}")
        tally.operations.update(done["operations"])
        tally.outcomes["its own result"] += done["outcomes"]["its own result"]
        tally.outcomes["interrupted"] += done["outcomes"]["interrupted"]
        tally.faults["Ctrl-C within an operation"] += done["Ctrl-C"]["within operations"]
    return tally, []


def soak_gathers(
    factory: Callable[[], asyncio.AbstractEventLoop],
) -> Callable[[RestartableServer, int, int], tuple[Tally, list[int]]]:
    """A gather has up to a dozen queries, so a tenth of the operations."""

    def run(server: RestartableServer, seed: int, operations: int) -> tuple[Tally, list[int]]:
        soak = gathers.Tasks(server.dsn, seed)
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(soak.run(max(1, operations // 10), say))
        return soak.tally, soak.resident

    return run


def soak_gathers_of_threads(
    server: RestartableServer, seed: int, operations: int
) -> tuple[Tally, list[int]]:
    soak = gathers.Threads(server.dsn, seed)
    soak.run(max(1, operations // 50), say)
    return soak.tally, soak.resident


SOAKS = {
    "asyncio": soak_tasks(asyncio.new_event_loop),
    "uvloop": soak_tasks(uvloop.new_event_loop),
    "threads": soak_threads,
    "interrupts": soak_interrupted,
    "gathers-asyncio": soak_gathers(asyncio.new_event_loop),
    "gathers-uvloop": soak_gathers(uvloop.new_event_loop),
    "gathers-threads": soak_gathers_of_threads,
}


def main() -> None:
    operations = int(os.environ.get("SOAK_OPERATIONS") or "100000")
    for name in sys.argv[1:] or list(SOAKS):
        seed = int(os.environ.get("SOAK_SEED") or random.randrange(1 << 32))
        say(f"soak on {name}: SOAK_OPERATIONS={operations} SOAK_SEED={seed}")
        began = time.monotonic()
        with RestartableServer() as server:
            with psycopg.connect(server.dsn, autocommit=True) as connection:
                connection.execute(TABLES.encode())
            tally, resident = SOAKS[name](server, seed, operations)
        say(f"{name}: {tally.total} operations in {time.monotonic() - began:.0f} s")
        for line in tally.lines():
            say(line)
        if resident:
            say(f"  memory: {growth(resident)}")


if __name__ == "__main__":
    main()
