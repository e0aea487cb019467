"""The time of many queries on few connections, compared with the least possible time.

The queries sleep at the server, so that the order alone makes the difference.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import asyncpg

import colonnade
from colonnade import Query

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Peer = Callable[[list[float]], Awaitable[object]]

MEDIAN_S = 0.05
SIGMA = 1.0
LONGEST_S = 0.4
# The spread of one query's time from run to run.
NOISE_SIGMA = 0.3
LEARNING_RUNS = 20


def durations(count: int, seed: int) -> list[float]:
    """Log-normal durations, in seconds."""
    chance = random.Random(seed)
    return [min(LONGEST_S, MEDIAN_S * chance.lognormvariate(0, SIGMA)) for _ in range(count)]


def lower_bound(lengths: list[float], connections: int) -> float:
    """No schedule takes less time."""
    return max(*lengths, sum(lengths) / connections)


async def forty(
    dsn: str, connections: int, *, is_noisy: bool, seeds: int, rounds: int
) -> dict[str, Any]:
    """Forty queries: our order after 20 samples, the given one, and asyncio.gather on asyncpg."""
    ratios: dict[str, list[float]] = defaultdict(list)
    for seed in range(seeds):
        chance = random.Random(seed)
        lengths = durations(40, seed)

        def drawn(lengths: list[float] = lengths, chance: random.Random = chance) -> list[float]:
            if not is_noisy:
                return lengths
            return [min(LONGEST_S, s * chance.lognormvariate(0, NOISE_SIGMA)) for s in lengths]

        async with (
            asyncpg.create_pool(dsn, min_size=connections, max_size=connections) as theirs,
            colonnade.create_pool(dsn, min_size=connections, max_size=connections) as ours,
        ):
            peers = _peers(theirs, ours)
            for _ in range(LEARNING_RUNS):
                await peers["gather, longest first"](drawn())
            for _ in range(rounds):
                for name, peer in peers.items():
                    actual = drawn()
                    began = time.perf_counter()
                    await peer(actual)
                    seconds = time.perf_counter() - began
                    ratios[name].append(seconds / lower_bound(actual, connections))
    return {name: _summary(values) for name, values in ratios.items()}


def _peers(theirs: Any, ours: colonnade.Pool) -> dict[str, Peer]:
    async def as_written(lengths: list[float]) -> object:
        calls = (theirs.fetchval(_text(n), seconds) for n, seconds in enumerate(lengths))
        return await asyncio.gather(*calls)

    async def given(lengths: list[float]) -> object:
        return await ours.gather(_queries(lengths), order="given")

    async def longest_first(lengths: list[float]) -> object:
        return await ours.gather(_queries(lengths))

    return {
        "asyncio.gather, asyncpg": as_written,
        "gather, given order": given,
        "gather, longest first": longest_first,
    }


def _text(number: int) -> str:
    return f"SELECT 1 FROM pg_sleep($1) /* {number} */"


def _queries(lengths: list[float]) -> dict[str, Query[Any]]:
    return {str(n): Query.value(_text(n), seconds) for n, seconds in enumerate(lengths)}


async def ten(dsn: str, *, connections: int, seeds: int) -> dict[str, Any]:
    """Ten queries on few connections: shortest first, in the given order, and in ours."""
    ratios: dict[str, list[float]] = defaultdict(list)
    size = connections
    async with colonnade.create_pool(dsn, min_size=size, max_size=size) as pool:
        for seed in range(seeds):
            lengths = durations(10, seed)
            known = [
                (f"{n}", Query.value(_text(n), seconds, cost=seconds))
                for n, seconds in enumerate(lengths)
            ]
            worst = sorted(known, key=lambda item: item[1].cost or 0)
            runs: dict[str, Any] = {
                "shortest first": (dict(worst), "given"),
                "given order": (dict(known), "given"),
                "longest first": (dict(known), "longest-first"),
            }
            for name, (queries, order) in runs.items():
                began = time.perf_counter()
                await pool.gather(queries, order=order)
                seconds = time.perf_counter() - began
                ratios[name].append(seconds / lower_bound(lengths, connections))
    return {name: _summary(values) for name, values in ratios.items()}


def _summary(ratios: list[float]) -> dict[str, float]:
    return {
        "median": round(statistics.median(ratios), 3),
        "minimum": round(min(ratios), 3),
        "maximum": round(max(ratios), 3),
    }
