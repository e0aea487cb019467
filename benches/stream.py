"""Measures the memory of a stream of batches: `python -m benches.stream [--rows 50000000]`.

`iter_columns` reads three columns straight from `generate_series` and throws each batch away. It
samples the resident memory and counts the live batches as they arrive. The async and the blocking
stream each run in their own process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
import weakref
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import colonnade
from benches.child_program import answer
from benches.measure import machine
from colonnade import embedded, sync

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colonnade import Columns

QUERY = """
SELECT i AS id, i * 0.5::float8 AS reading, timestamptz '2020-01-01 00:00+00' AS taken
FROM generate_series(1::int8, {rows}::int8) AS series(i)
"""
SAMPLES = 200
TIMEOUT_S = 600.0
_STATUS = Path("/proc/self/status")


@dataclass
class Watch:
    """The observations of a stream."""

    rows: int = 0
    batches: int = 0
    batch_bytes_max: int = 0
    alive_max: int = 0
    #: Resident bytes, one number per sample.
    resident: list[int] = field(default_factory=list)
    seconds: float = 0.0
    _alive: weakref.WeakSet[Columns] = field(default_factory=weakref.WeakSet)

    def see(self, batch: Columns, every: int) -> None:
        """Record a batch."""
        self._alive.add(batch)
        self.alive_max = max(self.alive_max, len(self._alive))
        self.rows += batch.num_rows
        self.batch_bytes_max = max(self.batch_bytes_max, batch.nbytes)
        if self.batches % every == 0:
            self.resident.append(resident_bytes())
        self.batches += 1

    def told(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        growth = max(self.resident) - self.resident[0]
        figures = {name: value for name, value in asdict_of(self).items() if name != "_alive"}
        return {
            **figures,
            "growth_bytes": growth,
            # The first fifth fills buffers that are then reused; after it, nothing should grow.
            "later_growth_bytes": max(self.resident) - max(self.resident[: SAMPLES // 5]),
            "growth_in_batches": growth / self.batch_bytes_max,
        }


def asdict_of(watch: Watch) -> dict[str, Any]:
    """Return the fields; `dataclasses.asdict` cannot, because it copies deeply."""
    return {name: getattr(watch, name) for name in watch.__dataclass_fields__}


def resident_bytes() -> int:
    """Return the resident memory of this process in bytes."""
    for line in _STATUS.read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise LookupError(f"{_STATUS} has no VmRSS")


async def read_async(dsn: str, rows: int) -> Watch:
    """Read the stream on an event loop."""
    watch, every = Watch(), _every(rows)
    async with await colonnade.connect(dsn) as connection:
        started = time.perf_counter()
        async for batch in connection.iter_columns(QUERY.format(rows=rows)):
            watch.see(batch, every)
        watch.seconds = time.perf_counter() - started
    return watch


def read_sync(dsn: str, rows: int) -> Watch:
    """Read the stream without an event loop."""
    watch, every = Watch(), _every(rows)
    with sync.connect(dsn) as connection:
        started = time.perf_counter()
        for batch in connection.iter_columns(QUERY.format(rows=rows)):
            watch.see(batch, every)
        watch.seconds = time.perf_counter() - started
    return watch


def _every(rows: int) -> int:
    return max(1, rows // 65_536 // SAMPLES)


def main(words: Sequence[str] | None = None) -> int:
    """Measure both streams; print and save the figures."""
    parser = argparse.ArgumentParser(prog="python -m benches.stream", description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--output", type=Path, default=Path("build/benches/stream"), metavar="DIR")
    parser.add_argument("--child", choices=("async", "sync"), help=argparse.SUPPRESS)
    arguments = parser.parse_args(words)
    if arguments.child:
        dsn = sys.stdin.read()
        read = asyncio.run(read_async(dsn, arguments.rows)) if arguments.child == "async" else None
        print(json.dumps((read or read_sync(dsn, arguments.rows)).told()))
        return 0
    results: dict[str, Any] = {"machine": machine.describe(), "load": {"before": machine.load()}}
    with embedded.start(tcp=True) as server:
        for colour in ("async", "sync"):
            wanted = "--child", colour, "--rows", str(arguments.rows)
            told = answer("benches.stream", *wanted, given=server.dsn, timeout_s=TIMEOUT_S)
            results[colour] = told
            print(
                f"{colour}: {told['rows']:,} rows in {told['batches']} batches, "
                f"{told['seconds']:.1f} s; memory grew by {told['growth_bytes'] / 1e6:.1f} MB, "
                f"{told['growth_in_batches']:.1f} batches, and by "
                f"{told['later_growth_bytes'] / 1e6:.1f} MB after the first fifth; "
                f"{told['alive_max']} batches alive at most",
                flush=True,
            )
    results["load"]["after"] = machine.load()
    arguments.output.mkdir(parents=True, exist_ok=True)
    (arguments.output / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
