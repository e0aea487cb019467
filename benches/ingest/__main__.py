"""Measures copying columns into a table with Colonnade and its peers.

Like the suite: each run is its own process, the peers take turns, and medians are compared with
medians. The floor sends ready-made bytes.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

import benches.ingest.peers
from benches import tables
from benches.__main__ import SERVER_SETTINGS
from benches.measure import machine
from benches.measure.figure import Panel
from benches.measure.peer import able_to_run, choose, discover
from benches.measure.report import Measured, Report
from benches.measure.table import cost_table, output
from benches.measure.watch import measure_all
from benches.shapes import SHAPES
from colonnade import embedded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benches.measure.peer import Peer

BASE = "ready-bytes"
PANELS = (
    Panel("client CPU, multiple of ready-made bytes", "cpu_s", base=BASE),
    Panel("wall time, multiple of ready-made bytes", "wall_s", base=BASE),
    Panel("peak memory, MB", "peak_memory_bytes", factor=1e-6),
    Panel("event loop held, ms", "loop_gap_s", factor=1e3),
)


def main(words: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benches.ingest", description=__doc__)
    parser.add_argument("--shapes", default="seed,narrow,lineitem,widetext", metavar="A,B")
    parser.add_argument("--peers", metavar="A,B", help="default: all that can run")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=0.5, help="multiple of each shape's rows")
    parser.add_argument("--no-hold", action="store_true", help="leave the event loop unwatched")
    parser.add_argument("--output", type=Path, default=Path("build/benches/ingest"))
    parser.add_argument("--date", metavar="YYYY-MM-DD", help="the day to note in the results")
    arguments = parser.parse_args(words)
    known = discover(benches.ingest.peers)
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
        for name in arguments.shapes.split(","):
            shape = SHAPES[name]
            table = tables.Table(shape, max(1, round(shape.rows * arguments.scale)))
            _measure(arguments, report, table, chosen, server.dsn)
        report.load_after = machine.load()
    print(report.note())
    report.write_json(arguments.output / "results.json")
    report.write_pictures(arguments.output, PANELS)
    return 1 if report.failed else 0


def _measure(
    arguments: argparse.Namespace,
    report: Report,
    table: tables.Table,
    chosen: Sequence[Peer],
    dsn: str,
) -> None:
    asyncio.run(tables.ensure(dsn, table))
    summaries = measure_all(
        table.shape.name,
        chosen,
        Console(stderr=True),
        dsn=dsn,
        sql=table.query,
        rounds=arguments.rounds,
        hold=not arguments.no_hold,
    )
    measured = Measured(
        name=table.shape.name,
        title=table.shape.title,
        query=f"into a table like that of {table.query}",
        rows=table.rows,
        summaries=summaries,
        details={"create": table.shape.create_sql(table.name, table.rows)},
    )
    report.results.append(measured)
    out = output()
    out.print(cost_table(measured.heading, summaries, base=BASE))


if __name__ == "__main__":
    sys.exit(main())
