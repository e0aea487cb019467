"""Measures queues: `python -m benches.jobs [--jobs 100000] [--batch 1000] [--rounds 3]`.

One worker, fsync on: jobs added per second, and jobs got and acknowledged per second, beside a
hand-written SKIP LOCKED queue on asyncpg, by turns on one server. Prints each round and the ratios
of the best rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import time
from typing import TYPE_CHECKING, Any

import asyncpg
import numpy as np

import colonnade
from benches.jobs import by_hand
from colonnade import embedded, jobs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

TEXT = "a subject line of an ordinary length"


async def timed(work: Callable[[], Awaitable[object]], count: int) -> float:
    """The jobs per second of some work."""
    began = time.perf_counter()
    await work()
    return count / (time.perf_counter() - began)


async def ours(queue: jobs.Queue, count: int, batch: int) -> dict[str, float]:
    """Add, then work off by turns of get and ack; then the same by a consumer that prefetches."""
    table = {"user_id": np.arange(count), "body": [TEXT] * count}

    async def work_off() -> None:
        while found := await queue.get(batch, timeout=0):
            await found.ack()

    async def handler(_batch: jobs.Batch) -> None: ...

    rates = {"add": await timed(lambda: queue.add(table), count)}
    rates["get + ack"] = await timed(work_off, count)
    await queue.add(table)
    rates["consumer"] = await timed(queue.consume(handler, limit=batch).drain, count)
    return rates


async def theirs(connection: Any, count: int, batch: int) -> dict[str, float]:
    """The same jobs, as a program on asyncpg would do it."""
    records = [(number, TEXT) for number in range(count)]
    rates = {"add": await timed(lambda: by_hand.add(connection, records), count)}
    rates["get + ack"] = await timed(lambda: by_hand.work_off(connection, batch), count)
    return rates


async def measured(arguments: argparse.Namespace, dsn: str) -> dict[str, Any]:
    """All rounds, and the ratios of the best."""
    rounds = []
    connection = await asyncpg.connect(dsn)
    async with colonnade.create_pool(dsn, min_size=2, max_size=4) as pool:
        payload = {"user_id": "int8", "body": "text"}
        queue = await jobs.create_queue(pool, "bench", payload)
        await by_hand.create(connection)
        for number in range(arguments.rounds):
            count, batch = arguments.jobs, arguments.batch
            rounds.append(
                {
                    "colonnade": await ours(queue, count, batch),
                    "asyncpg": await theirs(connection, count, batch),
                }
            )
            print(number, json.dumps(rounds[-1]))
    await connection.close()
    best = {
        who: {verb: max(each[who][verb] for each in rounds) for verb in rounds[0][who]}
        for who in ("colonnade", "asyncpg")
    }
    ratios = {verb: best["colonnade"][verb] / best["asyncpg"][verb] for verb in best["asyncpg"]}
    return {"best": best, "ratios": ratios, "load": os.getloadavg()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    durable = dict.fromkeys(("fsync", "synchronous_commit", "full_page_writes"), "on")
    with embedded.start(settings=durable) as server:
        print(json.dumps(asyncio.run(measured(arguments, server.dsn)), indent=2))


if __name__ == "__main__":
    main()
