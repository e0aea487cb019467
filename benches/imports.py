"""The cost of an import: `python -m benches.imports [--rounds N] [--output results.json]`.

Each import runs in a fresh process with its bytecode already compiled; the imports take turns.
They are measured twice: in a bare interpreter, and after asyncio and ssl, which most programs
load.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STARTS = {"bare": "pass", "after asyncio and ssl": "import asyncio, ssl"}
#: The times of the others are given as multiples of the first.
IMPORTS = [
    "import asyncpg",
    "import psycopg",
    "import colonnade",
    "from colonnade import connect",
    "from colonnade import connect, create_pool",
    "from colonnade.sync import connect",
    "from colonnade import read_sql",
]
PROGRAM = """
import time
{start}
begin = time.perf_counter()
{statement}
print(time.perf_counter() - begin)
"""


def main(words: list[str] | None = None) -> None:
    """Measure every import whose module is installed; print and save the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args(words)
    installed = [text for text in IMPORTS if importlib.util.find_spec(text.split()[1])]
    figures = {}
    with tempfile.TemporaryDirectory() as bytecode:
        for name, start in STARTS.items():
            seconds = measured(start, installed, arguments.rounds, bytecode)
            figures[name] = {
                statement: {"min": min(runs), "median": statistics.median(runs)}
                for statement, runs in seconds.items()
            }
            show(name, figures[name])
    if arguments.output:
        load = os.getloadavg()
        told = {"python": sys.version, "load": load, "rounds": arguments.rounds, "imports": figures}
        arguments.output.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def measured(
    start: str, statements: list[str], rounds: int, bytecode: str
) -> dict[str, list[float]]:
    """The seconds of each import, `rounds` times, without a first run that compiles bytecode."""
    seconds = defaultdict(list)
    for statement in statements:
        seconds_of(start, statement, bytecode)
    for _ in range(rounds):
        for statement in statements:
            seconds[statement].append(seconds_of(start, statement, bytecode))
    return seconds


def seconds_of(start: str, statement: str, bytecode: str) -> float:
    """The seconds of one import in a fresh process."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode, "PYTHONPATH": str(ROOT)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    program = PROGRAM.format(start=start, statement=statement)
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, check=True
    )
    return float(done.stdout)


def show(name: str, figures: dict[str, dict[str, float]]) -> None:
    """Print the times, and their ratios to those of the first import."""
    first = next(iter(figures.values()))
    print(f"\n{name}: minimum and median in ms, and as a multiple of the first")
    for statement, figure in figures.items():
        times = "".join(f"{figure[key] * 1e3:8.1f}" for key in ("min", "median"))
        ratios = "".join(f"{figure[key] / first[key]:7.2f}" for key in ("min", "median"))
        print(f"{times} {ratios}  {statement}")


if __name__ == "__main__":
    main()
