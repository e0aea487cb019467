"""Measures which side works while a result arrives: `python -m benches.performance.split`.

For each shape as columns, and for rows, it measures the wall time of a fetch and the processor
time of the server's process and of the client, in its own code and in the kernel. If `perf` is
available, it also samples, folds and saves the client's stacks.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import colonnade
from benches import tables
from benches.__main__ import SERVER_SETTINGS
from benches.measure import machine
from benches.performance import stacks
from benches.server_cpu import server_cpu
from benches.shapes import SHAPES
from colonnade import embedded

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The shapes, and the method that fetches each.
CASES = (
    ("seed", "columns"),
    ("narrow", "columns"),
    ("lineitem", "columns"),
    ("widetext", "columns"),
    ("seed", "rows"),
)
#: The cases whose stacks are drawn.
DRAWN = (("seed", "columns"), ("lineitem", "columns"), ("seed", "rows"))


def main(words: Sequence[str] | None = None) -> int:
    """Measure and save the split, and the stacks if `perf` can sample them."""
    parser = argparse.ArgumentParser(prog="python -m benches.performance.split")
    parser.add_argument("--scale", type=float, default=1.0, help="multiple of each shape's rows")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4.0, help="for which stacks are sampled")
    parser.add_argument("--output", type=Path, default=Path("build/benches/split"), metavar="DIR")
    arguments = parser.parse_args(words)
    results: dict[str, Any] = {
        "machine": machine.describe(),
        "load": {"before": machine.load()},
        "cases": [],
        "stacks": {},
        "no_stacks": stacks.unavailable(),
    }
    with embedded.start(tcp=True, settings=SERVER_SETTINGS) as server:
        for shape, mode in CASES:
            table = tables.Table(SHAPES[shape], max(1, round(SHAPES[shape].rows * arguments.scale)))
            asyncio.run(tables.ensure(server.dsn, table))
            case = asyncio.run(_measure(server.dsn, table.query, mode, arguments.rounds))
            results["cases"].append({"shape": shape, "mode": mode, "rows": table.rows, **case})
            print(f"{shape}, {mode}: {case}")
            if (shape, mode) in DRAWN and results["no_stacks"] is None:
                job = {"dsn": server.dsn, "sql": table.query, "mode": mode}
                job["seconds"] = arguments.seconds
                program = [sys.executable, "-m", "benches.performance.fetching"]
                results["stacks"][f"{shape}-{mode}"] = stacks.sampled(program, json.dumps(job))
    results["load"]["after"] = machine.load()
    arguments.output.mkdir(parents=True, exist_ok=True)
    (arguments.output / "results.json").write_text(json.dumps(results) + "\n")
    return 0


async def _measure(dsn: str, sql: str, mode: str, rounds: int) -> dict[str, float]:
    """The medians of some fetches on one connection, without the first."""
    runs: list[dict[str, float]] = []
    async with await colonnade.connect(dsn) as connection:
        fetch = connection.fetch if mode == "rows" else connection.fetch_columns
        pid = connection.get_server_pid() or 0
        for _ in range(rounds + 1):
            before = resource.getrusage(resource.RUSAGE_SELF)
            served, started = server_cpu(pid), time.perf_counter()
            result = await fetch(sql)
            wall = time.perf_counter() - started
            after = resource.getrusage(resource.RUSAGE_SELF)
            runs.append(
                {
                    "wall_s": wall,
                    "client_user_s": after.ru_utime - before.ru_utime,
                    "client_system_s": after.ru_stime - before.ru_stime,
                    "server_s": server_cpu(pid) - served,
                }
            )
            del result
    return {name: statistics.median(run[name] for run in runs[1:]) for name in runs[0]}


if __name__ == "__main__":
    sys.exit(main())
