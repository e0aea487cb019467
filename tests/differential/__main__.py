"""`python -m tests.differential`: send values in and out by every door, under hostile settings.

    python -m tests.differential [--triples 100000] [--courses 200] [--seed 1]

Each value is equal when it comes back, or a named error says why it cannot. A difference is shrunk
and printed, and the run fails; `accepted.py` lists the differences that are accepted. Then tables
and types change between the uses of statements (`changing.py`), also by peers, which are counted.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import warnings
from pathlib import Path

from colonnade import embedded
from tests.differential import changing
from tests.differential.run import run, shown
from tests.differential.world import World


def say(text: str) -> None:
    print(text, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Send values in and out by every door.")
    parser.add_argument("--triples", type=int, default=100_000)
    parser.add_argument("--courses", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.randrange(2**31))
    asked = parser.parse_args()
    say(f"seed {asked.seed}")
    warnings.simplefilter("ignore")
    start = time.monotonic()
    with (
        embedded.start(tcp=True) as server,
        tempfile.TemporaryDirectory() as folder,
        World(server.dsn, Path(folder)) as world,
    ):
        tally = run(world, asked.seed, asked.triples, say)
        say(shown(tally))
        is_right = changing.run(server.dsn, asked.seed, asked.courses, say)
    say(f"{time.monotonic() - start:.0f} s, seed {asked.seed}")
    return 0 if is_right and not tally.faults else 1


if __name__ == "__main__":
    sys.exit(main())
