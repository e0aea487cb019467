"""Reads tables over connections that are cut, reset, stalled and half-closed at random bytes.

python -m tests.serve.soak [--tries 10000] [--seed N]
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time

from colonnade import embedded
from tests.serve.soak.storm import run


def main() -> int:
    """Print the counts of the outcomes, and return 1 if something must not have happened."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    arguments = parser.parse_args()
    print(f"{arguments.tries:,} tables, seed {arguments.seed}", flush=True)
    began = time.monotonic()
    with embedded.start() as server:
        books = asyncio.run(run(server.dsn, arguments.tries, arguments.seed))
    print(books.report())
    print(f"{time.monotonic() - began:.0f} s, {len(books.complaints)} complaints")
    print(*books.complaints[:20], sep="\n")
    return bool(books.complaints)


if __name__ == "__main__":
    raise SystemExit(main())
