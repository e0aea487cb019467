"""The gain of `gc.freeze` for this service: ``python -m benches.service.freezing``.

First the pause of a full collection in a process that has imported the application and holds its
tables; then the memory that forked workers do not share with their parent, after a collection.
Each figure comes from a process of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import colonnade
from colonnade import embedded
from examples.analytics.store import Store
from examples.service.commands import ROOT
from examples.service.data import prepared

_ROUNDS = 5


def pause(dsn: str, *, frozen: bool) -> float:
    """The milliseconds of a full collection: the median of a few."""
    from examples.service.starlette_app import app

    with colonnade.sync.connect(dsn) as connection:
        kept = app, Store.fetch(connection)
    gc.collect()
    if frozen:
        gc.freeze()
    times = []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        gc.collect()
        times.append((time.perf_counter() - began) * 1e3)
    del kept
    return statistics.median(times)


def private(*, frozen: bool) -> float:
    """The megabytes of a forked child of its own, after it has collected once."""
    from examples.service.starlette_app import app

    gc.collect()
    if frozen:
        gc.freeze()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        gc.collect()
        os.write(writer, b"%f" % _private_megabytes())
        # Without the ends of the parent's objects.
        os._exit(0)
    found = float(os.read(reader, 100))
    os.waitpid(child, 0)
    del app
    return found


def _private_megabytes() -> float:
    lines = Path("/proc/self/smaps_rollup").read_text("ascii").splitlines()
    fields = dict(line.split(":", 1) for line in lines[1:])
    return int(fields["Private_Dirty"].split()[0]) / 1024


def main() -> None:
    """Measure each in a new process, and print the figures."""
    if len(sys.argv) > 1:
        kind, how, dsn = sys.argv[1:]
        frozen = how == "frozen"
        print(pause(dsn, frozen=frozen) if kind == "pause" else private(frozen=frozen))
        return
    with contextlib.ExitStack() as stack:
        dsn = stack.enter_context(embedded.start(tcp=True)).dsn
        asyncio.run(prepared(dsn))
        for kind, unit in (("pause", "ms a full collection"), ("private", "MB of each child")):
            for how in ("usual", "frozen"):
                words = [sys.executable, "-m", "benches.service.freezing", kind, how, dsn]
                found = [float(subprocess.check_output(words, cwd=ROOT)) for _ in range(3)]
                print(f"{how:7} {statistics.median(found):8.2f} {unit}")


if __name__ == "__main__":
    main()
