"""Reads tables over connections that are cut, reset, stalled and half-closed at random bytes.

python -m tests.serve.soak [--tries 10000] [--minutes 60] [--seed N]
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
    parser.add_argument(
        "--minutes", type=float, default=0.0, help="begin such rounds for so long; one in any case"
    )
    arguments = parser.parse_args()
    began = time.monotonic()
    seed, complaints = arguments.seed, 0
    with embedded.start() as server:
        while True:
            complaints += _round(server.dsn, arguments.tries, seed)
            if complaints or time.monotonic() >= began + 60 * arguments.minutes:
                return bool(complaints)
            seed = (seed + 1) % (1 << 32)


def _round(dsn: str, tries: int, seed: int) -> int:
    """Make this many tries, print their outcomes, and return the number of complaints."""
    print(f"{tries:,} tables, seed {seed}", flush=True)
    began = time.monotonic()
    books = asyncio.run(run(dsn, tries, seed))
    print(books.report())
    print(f"{time.monotonic() - began:.0f} s, {len(books.complaints)} complaints")
    print(*books.complaints[:20], sep="\n", flush=True)
    return len(books.complaints)


if __name__ == "__main__":
    raise SystemExit(main())
