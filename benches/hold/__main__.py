"""Measures how long a fetch holds the event loop, and how much it delays pings.

    python -m benches.hold [--rows 5000000] [--loops asyncio,uvloop] [--roads plain,tls]

Columns and rows, on either loop, plain and over TLS, each in its own process. A ticker runs every
millisecond; the hold is the longest time between two ticks, less that millisecond. The processor
time of the loop's thread between two ticks is given too: it stays true on a busy machine.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benches import tables, tls_server
from benches.child_program import answer
from benches.measure import machine
from benches.shapes import NARROW
from colonnade import embedded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SETTINGS = {"shared_buffers": "1GB", "autovacuum": "off", "max_wal_size": "4GB"}
SMALLER = (1_000, 100_000, 1_000_000)
MODES = ("columns", "rows")
TIMEOUT_S = 300.0


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print and keep the figures."""
    parser = argparse.ArgumentParser(prog="python -m benches.hold", description=__doc__)
    parser.add_argument("--rows", type=int, default=NARROW.rows, help="the largest result")
    parser.add_argument("--loops", type=_names, default=["asyncio", "uvloop"])
    parser.add_argument("--roads", type=_names, default=["plain", "tls"])
    parser.add_argument("--modes", type=_names, default=list(MODES))
    parser.add_argument("--output", type=Path, default=Path("build/benches/hold"), metavar="DIR")
    arguments = parser.parse_args(words)
    results: dict[str, Any] = {
        "machine": machine.describe(),
        "load": {"before": machine.load()},
        "rows": arguments.rows,
        "servers": {},
        "skipped": {},
        "cases": [],
    }
    sizes = [*(size for size in SMALLER if size < arguments.rows), arguments.rows]
    for road in arguments.roads:
        try:
            with _server(road) as dsn:
                _measure(road, dsn, sizes, arguments, results)
        except embedded.EmbeddedServerError as error:
            results["skipped"][road] = str(error)
            print(f"skipped {road}: {error}", file=sys.stderr)
    results["load"]["after"] = machine.load()
    arguments.output.mkdir(parents=True, exist_ok=True)
    (arguments.output / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    return 0


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


@contextlib.contextmanager
def _server(road: str) -> Iterator[str]:
    if road == "tls":
        with tls_server.started(SETTINGS) as server:
            yield tls_server.dsn(server)
        return
    with embedded.start(tcp=True, settings=SETTINGS) as server:
        yield server.dsn


def _measure(
    road: str,
    dsn: str,
    sizes: list[int],
    arguments: argparse.Namespace,
    results: dict[str, Any],
) -> None:
    table = tables.Table(NARROW, arguments.rows)
    asyncio.run(tables.ensure(dsn, table))
    results["servers"][road] = asyncio.run(tables.server_version(dsn))
    for mode in arguments.modes:
        for loop in arguments.loops:
            job = {"dsn": dsn, "sql": f"{table.query} LIMIT {{rows}}", "mode": mode}
            given = json.dumps({**job, "loop": loop, "sizes": sizes})
            felt = answer("benches.hold.child", given=given, timeout_s=TIMEOUT_S)
            case = {"road": road, "mode": mode, "loop": loop, **felt}
            results["cases"].append(case)
            for line in lines_of(case):
                print(line, flush=True)


def lines_of(case: dict[str, Any]) -> Iterator[str]:
    """Return the lines that report one loop's figures."""
    yield f"{case['mode']}, {case['loop']}, {case['road']}"
    for hold in case["holds"]:
        gap, burst = hold["gap_s"] * 1e3, hold["burst_s"] * 1e3
        yield f"  {hold['rows']:>10,} rows: held {gap:6.1f} ms, of it CPU {burst:5.1f} ms"
    for name, ping in case["pings"].items():
        idle, busy = ping["idle"], ping["busy"]
        if not idle["count"] or not busy["count"]:
            continue
        shown = ", ".join(
            f"{part} {busy[part] * 1e3:.2f} ({idle[part] * 1e3:.2f})"
            for part in ("p50", "p99", "max")
        )
        ratio = busy["p99"] / idle["p99"]
        yield f"  {name:>5}, ms busy (idle): {shown}; p99 {ratio:.2f} x, {busy['count']} pings"


if __name__ == "__main__":
    sys.exit(main())
