"""A program that publishes: `python -m tests.observe.publishing PATH LOOP DSN`; "-" is no path.

It prints a line when it has begun, and does what the lines of its input say.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
import time

import colonnade
from colonnade import observe


def say(what: object) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


def hang() -> None:
    """Hold the loop for ever."""
    while True:
        time.sleep(60)


def fork(publication: observe.Publication) -> None:
    """Fork a child that ends like any process; tell what it knows of the publication."""
    process = os.fork()
    if process == 0:
        publication.stop()
        say(publication.path)
        sys.exit()
    os.waitpid(process, 0)


async def main(path: str | None, dsn: str) -> None:
    loop = asyncio.get_running_loop()
    async with (
        colonnade.create_pool(dsn, min_size=1, max_size=2) as pool,
        observe.LoopMonitor(interval=0.005, logger=None) as monitor,
    ):
        with observe.publish(monitor, {"main": pool}, path, interval=0.05) as publication:
            say(publication.path)
            while order := (await loop.run_in_executor(None, sys.stdin.readline)).strip():
                if order == "query":
                    await pool.fetch("SELECT 'hidden value' FROM pg_class WHERE relname = $1", "x")
                elif order == "stall":
                    time.sleep(0.05)  # noqa: ASYNC251 - the fault to be seen
                elif order == "fork":
                    fork(publication)
                    continue
                elif order == "hang":
                    say(order)
                    hang()
                say(order)


if __name__ == "__main__":
    place, kind, server = sys.argv[1:]
    factory = importlib.import_module(kind).new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(main(None if place == "-" else place, server))
