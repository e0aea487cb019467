"""Every exchange with every fault at every message, and a table of the outcomes.

python -m tests.faults              at every message, with asyncio, uvloop and threads
python -m tests.faults --places 3   at three messages of each side at most
python -m tests.faults --with threads
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg

from colonnade import embedded
from tests.faults import everything
from tests.faults.conftest import TYPES, tls_front
from tests.faults.oracle import table
from tests.faults.runner import (
    Report,
    impatient,
    record_thread,
    run_tasks,
    run_threads,
    watched,
)
from tests.faults.subjects import record_task
from tests.support.fault_proxy import FaultProxy
from tests.support.faults import Kind
from tests.support.leftovers import BackendWatch, open_sockets, tcp_sockets_since
from tests.support.servers import PASSWORD_ROLES
from tests.support.tls_shim import make_certificates

if TYPE_CHECKING:
    from collections.abc import Callable

    Proxies = tuple[FaultProxy, FaultProxy, FaultProxy]

_COLOURS = ("asyncio", "uvloop", "threads")
_END_SECONDS_MAX = 20.0


async def _in_tasks(proxies: Proxies, places_max: int | None, report: Report) -> None:
    recorded = [await record_task(subject) for subject in everything.of_tasks(*proxies)]
    await run_tasks([(one, case) for one in recorded for case in one.chunked()], report)
    _tell("cut into other pieces", report, 0)
    for kind in Kind:
        known = len(report.complaints)
        with impatient(kind):
            tries = [(one, case) for one in recorded for case in one.cases([kind], places_max)]
            async with watched():
                await run_tasks(tries, report)
        _tell(kind.value, report, known)


def _in_threads(proxies: Proxies, places_max: int | None, report: Report) -> None:
    recorded = [record_thread(subject) for subject in everything.of_threads(*proxies)]
    run_threads([(one, case) for one in recorded for case in one.chunked()], report)
    _tell("cut into other pieces", report, 0)
    for kind in Kind:
        known = len(report.complaints)
        with impatient(kind):
            tries = [(one, case) for one in recorded for case in one.cases([kind], places_max)]
            run_threads(tries, report)
        _tell(kind.value, report, known)


def _tell(what: str, report: Report, known: int) -> None:
    """Print the progress after a fault, and the complaints since the last one."""
    found = report.complaints[known:]
    print(f"  {what}: {report.tries} tries so far, {len(found)} complaints", flush=True)
    print(*(f"    {complaint}" for complaint in found), sep="\n", end="\n" * bool(found))


def _run(colour: str, proxies: Proxies, places_max: int | None) -> Report:
    report = Report()
    if colour == "threads":
        _in_threads(proxies, places_max, report)
        return report
    factory: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
    if colour == "uvloop":
        import uvloop

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(_in_tasks(proxies, places_max, report))
    return report


def _sweep(colour: str, proxies: Proxies, watches: list[BackendWatch], places: int | None) -> bool:
    """Run everything of one colour, print the outcomes, and return whether all were right."""
    begun, sockets = time.monotonic(), open_sockets()
    print(f"{colour}:", flush=True)
    report = _run(colour, proxies, places)
    give_up = time.monotonic() + _END_SECONDS_MAX
    while (
        left := [*tcp_sockets_since(sockets), *(pid for w in watches for pid in w.backends())]
    ) and time.monotonic() < give_up:
        time.sleep(0.01)
    if left:
        report.complaints.append(f"left behind: {left}")
        print(f"  {report.complaints[-1]}")
    print(table(report.counts))
    seconds, case = report.longest
    print(
        f"{colour}: {len(report.exchanges)} exchanges x {len(Kind)} faults: {report.tries} tries "
        f"in {time.monotonic() - begun:.0f} s; {report.missed} faults came too late; the longest "
        f"try took {seconds:.1f} s ({case}); {len(report.complaints)} complaints"
    )
    return not report.complaints


def main(arguments: list[str]) -> int:
    """Run the sweeps; return 1 if anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--places", type=int, default=None, metavar="N")
    parser.add_argument("--with", dest="colours", choices=_COLOURS, nargs="+", default=_COLOURS)
    options = parser.parse_args(arguments)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        plain = stack.enter_context(embedded.start(tcp=True))
        knowing = stack.enter_context(embedded.start(tcp=True, roles=PASSWORD_ROLES))
        with psycopg.connect(plain.dsn, autocommit=True) as connection:
            connection.execute(TYPES)
        front = stack.enter_context(tls_front(knowing, make_certificates(folder)))
        watches = [stack.enter_context(BackendWatch(server.dsn)) for server in (plain, knowing)]
        proxies = (
            stack.enter_context(FaultProxy(plain.dsn)),
            stack.enter_context(FaultProxy(knowing.dsn)),
            front,
        )
        for watch in watches:
            assert not watch.backends()
        outcomes = [_sweep(colour, proxies, watches, options.places) for colour in options.colours]
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
