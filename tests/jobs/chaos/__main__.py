"""`make chaos`: a million jobs, and everything that can go wrong meanwhile.

CHAOS_JOBS, CHAOS_SEED, CHAOS_MODE (at-least-once, at-most-once, commit) and CHAOS_LAYOUT (rows,
segments) choose a run. With CHAOS_MINUTES, runs of all modes and layouts follow each other, with
new seeds, until the time is over.
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.jobs.chaos.conductor import Conductor
from tests.jobs.chaos.plan import LAYOUTS, MODES, Layout, Mode, Plan
from tests.jobs.chaos.report import lines


def _choice(variable: str, choices: tuple[str, ...]) -> str:
    chosen = os.environ.get(variable) or choices[0]
    if chosen not in choices:
        sys.exit(f"{variable} must be one of {', '.join(choices)}, not {chosen}")
    return chosen


def main() -> None:
    minutes = float(os.environ.get("CHAOS_MINUTES") or "0")
    if not minutes:
        mode: Mode = _choice("CHAOS_MODE", MODES)  # type: ignore[assignment]
        layout: Layout = _choice("CHAOS_LAYOUT", LAYOUTS)  # type: ignore[assignment]
        _run(mode, layout)
        return
    give_up = time.monotonic() + 60 * minutes
    for mode, layout in itertools.cycle(itertools.product(MODES, LAYOUTS)):
        _run(mode, layout)
        if time.monotonic() >= give_up:
            return


def _run(mode: Mode, layout: Layout) -> None:
    count = int(os.environ.get("CHAOS_JOBS") or "1000000")
    seed = int(os.environ.get("CHAOS_SEED") or random.randrange(1 << 32))
    print(
        f"chaos: CHAOS_JOBS={count} CHAOS_SEED={seed} CHAOS_LAYOUT={layout} CHAOS_MODE={mode}",
        flush=True,
    )
    directory = Path(tempfile.mkdtemp(prefix="colonnade-chaos-"))
    report = Conductor(Plan(count, seed, mode, layout), directory).run()
    told, is_kept = lines(report)
    print("\n".join(told), flush=True)
    if not is_kept:
        sys.exit(f"What each worker wrote down is in {directory}")
    shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
