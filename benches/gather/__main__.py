"""Measures `Pool.gather`: `python -m benches.gather [--output results.json] [--picture x.svg]`.

Prints and saves the time of forty and of ten queries as a multiple of the least possible, the
overshoot of deadlines, and the time of forty short queries with and without shared flights.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
from pathlib import Path
from typing import Any

import asyncpg

import colonnade
from benches.gather import moments, picture, schedules
from colonnade import embedded


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--deadlines", type=int, default=300)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--picture", type=Path)
    arguments = parser.parse_args()
    load = os.getloadavg()
    with embedded.start() as server:
        results = asyncio.run(_measured(server.dsn, arguments))
        results["overshoot, threads"] = moments.blocking_overshoot(server.dsn, arguments.deadlines)
    results["machine"] = {"processors": os.cpu_count(), "python": platform.python_version()}
    results["versions"] = {"colonnade": colonnade.__version__, "asyncpg": asyncpg.__version__}
    results["load"] = [load, os.getloadavg()]
    text = json.dumps(results, indent=2)
    print(text)
    if arguments.output:
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        arguments.output.write_text(text + "\n", encoding="utf-8")
    if arguments.picture:
        picture.draw(results["forty"], arguments.picture)


async def _measured(dsn: str, arguments: argparse.Namespace) -> dict[str, Any]:
    forty = {}
    for connections in (4, 8):
        for name, is_noisy in (("fixed", False), ("noisy", True)):
            forty[f"{connections} connections, {name}"] = await schedules.forty(
                dsn,
                connections,
                is_noisy=is_noisy,
                seeds=arguments.seeds,
                rounds=arguments.rounds,
            )
    return {
        "forty": forty,
        "ten on 4": await schedules.ten(dsn, connections=4, seeds=4 * arguments.seeds),
        "overshoot": await moments.overshoot(dsn, arguments.deadlines),
        "flights": {
            f"{size} connections": await moments.flights(dsn, 20 * arguments.rounds, size)
            for size in (1, moments.CONNECTIONS)
        },
    }


if __name__ == "__main__":
    main()
