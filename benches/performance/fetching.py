"""The program whose stacks are sampled: fetches one result repeatedly, by a job on stdin."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from typing import Any

import colonnade


async def fetch_repeatedly(job: dict[str, Any]) -> None:
    """Fetch long enough that the start of the interpreter takes a negligible share."""
    async with await colonnade.connect(job["dsn"]) as connection:
        fetch = connection.fetch if job["mode"] == "rows" else connection.fetch_columns
        end = time.perf_counter() + job["seconds"]
        while time.perf_counter() < end:
            result = await fetch(job["sql"])
            del result
    # Skip the interpreter's shutdown, which must not appear among the stacks.
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(fetch_repeatedly(json.load(sys.stdin)))
