"""A worker that is killed amid its batch: `python worker.py DSN`."""

from __future__ import annotations

import sys
import time

import colonnade.sync
from colonnade.jobs import sync as jobs


def main(dsn: str) -> None:
    """Lease half of the jobs, acknowledge some, say so, and hang."""
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=2) as pool:
        queue = jobs.open_queue(pool, "work")
        batch = queue.get(50, lease=1.0)
        batch.ack(batch.ids[:10])
        print(len(batch), flush=True)  # noqa: T201
        time.sleep(60)


if __name__ == "__main__":
    main(sys.argv[1])
