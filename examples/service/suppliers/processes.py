"""Starts processes of suppliers, and stops them."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp

if TYPE_CHECKING:
    from collections.abc import Generator

ROOT = Path(__file__).resolve().parents[3]


@contextlib.contextmanager
def suppliers(count: int = 40, processes: int = 2, mood: str = "usual") -> Generator[list[str]]:
    """Run `count` suppliers in `processes` processes; give their addresses."""
    share, rest = divmod(count, processes)
    with contextlib.ExitStack() as stack:
        addresses: list[str] = []
        first = 0
        for number in range(processes):
            size = share + (number < rest)
            addresses += stack.enter_context(_process(first, size, mood))
            first += size
        yield addresses


async def change_mood(addresses: list[str], mood: str) -> None:
    """Let suppliers behave otherwise: a mood is that of all suppliers of a process."""
    async with aiohttp.ClientSession() as client:
        for address in addresses:
            async with client.get(f"{address}/mood/{mood}") as response:
                if response.status != 200:
                    raise ValueError(f"there is no mood {mood}")


@contextlib.contextmanager
def _process(first: int, count: int, mood: str) -> Generator[list[str]]:
    words = [sys.executable, "-m", "examples.service.suppliers", str(first), str(count), mood]
    with subprocess.Popen(
        words,
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # Ctrl-C is for the parent, which stops them.
        start_new_session=True,
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                raise RuntimeError(f"a process of suppliers has ended: status {process.wait()}")
            yield json.loads(line)
        finally:
            process.kill()
