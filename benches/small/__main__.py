"""Compares small queries with asyncpg and a bare protocol: `python -m benches.small [--tcp]`.

The queries are `SELECT 1`, a row by its key, the same as columns, and 10 and 100 rows of 6
columns, as cached statements on one connection and on ten. Each run of a driver on a loop is its
own process; the runs take turns. The bare protocol (`benches.small.raw`) sends ready bytes and
decodes nothing. The figures are medians of the rounds; for the client's processor time, the
minimum is given, too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import asyncpg

import colonnade
from benches import tables
from benches.child_program import answer
from benches.measure import machine
from benches.small import RAW
from benches.small.child import CREATE, Job
from colonnade import embedded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    # The figures by loop, case, driver and name.
    Cases = dict[str, dict[str, dict[str, dict[str, float]]]]

DRIVERS = ("colonnade", "asyncpg", RAW)
TIMEOUT_S = 120.0


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print and save the figures."""
    parser = argparse.ArgumentParser(prog="python -m benches.small", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3, help="of each case in a round")
    parser.add_argument("--loops", default="asyncio,uvloop", metavar="A,B")
    parser.add_argument("--tcp", action="store_true", help="default: the Unix socket")
    parser.add_argument("--output", type=Path, default=Path("build/benches/small"), metavar="DIR")
    arguments = parser.parse_args(words)
    results: dict[str, Any] = {
        "machine": machine.describe(),
        "versions": {"colonnade": colonnade.__version__, "asyncpg": asyncpg.__version__},
        "load": {"before": machine.load()},
        "transport": "local TCP" if arguments.tcp else "Unix socket",
        "rounds": arguments.rounds,
    }
    with embedded.start(tcp=arguments.tcp) as server:
        dsn = server.dsn if arguments.tcp else server.socket_dsn
        results["server"] = asyncio.run(_prepared(dsn))
        loops = arguments.loops.split(",")
        results["cases"] = _measure(dsn, loops, arguments.rounds, arguments.seconds)
    results["load"]["after"] = machine.load()
    for line in lines_of(results["cases"]):
        print(line)
    arguments.output.mkdir(parents=True, exist_ok=True)
    (arguments.output / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    return 0


async def _prepared(dsn: str) -> str:
    async with await colonnade.connect(dsn) as connection:
        for statement in CREATE.split(";")[:-1]:
            await connection.execute(statement)
    return await tables.server_version(dsn)


def _measure(dsn: str, loops: Sequence[str], rounds: int, seconds: float) -> Cases:
    """Return the medians of the rounds."""
    runs = [(loop, driver) for loop in loops for driver in DRIVERS]
    seen: dict[tuple[str, str, str, str], list[float]] = {}
    for turn in range(rounds):
        first = turn % len(runs)
        for loop, driver in runs[first:] + runs[:first]:
            given = Job(dsn, driver, loop, seconds).to_json()
            for figure in answer("benches.small.child", given=given, timeout_s=TIMEOUT_S):
                count = figure["connections"]
                case = f"{figure['case']}, {count} connection{'s' * (count > 1)}"
                for what in ("per_second", "client_us"):
                    seen.setdefault((loop, case, driver, what), []).append(figure[what])
    cases: Cases = {}
    for (loop, case, driver, what), values in seen.items():
        of_driver = cases.setdefault(loop, {}).setdefault(case, {}).setdefault(driver, {})
        of_driver[what] = statistics.median(values)
        if what == "client_us":
            of_driver["client_us_min"] = min(values)
    return cases


def lines_of(cases: Cases) -> Iterator[str]:
    """Return lines with the figures as multiples of the bare protocol's and of asyncpg's."""
    for loop, of_loop in cases.items():
        yield loop
        for case, drivers in of_loop.items():
            ours, raw = drivers["colonnade"], drivers[RAW]
            line = (
                f"  {case:<36} {ours['per_second']:7.0f}/s, {_ratio(ours, raw, 'per_second')} x "
                f"the bare protocol's; client CPU {ours['client_us']:5.1f} us, "
                f"{_ratio(ours, raw, 'client_us_min')} x"
            )
            if (theirs := drivers.get("asyncpg")) is not None:
                line += f" (asyncpg {_ratio(theirs, raw, 'client_us_min')} x)"
            yield line


def _ratio(ours: dict[str, float], theirs: dict[str, float], what: str) -> str:
    return f"{ours[what] / theirs[what]:.2f}"


if __name__ == "__main__":
    sys.exit(main())
