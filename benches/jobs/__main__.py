"""Measures queues: `python -m benches.jobs [--jobs 100000] [--batch 1000] [--rounds 3]`.

One worker, fsync on, all on one server and by turns: jobs added per second, jobs got and
acknowledged per second, processor time per job of the client and of its backends, rows that are
dead afterwards, and the time from add to the handler in an idle queue. Slow rivals get fewer jobs;
`uv sync --inexact --group queues` installs them. Prints each round, and a table of the medians.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

import asyncpg

from benches.jobs.measuring import arrivals, round_of
from benches.jobs.rivals.by_hand import ByHand
from benches.jobs.rivals.colonnade_jobs import ColonnadeJobs
from colonnade import embedded

if TYPE_CHECKING:
    from benches.jobs.rivals.rival import Rival

DURABLE = dict.fromkeys(("fsync", "synchronous_commit", "full_page_writes"), "on")
#: Libraries that may be missing: module and class.
_LIBRARIES = (("procrastinate_jobs", "Procrastinate"), ("pgqueuer_jobs", "PgQueuer"))
_COLUMNS = (
    *("add/s", "get + ack/s", "client us/job", "server us/job", "dead rows/job"),
    *("arrival p50 ms", "arrival p99 ms"),
)


def rivals() -> list[Rival]:
    """Our layouts, the queue by hand, and the libraries that are installed."""
    found: list[Rival] = [ColonnadeJobs("rows"), ColonnadeJobs("segments"), ByHand()]
    for module, name in _LIBRARIES:
        try:
            found.append(getattr(importlib.import_module(f"benches.jobs.rivals.{module}"), name)())
        except ImportError as error:
            print(f"left out: {error}")
    return found


async def measured(arguments: argparse.Namespace, dsn: str) -> dict[str, dict[str, float]]:
    """The medians of each rival's figures."""
    admin = await asyncpg.connect(dsn)
    rounds: dict[str, list[dict[str, float]]] = {}
    chosen = [each for each in rivals() if arguments.only in each.name]
    for number in range(arguments.rounds):
        for rival in chosen:
            figures = await round_of(rival, dsn, admin, arguments.jobs, arguments.batch)
            figures |= await arrivals(rival, dsn, arguments.arrivals)
            rounds.setdefault(rival.name, []).append(figures)
            print(number, rival.name, json.dumps({key: round(n, 3) for key, n in figures.items()}))
    await admin.close()
    return {
        name: {key: statistics.median(one[key] for one in all_of_it) for key in _COLUMNS}
        for name, all_of_it in rounds.items()
    }


def table(medians: dict[str, dict[str, float]]) -> str:
    """The medians as a table in Markdown."""
    lines = ["| " + " | ".join(["queue", *_COLUMNS]) + " |", "|---|" + "---:|" * len(_COLUMNS)]
    for name, figures in medians.items():
        cells = [_digits(figures[key]) for key in _COLUMNS]
        lines.append("| " + " | ".join([name, *cells]) + " |")
    return "\n".join(lines)


def _digits(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--arrivals", type=int, default=100)
    parser.add_argument("--only", default="", help="part of a rival's name")
    parser.add_argument("--json", type=Path, help="a file for the medians")
    arguments = parser.parse_args()
    with embedded.start(settings=DURABLE) as server:
        medians = asyncio.run(measured(arguments, server.dsn))
    print(table(medians))
    print("load:", os.getloadavg())
    if arguments.json:
        told: dict[str, Any] = {"arguments": vars(arguments) | {"json": None}, "medians": medians}
        arguments.json.write_text(json.dumps(told, indent=2) + "\n")


if __name__ == "__main__":
    main()
