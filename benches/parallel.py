"""Compares several connections with one: `python -m benches.parallel [--rows N] [--rounds N]`.

A whole table is read over one connection, and by `colonnade.parallel.read` over several. The ways
take turns, so that other load affects all of them, and the best round of each counts.

Three figures: the wall time against a single read's, the processor time of this process against a
single read's, and the wall time against a bound. The bound is the processor time that the server
and the client need for a single read, spread over all processors of this machine that the
connections can use. The server's is read from Linux's /proc, so it is known there only.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from colonnade import embedded, parallel, sync

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_TABLES = {
    "parted": """
CREATE TABLE parted AS SELECT
    g::int8 AS id, g / 3.0::float8 AS ratio, (g * 0.25)::numeric(12, 2) AS price,
    timestamptz '2020-01-01' + g * interval '1 second' AS seen, 'name ' || g % 5000 AS name
FROM generate_series(1, {rows}) AS g
""",
    "lineitem": """
CREATE TABLE lineitem AS SELECT
    g::int8 / 4 AS orderkey, g % 200000 AS partkey, g % 10000 AS suppkey,
    g % 4 AS linenumber, (g % 50)::numeric(15, 2) AS quantity,
    (g * 0.37)::numeric(15, 2) AS extendedprice, (g % 11 / 100.0)::numeric(15, 2) AS discount,
    (g % 9 / 100.0)::numeric(15, 2) AS tax, substr('RAN', 1 + g % 3, 1)::char AS returnflag,
    substr('OF', 1 + g % 2, 1)::char AS linestatus, date '1992-01-01' + g % 2500 AS shipdate,
    date '1992-02-01' + g % 2500 AS commitdate, date '1992-03-01' + g % 2500 AS receiptdate,
    'DELIVER IN PERSON'::char(25) AS shipinstruct, 'TRUCK'::char(10) AS shipmode,
    'comment of line ' || g AS comment
FROM generate_series(1, {rows}) AS g
""",
}


@dataclass
class _Times:
    wall: list[float] = field(default_factory=list)
    client: list[float] = field(default_factory=list)
    server: list[float] = field(default_factory=list)


def main(words: Sequence[str] | None = None) -> None:
    """Measure, and print the times and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--connections", type=int, nargs="*", default=[2, 4])
    parser.add_argument("--tables", nargs="*", choices=_TABLES, default=[*_TABLES])
    arguments = parser.parse_args(words)
    with embedded.start() as server, sync.connect(server.dsn) as connection:
        for table in arguments.tables:
            connection.execute(_TABLES[table].format(rows=arguments.rows))
            connection.execute(f"VACUUM ANALYZE {table}")
            print(f"{table}: {arguments.rows} rows, ", end="")
            print(f"{_processors()} processors, load {os.getloadavg()[0]:.1f}")
            _compare(connection, server.dsn, table, arguments)
            connection.execute(f"DROP TABLE {table}")


def _compare(
    connection: sync.Connection, dsn: str, table: str, arguments: argparse.Namespace
) -> None:
    single = "1 connection"
    ways: dict[str, Callable[[], object]] = {
        single: lambda: connection.fetch_columns(f"SELECT * FROM {table}")
    }
    for count in arguments.connections:
        ways[f"{count} connections"] = _reader(table, dsn, count)
    times = {name: _Times() for name in ways}
    backend = connection.get_server_pid() or 0
    for _ in range(arguments.rounds):
        for name, way in ways.items():
            _measure(times[name], way, backend)
    alone = times[single]
    work = min(alone.client) + min(alone.server)
    for name, taken in times.items():
        wall, client = min(taken.wall), min(taken.client)
        line = f"{name:>15}: {wall:7.3f} s, {wall / min(alone.wall):5.2f} of the wall time, "
        line += f"{client / min(alone.client):5.2f} of the client's processor time"
        count = min(_processors(), int(name.split()[0]))
        if count > 1 and min(alone.server):
            line += f", {wall / (work / count):5.2f} of the bound"
        print(line)


def _measure(times: _Times, way: Callable[[], object], backend: int) -> None:
    server, client, wall = _server_seconds(backend), time.process_time(), time.perf_counter()
    made = way()
    times.wall.append(time.perf_counter() - wall)
    # Giving the memory back is a part of the cost.
    del made
    times.client.append(time.process_time() - client)
    times.server.append(_server_seconds(backend) - server)


def _server_seconds(backend: int) -> float:
    """The processor time of a server process so far; 0 where it is not known."""
    if sys.platform != "linux":
        return 0.0
    words = Path(f"/proc/{backend}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _reader(table: str, dsn: str, count: int) -> Callable[[], object]:
    return lambda: parallel.sync.read(table, dsn, connections=count)


if __name__ == "__main__":
    main()
