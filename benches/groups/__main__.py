"""Sums by groups, against pandas, pyarrow, Polars and NumPy.

    python -m benches.groups [--threads 1] [--picture x.svg] [--output x.json]

A grid of 40 cells: rows by kinds of keys. Each library sums its own table, and the ways take turns;
each figure is the minimum of the rounds, in microseconds. The last column is Colonnade's time by
that of the fastest other library; `<-` marks the cells where that is faster. A second grid has keys
in four spreads, from 10 rows to 10 million, and a third compares `apply`.

With `--threads 1`, Polars and pyarrow use one thread, as Colonnade does; the default is theirs.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colonnade import embedded, sync

if TYPE_CHECKING:
    from collections.abc import Callable

    from colonnade.sync import Connection

NAMES = ("Colonnade", "pandas", "pyarrow", "pyarrow, one thread", "Polars", "NumPy")
# The rounds of a cell take about this long.
CELL_SECONDS = 1.0


def main() -> None:
    """Measure, print, draw and save."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--most", type=int, default=10_000_000, help="rows of the second grid")
    arguments = parser.parse_args()
    if arguments.threads:
        os.environ["POLARS_MAX_THREADS"] = str(arguments.threads)
    # Polars reads the number of its threads when it is imported.
    from benches.groups import cells, picture

    if arguments.threads:
        import pyarrow as pa

        pa.set_cpu_count(arguments.threads)
    with embedded.start() as server, sync.connect(server.dsn) as connection:
        grid = _grid(connection, cells.KEYS, cells.ROWS)
        decades = [10**power for power in range(1, 8) if 10**power <= arguments.most]
        spreads = _grid(connection, cells.SPREADS, decades)
        applied = _applied(connection)
    results = {"grid": grid, "spreads": spreads, "apply": applied, "load": os.getloadavg()}
    if arguments.output:
        arguments.output.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    if arguments.picture:
        picture.draw(grid, arguments.picture)


def _grid(connection: Connection, kinds: dict[str, str], rows: Any) -> list[dict[str, Any]]:
    from benches.groups import cells

    print(f"| keys | rows | {' | '.join(NAMES)} | by the best other |")
    print("|---|" + "---:|" * (len(NAMES) + 2))
    found = []
    for kind, keys in kinds.items():
        for count in rows:
            ways = cells.sums(cells.table(connection, keys, count))
            times = minima(ways)
            best = min(seconds for name, seconds in times.items() if name != "Colonnade")
            ratio = times["Colonnade"] / best
            shown = " | ".join(
                f"{times[name] * 1e6:,.1f}" if name in times else "" for name in NAMES
            )
            mark = " <-" if ratio > 1 else ""
            print(f"| {kind} | {count:,} | {shown} | {ratio:.2f}{mark} |", flush=True)
            found.append({"keys": kind, "rows": count, "seconds": times, "ratio": ratio})
    wins = sum(cell["ratio"] <= 1 for cell in found)
    worst = max(cell["ratio"] for cell in found)
    print(f"\n{wins} of {len(found)} cells won, {worst:.2f} in the worst\n", flush=True)
    return found


def _applied(connection: Connection) -> dict[str, float]:
    """Times of a Python function for each of ten groups of 100 rows."""
    import pandas as pd

    from benches.groups import cells

    columns = cells.table(connection, cells.KEYS["int8, 10 groups"], 100)
    frame = pd.DataFrame({name: columns[name].copy() for name in ("k", "v")})
    times = minima(
        {
            "Colonnade, arrays": lambda: columns.group_by("k").apply(len, "v"),
            "Colonnade, Columns": lambda: columns.group_by("k").apply(len),
            "pandas, a column": lambda: frame.groupby("k")["v"].apply(len),
            "pandas, frames": lambda: frame.groupby("k")[["v"]].apply(len),
        }
    )
    for name, seconds in times.items():
        print(f"apply of len to 10 groups of 100 rows: {name} {seconds * 1e6:.1f} us")
    return times


def minima(ways: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Return the least time of each way, in seconds; the ways take turns."""
    once = {}
    for name, way in ways.items():
        way()
        begin = time.perf_counter()
        way()
        once[name] = time.perf_counter() - begin
    # Short ways are repeated within a round, so that the clock costs nothing.
    repeats = {name: max(1, min(200, int(2e-3 / seconds))) for name, seconds in once.items()}
    spent = sum(once[name] * repeats[name] for name in ways)
    rounds = max(5, min(100, int(CELL_SECONDS / spent)))
    least = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for name, way in ways.items():
            begin = time.perf_counter()
            for _ in range(repeats[name]):
                way()
            least[name] = min(least[name], (time.perf_counter() - begin) / repeats[name])
    return least


if __name__ == "__main__":
    main()
