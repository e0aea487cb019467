"""The program that measures one peer once: a job as JSON on stdin, its cost as JSON on stdout.

Run as `python -m benches.measure.child`. The job comes on stdin because all users can read an
argument list, and a DSN may hold a password.

Only the fetch is measured: imports, connecting and one small query come first. The hold of the
event loop is measured in a second fetch, because its ticker runs every millisecond and uses
processor time that must not count as the peer's.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import inspect
import json
import resource
import sys
import time
import traceback
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, cast

from benches.measure.measurement import Fetched, Measurement
from benches.measure.memory import PeakMemory
from benches.measure.ticker import Ticker

if TYPE_CHECKING:
    from collections.abc import Coroutine

WARM_UP_SQL = "SELECT 1"
IDLE_S = 0.1


@dataclass(frozen=True)
class Job:
    """The task of a child."""

    module: str
    dsn: str = field(repr=False)
    sql: str
    #: Also measure how long the event loop is held, in a second fetch.
    hold: bool = True


class AsyncPeer(Protocol):
    """The functions of a peer module that runs on an event loop."""

    async def connect(self, dsn: str) -> Any:
        """Import the driver and connect."""

    async def fetch(self, connection: Any, sql: str) -> Fetched:
        """Fetch the whole result."""
        raise NotImplementedError

    async def close(self, connection: Any) -> None:
        """Close the connection."""


class BlockingPeer(Protocol):
    """The functions of a peer module that blocks."""

    def connect(self, dsn: str) -> Any:
        """Import the driver and connect."""

    def fetch(self, connection: Any, sql: str) -> Fetched:
        """Fetch the whole result."""
        raise NotImplementedError

    def close(self, connection: Any) -> None:
        """Close the connection."""


class _Meter:
    """Reads the three costs around a fetch."""

    def __init__(self) -> None:
        # Collect the garbage of the imports now, so that the fetch does not pay for it.
        gc.collect()
        self._memory = PeakMemory()
        self._usage = resource.getrusage(resource.RUSAGE_SELF)
        self._start = time.perf_counter()

    def read(self, fetched: Fetched) -> Measurement:
        """Return the costs; the result must still be alive."""
        wall = time.perf_counter() - self._start
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return Measurement(
            rows=fetched.rows,
            wall_s=wall,
            cpu_user_s=usage.ru_utime - self._usage.ru_utime,
            cpu_system_s=usage.ru_stime - self._usage.ru_stime,
            peak_memory_bytes=self._memory.growth_bytes(),
            result_bytes=fetched.result_bytes,
        )


async def measure_async(peer: AsyncPeer, job: Job) -> Measurement:
    """Measure a peer on the running event loop."""
    connection = await peer.connect(job.dsn)
    try:
        if (prepare := getattr(peer, "prepare", None)) is not None:
            await prepare(connection, job.sql)
        else:
            await peer.fetch(connection, WARM_UP_SQL)
        meter = _Meter()
        fetched = await peer.fetch(connection, job.sql)
        cost = meter.read(fetched)
        del fetched
        if not job.hold:
            return cost
        gc.collect()
        async with Ticker() as idle:
            await asyncio.sleep(IDLE_S)
        async with Ticker() as busy:
            fetched = await peer.fetch(connection, job.sql)
        # Keep the result alive until here: freeing it also holds the loop, but is not measured.
        del fetched
    finally:
        await peer.close(connection)
    return replace(cost, loop_gap_s=busy.gap_s, loop_burst_s=busy.burst_s, idle_gap_s=idle.gap_s)


def measure_blocking(peer: BlockingPeer, job: Job) -> Measurement:
    """Measure a peer that blocks its thread."""
    connection = peer.connect(job.dsn)
    try:
        if (prepare := getattr(peer, "prepare", None)) is not None:
            prepare(connection, job.sql)
        else:
            peer.fetch(connection, WARM_UP_SQL)
        meter = _Meter()
        fetched = peer.fetch(connection, job.sql)
        return meter.read(fetched)
    finally:
        peer.close(connection)


def measure(job: Job) -> Measurement:
    """Run the job's peer, on an event loop if its functions are coroutines."""
    module = importlib.import_module(job.module)
    if not inspect.iscoroutinefunction(module.fetch):
        return measure_blocking(cast("BlockingPeer", module), job)
    return _run(measure_async(cast("AsyncPeer", module), job), getattr(module, "LOOP", "asyncio"))


def _run(coroutine: Coroutine[Any, Any, Measurement], loop: str) -> Measurement:
    if loop == "asyncio":
        return asyncio.run(coroutine)
    # The only other loop is uvloop, whose module has the same `new_event_loop` as asyncio.
    with asyncio.Runner(loop_factory=importlib.import_module(loop).new_event_loop) as runner:
        return runner.run(coroutine)


def main() -> int:
    """Read the job; print its cost, or the reason why it failed."""
    job = Job(**json.load(sys.stdin))
    try:
        answer = measure(job).to_dict()
    except Exception as error:  # noqa: BLE001 - any failure of a peer is a result to report
        traceback.print_exc()
        lines = str(error).strip().splitlines()
        sys.stdout.write(
            json.dumps({"error": f"{type(error).__name__}: {lines[0] if lines else ''}"})
        )
        return 1
    sys.stdout.write(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
