"""Requests at a steady rate, whatever becomes of them: each is sent at its time (open loop)."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field

import aiohttp

#: Most are light, as in a service with a cache.
PATHS = ("/search", "/search", "/search", "/analytics", "/search?dest=D33")


@dataclass
class Outcome:
    """The outcome of the requests."""

    statuses: Counter[str] = field(default_factory=Counter)
    """By status, or by the name of the error."""
    seconds: list[float] = field(default_factory=list)
    """From the time at which each was to be sent."""

    @property
    def failed(self) -> int:
        """How many were not answered by 200."""
        return sum(self.statuses.values()) - self.statuses["200"]

    def __str__(self) -> str:
        ordered = sorted(self.seconds)
        worst = {f"p{part:g}": ordered[int(len(ordered) * part / 100)] for part in (50, 99)}
        times = ", ".join(f"{name} {seconds * 1e3:.1f} ms" for name, seconds in worst.items())
        return f"{len(ordered)} requests, {self.failed} failed {dict(self.statuses)}; {times}"


async def steady(address: str, rate: float, stop: asyncio.Event) -> Outcome:
    """Send requests over kept connections until `stop`; wait for the last answers."""
    outcome = Outcome()
    timeout = aiohttp.ClientTimeout(total=30)
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=30)
    async with aiohttp.ClientSession(address, connector=connector, timeout=timeout) as client:

        async def ask(path: str, due: float) -> None:
            try:
                async with client.get(path) as response:
                    await response.read()
                    shed = response.headers.get("X-Shed", "")
                    result = f"{response.status} {shed}".rstrip()
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                result = type(error).__name__
            outcome.statuses[result] += 1
            outcome.seconds.append(time.monotonic() - due)

        began, sent = time.monotonic(), 0
        async with asyncio.TaskGroup() as group:
            while not stop.is_set():
                due = began + sent / rate
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                group.create_task(ask(PATHS[sent % len(PATHS)], due))
                sent += 1
    return outcome
