"""The program that loads one event loop: a job as JSON on stdin, the delays as JSON on stdout.

Three pings measure how long other tasks on the loop wait: a sleep of a millisecond, by how late it
ends; an echo, a line to a program that sends it back; and a small query on its own connection. All
three run once on an idle loop, and once while a large result arrives.

The programs that answer the pings have real-time priority where the system allows it, so that the
figures show delays of the loop and not the wait for a busy core.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import json
import os
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import colonnade
from benches.measure.ticker import Ticker

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    Ping = Callable[[], Awaitable[object]]

_PAUSE_S = 0.001
_SETTLE_S = 0.05
#: An idle loop is watched for as long as a fetch takes, and at least this long.
_IDLE_S_MIN = 0.5


async def felt(job: dict[str, Any]) -> dict[str, Any]:
    """Measure the holds at every size, and the pings at the largest."""
    answer: dict[str, Any] = {"holds": [], "pings": {}}
    async with await colonnade.connect(job["dsn"]) as connection:
        fetch = connection.fetch if job["mode"] == "rows" else connection.fetch_columns
        await fetch(job["sql"].format(rows=1))
        for rows in job["sizes"]:
            gc.collect()
            async with Ticker() as ticker:
                result = await fetch(job["sql"].format(rows=rows))
            # Keep the result alive until here: freeing it also holds the loop.
            del result
            answer["holds"].append({"rows": rows, "gap_s": ticker.gap_s, "burst_s": ticker.burst_s})
        gc.collect()
        started = time.perf_counter()
        async with pinged(job["dsn"]) as busy:
            started = time.perf_counter()
            result = await fetch(job["sql"].format(rows=max(job["sizes"])))
            took = time.perf_counter() - started
        del result
        gc.collect()
        async with pinged(job["dsn"]) as idle:
            await asyncio.sleep(max(took, _IDLE_S_MIN))
    answer["fetch_s"] = took
    answer["pings"] = {
        name: {"idle": quantiles(idle.times[name]), "busy": quantiles(busy.times[name])}
        for name in busy.times
    }
    answer["answered_at_once"] = busy.at_once and idle.at_once
    return answer


@dataclass(frozen=True)
class Pings:
    """The times of each ping in seconds, and whether their answerers have real-time priority."""

    times: dict[str, list[float]]
    at_once: bool


@contextlib.asynccontextmanager
async def pinged(dsn: str) -> AsyncIterator[Pings]:
    """Ping beside the block."""
    echo = await asyncio.create_subprocess_exec(
        "cat", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert echo.stdin is not None
    assert echo.stdout is not None
    to_echo, from_echo = echo.stdin, echo.stdout

    async def line() -> None:
        to_echo.write(b"ping\n")
        await from_echo.readline()

    async with await colonnade.connect(dsn) as connection:
        pings: dict[str, Ping] = {
            "sleep": lambda: asyncio.sleep(0),
            "echo": line,
            "query": lambda: connection.fetchval("SELECT 1"),
        }
        times: dict[str, list[float]] = {name: [] for name in pings}
        is_echo_preferred = _prefer(echo.pid)
        is_server_preferred = _prefer(connection.get_server_pid())
        taken_beside = Pings(times, at_once=is_echo_preferred and is_server_preferred)
        tasks = [asyncio.create_task(_keep(ping, times[name])) for name, ping in pings.items()]
        try:
            await asyncio.sleep(_SETTLE_S)
            for taken in times.values():
                taken.clear()
            yield taken_beside
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    to_echo.close()
    await echo.wait()


def _prefer(pid: int | None) -> bool:
    """Give a process real-time priority; return False if the system refuses."""
    if pid is None:
        return False
    try:
        os.sched_setscheduler(pid, os.SCHED_FIFO, os.sched_param(1))
    except (AttributeError, OSError):
        return False
    return True


async def _keep(ping: Ping, times: list[float]) -> None:
    while True:
        # A ping is timed from the moment it is due, not from the moment the loop starts it.
        due = time.perf_counter() + _PAUSE_S
        await asyncio.sleep(_PAUSE_S)
        await ping()
        times.append(time.perf_counter() - due)


def quantiles(times: list[float]) -> dict[str, float]:
    """Summarise times in seconds."""
    ordered = sorted(times)
    if not ordered:
        return {"count": 0}
    at = {name: ordered[round(part * (len(ordered) - 1))] for name, part in _PARTS.items()}
    return {"count": len(ordered), **at}


_PARTS = {"p50": 0.5, "p99": 0.99, "max": 1.0}


def main() -> None:
    """Run the job on the loop that it names."""
    job = json.load(sys.stdin)
    factory = importlib.import_module(job["loop"]).new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        print(json.dumps(runner.run(felt(job))))


if __name__ == "__main__":
    main()
