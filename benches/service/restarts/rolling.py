"""Rolling restarts: new processes are ready before the old ones are asked to end."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path

from colonnade import observe

#: A restart that takes longer has failed.
SECONDS_MAX = 60.0


def beating(folder: Path, max_age: float = 5) -> frozenset[str]:
    """The processes of the application that are ready, or drain; or hang for less than `max_age`.

    One that has ended is none of them at once.
    """
    files = folder.glob("*.beat")
    return frozenset(path.stem for path in files if observe.is_alive(path, max_age=max_age))


async def by_hang_up(server: int, folder: Path, workers: int) -> None:
    """At SIGHUP, one new process after the other is started, and then an old one ended.

    Granian ends it after `--respawn-interval`, uvicorn when the new one serves.
    """
    former = beating(folder)
    os.kill(server, signal.SIGHUP)
    await until(lambda: _is_all_new(folder, workers, former))


async def by_more_then_less(server: int, folder: Path, workers: int) -> None:
    """gunicorn, at SIGHUP, ends the old processes while the new ones still start.

    So it is asked for as many more, and when they are ready, for as many less: the oldest end.
    """
    former = beating(folder)
    # Two equal signals at once may count as one.
    for more in range(1, workers + 1):
        os.kill(server, signal.SIGTTIN)
        await until(partial(_are_at_least, folder, workers + more))
    for fewer in range(1, workers + 1):
        os.kill(server, signal.SIGTTOU)
        await until(partial(_are_left_at_most, folder, former, workers - fewer))
    await until(lambda: _is_all_new(folder, workers, former))


RESTARTS: Mapping[str, Callable[[int, Path, int], Awaitable[None]]] = {
    "granian": by_hang_up,
    "gunicorn": by_more_then_less,
    "uvicorn": by_hang_up,
}


async def restart(name: str, server: int, folder: Path, workers: int) -> float:
    """Replace all processes of a server; return the seconds until only new ones are left.

    Raises TimeoutError if a step takes more than `SECONDS_MAX`.
    """
    await until(partial(_are_at_least, folder, workers))
    began = time.monotonic()
    await RESTARTS[name](server, folder, workers)
    return time.monotonic() - began


def _are_at_least(folder: Path, count: int) -> bool:
    return len(beating(folder)) >= count


def _are_left_at_most(folder: Path, former: frozenset[str], count: int) -> bool:
    return len(beating(folder) & former) <= count


def _is_all_new(folder: Path, workers: int, former: frozenset[str]) -> bool:
    now = beating(folder)
    return len(now) == workers and not now & former


async def until(holds: Callable[[], bool]) -> None:
    """Wait; raises TimeoutError after `SECONDS_MAX`."""
    give_up = time.monotonic() + SECONDS_MAX
    while not holds():
        if time.monotonic() > give_up:
            raise TimeoutError("a restart has not ended")
        await asyncio.sleep(0.05)
