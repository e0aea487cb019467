"""The load test: ``python -m benches.service.load``, or `make load`.

Starts a database, suppliers and each variant, asks them at rising rates in turn, prints what each
could take and what limited it, draws it, and stops everything.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import uvloop

from benches.service.load.contest import contest
from benches.service.load.exports import exports
from benches.service.load.overload import MIXES, overloaded
from benches.service.load.picture import Bar, draw
from benches.service.load.report import contest_lines, export_lines
from benches.service.load.stages import VARIANTS, Running, Stage, running, stage
from benches.service.load.steps import Target
from benches.service.load.workloads import WORKLOADS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PARTS = (*WORKLOADS, "export", "overload")
#: The numbers of programs that read exports at a time: one waits for one server process.
EXPORT_READERS = (1, 2)


async def measured(
    services: Mapping[str, Running], on: Stage, options: argparse.Namespace
) -> tuple[list[str], list[tuple[str, Sequence[Bar]]]]:
    """The lines and the panels of all parts."""
    lines: list[str] = []
    panels: list[tuple[str, Sequence[Bar]]] = []
    for name in options.parts:
        print(name, flush=True)
        if name == "export":
            sent = [
                result
                for readers in EXPORT_READERS
                for result in await exports(
                    services, on, readers=readers, rounds=options.rounds, seconds=options.seconds
                )
            ]
            lines += export_lines(sent)
            bars = [
                Bar(
                    f"{one.title}, {one.readers}",
                    one.median("each_second"),
                    f"ping p99 {one.median('busy_p99') * 1e3:.0f} ms",
                )
                for one in sent
            ]
            panels.append(("Exports of 300,000 rows, by readers", bars))
        elif name == "overload":
            target = Target(services["colonnade"], on, patience=4.0)
            for mix in MIXES:
                found = await overloaded(
                    mix, target, rounds=options.rounds, seconds=2 * options.seconds
                )
                lines.append(f"- {found}")
                print(f"  {found}", flush=True)
        else:
            workload = WORKLOADS[name]
            results = await contest(workload, services, on, seconds=options.seconds)
            lines += contest_lines(workload, results)
            bars = [
                Bar(
                    one.contestant.title,
                    one.best.outcome.planned,
                    f"p99 {one.best.outcome.percentile(99) * 1e3:.0f} ms,"
                    f" {one.best.cpu_ms:.2f} ms CPU",
                )
                for one in results
                if one.best is not None
            ]
            panels.append((f"{workload.title}: p99 within {workload.deadline:g} s", bars))
    return lines, panels


def main() -> None:
    """Start everything, measure, stop everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--seconds", type=float, default=4.0, help="of each step")
    parser.add_argument("--rounds", type=int, default=3, help="of exports and overloads")
    parser.add_argument("--picture", type=Path, default=Path("build/service-load.svg"))
    options = parser.parse_args()
    if "overload" in options.parts and "colonnade" not in options.variants:
        parser.error("overload is a test of the variant colonnade: add it, or leave out overload")
    before = os.getloadavg()[0]
    # `kill` stops it as Ctrl-C does, and so everything that it has started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        on = stack.enter_context(stage(folder))
        services = {name: stack.enter_context(running(name, on)) for name in options.variants}
        lines, panels = uvloop.run(measured(services, on, options))
    print(f"\n{os.cpu_count()} processors for all of it; the load before was {before:.1f}\n")
    print("\n".join(lines))
    if panels:
        draw(panels, options.picture)
        print(f"drawn in {options.picture}")


if __name__ == "__main__":
    main()
