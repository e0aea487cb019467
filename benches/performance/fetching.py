"""The program whose stacks are sampled: it fetches one result over and over, by a job on stdin."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from typing import Any

import colonnade


async def fetch_repeatedly(job: dict[str, Any]) -> None:
    """Fetch for so long that the start of the interpreter is little beside it."""
    async with await colonnade.connect(job["dsn"]) as connection:
        fetch = connection.fetch if job["mode"] == "rows" else connection.fetch_columns
        end = time.perf_counter() + job["seconds"]
        while time.perf_counter() < end:
            result = await fetch(job["sql"])
            del result
    # The interpreter's own end has nothing to say.
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(fetch_repeatedly(json.load(sys.stdin)))
