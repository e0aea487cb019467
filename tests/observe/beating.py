"""A program whose event loop beats: `python -m tests.observe.beating PATH INTERVAL LOOP`.

It does what the lines of its input say, and prints a line when it has begun to.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
import threading
import time

from colonnade import observe


def say(what: object) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


def hang() -> None:
    """Hold the loop for ever; another thread still runs."""
    threading.Thread(target=say, args=("hangs",)).start()
    while True:
        time.sleep(60)


def live_on() -> None:
    """Live on as a forked child, in which no loop runs."""
    say(os.getpid())
    time.sleep(3600)
    os._exit(0)


async def main(path: str, interval: float) -> None:
    loop = asyncio.get_running_loop()
    async with observe.Beat(path, interval) as beat:
        say(beat.path)
        while order := (await loop.run_in_executor(None, sys.stdin.readline)).strip():
            if order == "hang":
                hang()
            elif order == "fork" and os.fork() == 0:
                live_on()


if __name__ == "__main__":
    place, seconds, kind = sys.argv[1:]
    factory = importlib.import_module(kind).new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(main(place, float(seconds)))
