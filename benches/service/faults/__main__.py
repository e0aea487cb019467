"""Faults under load: ``python -m benches.service.faults``, or `make service-faults`.

Starts a database on a small disk, a network to it that can be cut, suppliers and the service; lets
each part fail in turn while requests are sent, and compares every answer with the data. The exit
status is 1 if an answer was wrong, a request hung, or something was left behind.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benches.service.faults.database import Database
from benches.service.faults.disk import can_mount, small_disk
from benches.service.faults.faults import APPLICATION, FAULTS, Fault, World
from benches.service.faults.leftovers import Held, settled
from benches.service.faults.network import Network
from benches.service.faults.steady import Record, steady
from benches.service.faults.truth import Truth
from benches.service.load.http_client import Client
from benches.service.load.stages import Stage, running
from examples.service.data import prepared
from examples.service.suppliers.processes import suppliers

if TYPE_CHECKING:
    from collections.abc import Generator

POOL_SIZE = 4
_BEFORE_SECONDS = 2.0
_WELL_SECONDS = 3.0
_RECOVERY_SECONDS_MAX = 60.0


@dataclass(frozen=True)
class Finding:
    """The effect of a fault."""

    name: str
    record: Record
    recovery: float
    before: Held
    after: Held

    @property
    def is_good(self) -> bool:
        """Whether every answer was right or an honest error, and nothing is left."""
        clean = self.after.is_clean(self.before, POOL_SIZE)
        return clean and not self.record.wrong and not self.record.hung

    def __str__(self) -> str:
        return (
            f"{'good' if self.is_good else 'BAD '} {self.name}: recovered after"
            f" {self.recovery:.2f} s; the longest request took {self.record.longest:.2f} s;"
            f" {self.record.counts()}; {self.record.wrong[:3] or 'nothing wrong'};"
            f" held before {self.before}, after {self.after}"
        )


async def under(name: str, fault: Fault, world: World, port: int, rate: float) -> Finding:
    """Let something fail while requests are sent; wait until all is well again."""
    loop = asyncio.get_running_loop()
    async with Client(port, keep_bodies=True) as client:
        truth = await Truth.of(world.database.dsn(), client)
        before = await settled(client, world.database.dsn(), None, POOL_SIZE)
        record, stop = Record(), asyncio.Event()
        load = asyncio.create_task(steady(client, truth, rate, stop, record))
        try:
            await asyncio.sleep(_BEFORE_SECONDS)
            await fault(world)
            healed = loop.time()
            while loop.time() < healed + _RECOVERY_SECONDS_MAX:
                await asyncio.sleep(0.1)
                since = loop.time() - _WELL_SECONDS
                if since > healed and record.is_well(since):
                    break
        finally:
            stop.set()
            await load
        after = await settled(client, world.database.dsn(), before, POOL_SIZE)
    return Finding(name, record, record.recovery(healed), before, after)


@contextlib.contextmanager
def open_folder() -> Generator[Path]:
    """A temporary folder that the database can enter: it has an account of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


async def tried(folder: Path, names: list[str], rate: float, flights: int) -> list[Finding]:
    """Start everything, and do one fault after the other."""
    findings = []
    async with contextlib.AsyncExitStack() as stack:
        disk = stack.enter_context(small_disk(folder / "disk", 400))
        database = Database(disk.folder)
        stack.callback(database.stop)
        await asyncio.to_thread(database.start)
        await prepared(database.dsn(), flights)
        network = await stack.enter_async_context(Network(database.port))
        addresses = stack.enter_context(suppliers(40, mood="quick"))
        on = Stage(database.dsn(network.port), addresses, folder)
        settings = {"PGAPPNAME": APPLICATION, "SERVICE_POOL_SIZE": str(POOL_SIZE)}
        # The network is in this loop, which must run while the service starts and stops.
        service = running("colonnade", on, settings)
        process = await asyncio.to_thread(service.__enter__)
        stack.push_async_callback(asyncio.to_thread, service.__exit__, None, None, None)
        world = World(database, disk, network, addresses)
        for name in names:
            finding = await under(name, FAULTS[name], world, process.port, rate)
            print(finding, flush=True)
            findings.append(finding)
    return findings


def main() -> int:
    """Start everything, let it fail, stop everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", nargs="+", choices=FAULTS, default=list(FAULTS))
    parser.add_argument("--rate", type=float, default=20.0, help="requests a second")
    parser.add_argument("--flights", type=int, default=300_000)
    options = parser.parse_args()
    if "disk-full" in options.faults and not can_mount():
        print("disk-full is left out: a small disk needs the right to mount")
        options.faults.remove("disk-full")
    # `kill` stops it as Ctrl-C does, and so everything that it has started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with open_folder() as folder:
        findings = asyncio.run(tried(folder, options.faults, options.rate, options.flights))
    return 0 if all(finding.is_good for finding in findings) else 1


if __name__ == "__main__":
    raise SystemExit(main())
