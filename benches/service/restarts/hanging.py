"""A loop that hangs: ``python -m benches.service.restarts.hanging --server granian``.

One of two processes gets a request whose handler never returns to its loop. Prints how long it
took until a supervisor had killed it, and until its successor was ready.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp

from benches.service.restarts.requests import Outcome, steady
from benches.service.restarts.rolling import beating, until
from colonnade import embedded
from examples.service.commands import COMMANDS, ROOT, application, free_port
from examples.service.data import prepared
from examples.service.suppliers.processes import suppliers

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

WORKERS = 2


@dataclass(frozen=True)
class Recovery:
    """Seconds since the request that hangs was sent, and the outcome of the others."""

    killed: float
    """Until the process was gone."""
    recovered: float
    """Until as many processes as before were ready."""
    outcome: Outcome


@contextlib.contextmanager
def supervisor(server: int, folder: Path, max_age: float) -> Generator[None]:
    """Run the supervisor beside a web server."""
    words = [sys.executable, "-m", "examples.service.supervisor", str(server), str(folder)]
    with subprocess.Popen([*words, "--max-age", f"{max_age:g}"], cwd=ROOT) as process:
        try:
            yield
        finally:
            process.kill()


async def recover(address: str, folder: Path, rate: float) -> Recovery:
    """Let a process hang while requests are sent; wait until another one has taken its place."""
    await until(lambda: len(beating(folder, max_age=60)) == WORKERS)
    former, stop = beating(folder, max_age=60), asyncio.Event()
    load = asyncio.create_task(steady(address, rate, stop))
    began = time.monotonic()
    hanging = asyncio.create_task(_hang(address))
    try:
        await until(lambda: len(beating(folder, max_age=60) & former) < WORKERS)
        killed = time.monotonic() - began
        await until(lambda: len(beating(folder, max_age=60)) == WORKERS)
        recovered = time.monotonic() - began
    finally:
        stop.set()
        outcome = await load
        await hanging
    return Recovery(killed, recovered, outcome)


async def _hang(address: str) -> None:
    """Send the request that hangs; its connection breaks with the process.

    POST, because the client sends a GET again when its connection breaks.
    """
    async with aiohttp.ClientSession(address) as client:
        with contextlib.suppress(aiohttp.ClientError):
            async with client.post("/hang") as response:
                await response.read()


def measured(server: str, settings: Mapping[str, str], max_age: float, rate: float) -> Recovery:
    """Run the service with the fault and a supervisor, and let it hang once."""
    port, folder = free_port(), Path(settings["SERVICE_BEAT_FOLDER"])
    with (
        application(server, "benches.service.hanging_app:app", port, WORKERS, settings) as process,
        supervisor(process.pid, folder, max_age),
    ):
        return asyncio.run(recover(f"http://127.0.0.1:{port}", folder, rate))


def main() -> None:
    """Start everything, let a process hang, stop everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", choices=COMMANDS, default="granian")
    parser.add_argument("--max-age", type=float, default=5.0, help="seconds without a beat")
    parser.add_argument("--rate", type=float, default=20.0, help="requests a second")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(embedded.start(tcp=True))
        asyncio.run(prepared(database.dsn))
        settings = {
            "SERVICE_DSN": database.dsn,
            "SERVICE_SUPPLIERS": ",".join(stack.enter_context(suppliers(40, mood="quick"))),
            "SERVICE_BEAT_FOLDER": stack.enter_context(tempfile.TemporaryDirectory()),
            "SERVICE_LOG_LEVEL": "error",
        }
        found = measured(options.server, settings, options.max_age, options.rate)
    print(
        f"{options.server}: killed after {found.killed:.1f} s, all processes ready after"
        f" {found.recovered:.1f} s; {found.outcome}"
    )


if __name__ == "__main__":
    main()
