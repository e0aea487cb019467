"""Restarts under load: ``python -m benches.service.restarts --server gunicorn --restarts 100``.

Prints what became of the requests that were sent meanwhile. The exit status is 1 if one failed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import statistics
import tempfile
from pathlib import Path

from benches.service.restarts.requests import Outcome, steady
from benches.service.restarts.rolling import restart
from colonnade import embedded
from examples.service.commands import COMMANDS, application, free_port
from examples.service.data import prepared
from examples.service.suppliers.processes import suppliers


async def under_load(
    server: int, address: str, folder: Path, options: argparse.Namespace
) -> tuple[Outcome, list[float]]:
    """Restart as often as asked for, while requests are sent."""
    stop = asyncio.Event()
    load = asyncio.create_task(steady(address, options.rate, stop))
    try:
        seconds = [
            await restart(options.server, server, folder, options.workers)
            for _ in range(options.restarts)
        ]
    finally:
        stop.set()
        outcome = await load
    return outcome, seconds


def main() -> int:
    """Start everything, restart under load, stop everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", choices=COMMANDS, default="gunicorn")
    parser.add_argument("--framework", choices=("starlette", "quart"), default="starlette")
    parser.add_argument("--restarts", type=int, default=100)
    parser.add_argument("--rate", type=float, default=200.0, help="requests a second")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--flights", type=int, default=300_000)
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(embedded.start(tcp=True))
        asyncio.run(prepared(database.dsn, options.flights))
        addresses = stack.enter_context(suppliers(40, mood="quick"))
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        settings = {
            "SERVICE_DSN": database.dsn,
            "SERVICE_SUPPLIERS": ",".join(addresses),
            "SERVICE_BEAT_FOLDER": folder,
            "SERVICE_LOG_LEVEL": "warning",
        }
        port = free_port()
        process = stack.enter_context(
            application(options.server, options.framework, port, options.workers, settings)
        )
        address = f"http://127.0.0.1:{port}"
        outcome, seconds = asyncio.run(under_load(process.pid, address, Path(folder), options))
    name = f"{options.server}, {options.framework}, {options.workers} workers"
    median = statistics.median(seconds)
    print(f"{name}: {len(seconds)} restarts, median {median:.1f} s; {outcome}")
    return 1 if outcome.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
