"""Times of many fetches of one size, for box plots: `python -m benches.performance.boxes`.

Fetches the seed shape at 100 to 1,000,000 rows. Each peer has a process and fetches each size as
often as a few seconds allow; the peers take turns, size by size.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import inspect
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import benches.peers
from benches import tables
from benches.__main__ import SERVER_SETTINGS
from benches.child_program import answer
from benches.measure import machine
from benches.measure.peer import able_to_run, choose, discover
from benches.measure.runner import interleave
from benches.shapes import SHAPES
from colonnade import embedded

if TYPE_CHECKING:
    from collections.abc import Sequence

SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
PEERS = ("colonnade-columns", "adbc-arrow", "colonnade-rows", "asyncpg-rows", "psycopg-rows")
FETCHES_MAX = 200
FETCHES_MIN = 5
TIMEOUT_S = 300.0


def main(words: Sequence[str] | None = None) -> int:
    """Measure and save the times."""
    parser = argparse.ArgumentParser(prog="python -m benches.performance.boxes")
    parser.add_argument("--rows", type=int, default=SIZES[-1], help="the largest size")
    parser.add_argument("--seconds", type=float, default=2.0, help="for one peer and size")
    parser.add_argument("--output", type=Path, default=Path("build/benches/boxes"), metavar="DIR")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args(words)
    if arguments.child:
        print(json.dumps(asyncio.run(_times(json.load(sys.stdin)))))
        return 0
    chosen, _ = able_to_run(choose(discover(benches.peers), PEERS))
    sizes = [size for size in SIZES if size <= arguments.rows]
    results: dict[str, Any] = {
        "machine": machine.describe(),
        "load": {"before": machine.load()},
        "titles": {peer.name: peer.title for peer in chosen},
        "seconds": {},
    }
    with embedded.start(tcp=True, settings=SERVER_SETTINGS) as server:
        for rows, order in zip(sizes, interleave(chosen, len(sizes)), strict=True):
            table = tables.Table(SHAPES["seed"], rows)
            asyncio.run(tables.ensure(server.dsn, table))
            of_size = results["seconds"][str(rows)] = dict.fromkeys(results["titles"])
            for peer in order:
                job = {"module": peer.module, "dsn": server.dsn, "sql": table.query}
                given = json.dumps({**job, "seconds": arguments.seconds})
                of_size[peer.name] = answer(
                    "benches.performance.boxes", "--child", given=given, timeout_s=TIMEOUT_S
                )
    results["load"]["after"] = machine.load()
    arguments.output.mkdir(parents=True, exist_ok=True)
    (arguments.output / "results.json").write_text(json.dumps(results) + "\n")
    return 0


async def _times(job: dict[str, Any]) -> list[float]:
    """Fetch repeatedly, and return each time in seconds."""
    peer: Any = importlib.import_module(job["module"])

    async def call(function: Any, *arguments: Any) -> Any:
        answer = function(*arguments)
        return await answer if inspect.isawaitable(answer) else answer

    connection = await call(peer.connect, job["dsn"])
    await call(peer.fetch, connection, job["sql"])
    times: list[float] = []
    while len(times) < FETCHES_MIN or (len(times) < FETCHES_MAX and sum(times) < job["seconds"]):
        started = time.perf_counter()
        fetched = await call(peer.fetch, connection, job["sql"])
        times.append(time.perf_counter() - started)
        del fetched
    await call(peer.close, connection)
    return [round(seconds, 7) for seconds in times]


if __name__ == "__main__":
    sys.exit(main())
