"""A client that does not make an overload worse: a budget of retries, and jitter.

Clients that each try three times make four times the load just when there is too much. With a
budget of a tenth, they make 1.1 times it at most, however many fail.
"""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import aiohttp

#: The statuses of a refusal, by overload or by a process that ends.
_RETRIED = frozenset({429, 503})


class RetryBudget:
    """Each first try earns `share` of a retry; at most `most` are saved up."""

    def __init__(self, share: float = 0.1, most: float = 10.0) -> None:
        self._share = share
        self._most = most
        self._saved = most

    def earn(self) -> None:
        """A request is tried for the first time."""
        self._saved = min(self._most, self._saved + self._share)

    def spend(self) -> bool:
        """Take a retry out of the budget, if there is one."""
        if self._saved < 1:
            return False
        self._saved -= 1
        return True


def pause_before(retry_after: float, attempt: int, chance: random.Random) -> float:
    """Seconds until the next try: not before what the server says, and not all at once after it."""
    spread = max(retry_after, min(10.0, 0.1 * 2**attempt))
    return retry_after + chance.uniform(0, spread)


async def get(
    client: aiohttp.ClientSession,
    path: str,
    budget: RetryBudget,
    *,
    attempts: int = 3,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> tuple[int, bytes]:
    """Ask, and ask again while the budget lasts; return the last status and body."""
    chance = random.Random()
    budget.earn()
    attempt = 0
    while True:
        attempt += 1
        async with client.get(path) as response:
            status, body = response.status, await response.read()
            wait = response.headers.get("Retry-After", "0")
        if status not in _RETRIED or attempt >= attempts or not budget.spend():
            return status, body
        await sleep(pause_before(float(wait) if wait.isdecimal() else 1.0, attempt, chance))
