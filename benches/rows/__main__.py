"""Measures the cost of 100 to a million rows with Colonnade and its peers.

Like the suite: each run is its own process, the peers take turns, and `drain` is the floor. A
small result is fetched many times in a run, and every value is read.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

import benches.rows.peers
from benches import tables
from benches.__main__ import SERVER_SETTINGS
from benches.measure import machine
from benches.measure.peer import able_to_run, choose, describe, discover
from benches.measure.report import Measured, Report
from benches.measure.table import cost_table, output, ratio_table
from benches.measure.watch import measure_all
from benches.rows.reading import repeats
from benches.shapes import SHAPES
from colonnade import embedded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benches.measure.peer import Peer
    from benches.measure.summary import Summaries

BASE = "drain"
#: The peers that Colonnade is compared with, on the same loop.
PAIRS = (
    ("colonnade-read", "asyncpg-read"),
    ("colonnade-read-uvloop", "asyncpg-read-uvloop"),
    ("colonnade-read", "psycopg-read"),
)


def main(words: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benches.rows", description=__doc__)
    parser.add_argument("--shapes", default="seed", metavar="A,B")
    parser.add_argument("--rows", default="100,1000,50000,500000,1000000", metavar="N,M")
    parser.add_argument("--peers", metavar="A,B", help="default: all that can run")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-hold", action="store_true", help="leave the event loop unwatched")
    parser.add_argument("--output", type=Path, default=Path("build/benches/rows"))
    parser.add_argument("--date", metavar="YYYY-MM-DD", help="the day to note in the results")
    arguments = parser.parse_args(words)
    known = [describe(f"benches.peers.{BASE}"), *discover(benches.rows.peers)]
    chosen, skipped = able_to_run(
        choose(known, arguments.peers.split(",")) if arguments.peers else known
    )
    with embedded.start(tcp=True, settings=SERVER_SETTINGS) as server:
        report = Report.begin(
            chosen,
            skipped,
            server=asyncio.run(tables.server_version(server.dsn)),
            transport="local TCP",
            rounds=arguments.rounds,
            base=BASE,
            date=arguments.date,
        )
        for shape in arguments.shapes.split(","):
            for rows in arguments.rows.split(","):
                table = tables.Table(SHAPES[shape], int(rows))
                report.results.append(_measure(arguments, table, chosen, server.dsn))
        report.load_after = machine.load()
    print(report.note())
    report.write_json(arguments.output / "results.json")
    return 1 if report.failed else 0


def _measure(
    arguments: argparse.Namespace, table: tables.Table, chosen: Sequence[Peer], dsn: str
) -> Measured:
    asyncio.run(tables.ensure(dsn, table))
    times = repeats(table.query)
    summaries = measure_all(
        f"{table.shape.name} {table.rows}",
        # The drain reads a result once, so it is no floor for a result fetched many times.
        [peer for peer in chosen if times == 1 or peer.name != BASE],
        Console(stderr=True),
        dsn=dsn,
        sql=table.query,
        rounds=arguments.rounds,
        hold=not arguments.no_hold,
    )
    measured = Measured(
        name=f"{table.shape.name}_{table.rows}",
        title=f"{table.shape.title}; fetched {times} times",
        query=table.query,
        rows=table.rows,
        summaries=summaries,
        details={"create": table.shape.create_sql(table.name, table.rows), "times": times},
    )
    out = output()
    out.print(cost_table(measured.heading, summaries, base=BASE if times == 1 else None))
    out.print(ratio_table("client CPU, medians", summaries, "cpu_s", "median"))
    for line in above_floor(summaries):
        out.print(line, highlight=False)
    return measured


def above_floor(summaries: Summaries) -> list[str]:
    """Colonnade's cost as a multiple of a peer's; a floor, if any, is subtracted from both."""
    floor = summaries.base(BASE)
    lines = []
    for own_name, other_name in PAIRS:
        own, other = summaries.base(own_name), summaries.base(other_name)
        if own is None or other is None:
            continue
        for figure in ("cpu_s", "wall_s"):
            ours, theirs = own.figure(figure), other.figure(figure)
            least = (floor.figure(figure) if floor is not None else None) or 0.0
            if ours is not None and theirs is not None and theirs > least:
                ratio = (ours - least) / (theirs - least)
                lines.append(f"{figure} above the floor, {own_name} ÷ {other_name}: {ratio:.2f}")
    return lines


if __name__ == "__main__":
    sys.exit(main())
