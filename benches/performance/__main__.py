"""Runs all benchmarks, and writes docs/reference/performance.md from their results.

    python -m benches.performance                       # a quarter of an hour, quiet machine
    python -m benches.performance --scale 0.1           # a tenth of the rows, in a few minutes
    python -m benches.performance --only hold,pool      # repeat some steps, write the whole page
    python -m benches.performance --only ""             # write only the page, from what is kept

Each step is a separate program that writes `results.json` to a folder of its name. From these files
come the pictures, and the figures that are kept; from those the page.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benches.files import whole_file
from benches.instructions import __main__ as instructions, figures as instruction_counts
from benches.performance import page, plots
from benches.performance.kept import kept
from benches.shapes import NARROW

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "build/performance"
FIGURES = ROOT / "benches/performance/figures.json"
PAGE = ROOT / "docs/reference/performance.md"
OWN = "colonnade-columns,colonnade-columns-uvloop,colonnade-columns-sync"
STREAM_ROWS = 50_000_000
STEP_TIMEOUT_S = 1800.0


def steps(scale: float, rounds: int, date: str | None) -> dict[str, list[str]]:
    """The program of each step with its arguments, by the step's name."""
    suite = ["-m", "benches", "--no-hold", "--no-pictures", "--rounds", str(rounds)]
    suite += ["--scale", str(scale), *(("--date", date) if date else ())]
    return {
        "suite": [*suite, "--install"],
        "socket": [*suite, "--socket", "--peers", f"drain,{OWN}"],
        "tls": [*suite, "--tls", "--shapes", "seed,narrow", "--peers", f"drain-tls,{OWN}"],
        "boxes": [
            *("-m", "benches.performance.boxes", "--seconds", str(2 * min(1.0, scale))),
            *("--rows", str(round(1_000_000 * scale))),
        ],
        "split": [
            # Enough rows for the kernel's 10 ms ticks, yet quick to load.
            *("-m", "benches.performance.split", "--scale", str(0.5 * scale)),
            *("--rounds", str(rounds), "--seconds", str(max(2.0, 4 * scale))),
        ],
        "hold": ["-m", "benches.hold", "--rows", str(max(2_000, round(NARROW.rows * scale)))],
        "stream": ["-m", "benches.stream", "--rows", str(round(STREAM_ROWS * scale))],
        "small": ["-m", "benches.small", "--rounds", str(max(1, round(5 * scale)))],
        "pool": ["-m", "benches.pool", "--rounds", str(max(12, round(60 * scale)))],
        "pool-apart": [
            *("-m", "benches.pool", "--processors", "apart"),
            *("--rounds", str(max(12, round(60 * scale)))),
        ],
        "many": ["-m", "benches.many", "--rounds", str(max(1, round(5 * scale)))],
    }


def main(words: Sequence[str] | None = None) -> int:
    """Run the steps, and write the pictures and the page."""
    parser = argparse.ArgumentParser(
        prog="python -m benches.performance",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--scale", type=float, default=1.0, help="multiple of all sizes")
    parser.add_argument("--rounds", type=int, default=2, help="of the suite")
    parser.add_argument("--only", metavar="A,B", help="the steps to run; default: all")
    parser.add_argument("--date", metavar="YYYY-MM-DD", help="the day to note in the results")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIR")
    parser.add_argument("--figures", type=Path, default=FIGURES, metavar="FILE")
    parser.add_argument("--page", type=Path, default=PAGE, metavar="FILE")
    arguments = parser.parse_args(words)
    known = steps(arguments.scale, arguments.rounds, arguments.date)
    chosen = known if arguments.only is None else [n for n in arguments.only.split(",") if n]
    if unknown := set(chosen) - set(known):
        parser.error(f"no step is called {unknown.pop()!r}; there are {', '.join(known)}")
    failed = [name for name in chosen if not _ran(name, known[name], arguments.results)]
    written = make_page(read(arguments.results), arguments.figures, arguments.page)
    print(f"performance: wrote {arguments.page} and {len(written)} pictures")
    if failed:
        print(f"performance: failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def make_page(results: dict[str, Any], figures: Path, path: Path) -> list[str]:
    """Draw the pictures of the steps that ran, keep their figures, and write the page from all."""
    pictures = path.parent / page.PICTURES
    pictures.mkdir(parents=True, exist_ok=True)
    drawn = plots.draw_all(results, pictures)
    for old in pictures.glob("*.svg"):
        if old.name not in drawn and plots.step_of(old.name) in results:
            old.unlink()
    known = json.loads(figures.read_text()) if figures.exists() else {}
    known |= kept(results)
    with whole_file(figures) as unfinished:
        unfinished.write_text(json.dumps(known, indent=1) + "\n")
    known["instructions"] = instruction_counts.read(instructions.EXPECTED)
    flames = [name for name in plots.FLAMES if (pictures / name).exists()]
    with whole_file(path) as unfinished:
        unfinished.write_text(page.page(known, flames))
    return drawn


def read(directory: Path) -> dict[str, Any]:
    """Read the results of every step that ran."""
    return {
        name: json.loads(file.read_text())
        for name in steps(1.0, 1, None)
        if (file := directory / name / "results.json").exists()
    }


def _ran(name: str, words: Sequence[str], results: Path) -> bool:
    output = results / name
    # Some programs take the file as an argument, the others the folder.
    named = output / "results.json" if name in {"pool", "pool-apart", "many"} else output
    print(f"performance: {name}", flush=True)
    started = time.monotonic()
    try:
        done = subprocess.run(
            [sys.executable, *words, "--output", str(named)],
            cwd=ROOT,
            check=False,
            timeout=STEP_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        return False
    print(f"performance: {name} took {time.monotonic() - started:.0f} s", flush=True)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
