"""Compares several connections with one: `python -m benches.parallel [--rows N] [--rounds N]`.

A whole table is read over one connection, and by `colonnade.parallel.read` over several. The two
take turns, so that other load affects both.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from typing import TYPE_CHECKING

from colonnade import embedded, parallel, sync

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_TABLE = """
CREATE TABLE parted AS SELECT
    g::int8 AS id, g / 3.0::float8 AS ratio, (g * 0.25)::numeric(12, 2) AS price,
    timestamptz '2020-01-01' + g * interval '1 second' AS seen, 'name ' || g % 5000 AS name
FROM generate_series(1, {rows}) AS g
"""


def main(words: Sequence[str] | None = None) -> None:
    """Measure, and print the times and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--connections", type=int, nargs="*", default=[2, 4])
    arguments = parser.parse_args(words)
    with embedded.start() as server, sync.connect(server.dsn) as connection:
        connection.execute(_TABLE.format(rows=arguments.rows))
        connection.execute("VACUUM ANALYZE parted")
        ways: dict[str, Callable[[], object]] = {
            "1 connection": lambda: connection.fetch_columns("SELECT * FROM parted")
        }
        for count in arguments.connections:
            ways[f"{count} connections"] = _reader(server.dsn, count)
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(arguments.rounds):
            for name, way in ways.items():
                started = time.perf_counter()
                way()
                seconds[name].append(time.perf_counter() - started)
    base = statistics.median(seconds["1 connection"])
    print(f"{arguments.rows} rows, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    for name, taken in seconds.items():
        median = statistics.median(taken)
        print(f"{name:>15}: {median:7.3f} s, {base / median:5.2f} x")


def _reader(dsn: str, count: int) -> Callable[[], object]:
    return lambda: parallel.read("parted", dsn, connections=count)


if __name__ == "__main__":
    main()
