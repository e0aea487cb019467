"""Measures a ping under export, and the exports themselves, beside an idle server.

    python -m benches.serve [--rows 500000] [--rounds 3] [--seconds 4] [--loops asyncio,uvloop]

Each way has a server in a process of its own, with `/ping` and `/export` on one event loop. In each
round every server is pinged idle, then while another process reads exports from it without a break.
Every second ping then goes to a quiet server beside it: the machine delays both, because the reader
and PostgreSQL need its processors too, and only the rest is due to the export's loop. A last part
stalls a reader after its first MiB, and reads the growth of the server's memory.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg

from benches.files import whole_file
from benches.measure import machine
from benches.serve import picture
from benches.serve.exports import COLUMNS, WAYS
from colonnade import embedded

RESULTS = Path(__file__).resolve().parents[2] / "build" / "benches" / "serve"
_PING_INTERVAL_S = 0.002
_STALL_S = 3.0
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class Server:
    """A server process."""

    def __init__(self, way: str, loop: str, dsn: str) -> None:
        self.way, self.loop = way, loop
        command = [sys.executable, "-m", "benches.serve.server", way, loop, dsn]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()

    def cpu_s(self) -> float:
        """Its processor time so far."""
        text = Path(f"/proc/{self._process.pid}/stat").read_text()
        words = text.rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) * _TICK_S

    def resident_bytes(self) -> int:
        """Its memory."""
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


def pings(port: int) -> Iterator[float]:
    """The times of pings on one connection, one after the other."""
    with socket.create_connection(("127.0.0.1", port)) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            began = time.perf_counter()
            sock.sendall(b"GET /ping HTTP/1.1\r\nhost: bench\r\n\r\n")
            answer = b""
            while not answer.endswith(b"pong"):
                answer += sock.recv(4096)
            yield time.perf_counter() - began
            time.sleep(_PING_INTERVAL_S)


def measure(server: Server, quiet: Server, seconds: float) -> dict[str, float]:
    """One round of a server: idle, then under export, beside a server that does nothing else."""
    give_up = time.monotonic() + seconds
    idle = list(itertools.takewhile(lambda _: time.monotonic() < give_up, pings(server.port)))
    command = [sys.executable, "-m", "benches.serve.reader", str(server.port), str(seconds)]
    cpu = server.cpu_s()
    reader = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    loaded, beside = [], []
    for under_export, of_quiet in zip(pings(server.port), pings(quiet.port), strict=True):
        loaded.append(under_export)
        beside.append(of_quiet)
        if reader.poll() is not None:
            break
    assert reader.stdout is not None
    exports = [json.loads(line) for line in reader.stdout]
    loaded_p99, beside_p99 = _p99(loaded), _p99(beside)
    return {
        "idle_p50_s": statistics.median(idle),
        "idle_p99_s": _p99(idle),
        "p50_s": statistics.median(loaded),
        "p99_s": loaded_p99,
        "longest_s": max(loaded),
        "beside_p50_s": statistics.median(beside),
        "beside_p99_s": beside_p99,
        "ratio": loaded_p99 / beside_p99,
        "cpu_s": (server.cpu_s() - cpu) / len(exports),
        "whole_s": statistics.median(each["whole_s"] for each in exports),
        "first_s": statistics.median(each["first_s"] for each in exports),
        "nbytes": exports[0]["nbytes"],
        "exports": len(exports),
    }


def stalled(server: Server) -> int:
    """The growth of the server's memory while a reader stalls."""
    before = server.resident_bytes()
    most = 0
    with socket.create_connection(("127.0.0.1", server.port)) as sock:
        sock.sendall(b"GET /export HTTP/1.1\r\nhost: bench\r\n\r\n")
        left = 1 << 20
        while left > 0:
            left -= len(sock.recv(left))
        give_up = time.monotonic() + _STALL_S
        while time.monotonic() < give_up:
            most = max(most, server.resident_bytes() - before)
            time.sleep(0.01)
    return most


def _p99(times: list[float]) -> float:
    return statistics.quantiles(times, n=100, method="inclusive")[98]


def main() -> None:
    """Measure, print a table, and write the results and the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--loops", default="asyncio,uvloop")
    arguments = parser.parse_args()
    results: dict[str, Any] = {"machine": machine.describe(), "load": machine.load()}
    results.update(rows=arguments.rows, rounds=[])
    with embedded.start() as database, contextlib.ExitStack() as stack:
        with psycopg.connect(database.dsn, autocommit=True) as connection:
            rows = f"generate_series(1, {arguments.rows}) AS i"
            connection.execute(f"CREATE TABLE export AS SELECT {COLUMNS} FROM {rows}")
            connection.execute("VACUUM ANALYZE export")
        cases = [(way, loop) for loop in arguments.loops.split(",") for way in WAYS]
        for way, loop in cases:
            fresh = Server(way, loop, database.dsn)
            try:
                results.setdefault("stalled", {})[f"{way} {loop}"] = stalled(fresh)
            finally:
                fresh.close()
        servers, quiet = [], {}
        for way, loop in cases:
            servers.append(Server(way, loop, database.dsn))
            stack.callback(servers[-1].close)
            if loop not in quiet:
                quiet[loop] = Server(way, loop, database.dsn)
                stack.callback(quiet[loop].close)
        for server in servers:
            measure(server, quiet[server.loop], 0.5)
        for number in range(arguments.rounds):
            for server in servers:
                measured = measure(server, quiet[server.loop], arguments.seconds)
                case = {"way": server.way, "loop": server.loop, "round": number}
                results["rounds"].append({**case, **measured})
                print(
                    f"{number} {server.loop:8} {server.way:15} "
                    f"p99 {measured['p99_s'] * 1e3:8.2f} ms, "
                    f"{measured['ratio']:6.1f} of a quiet server's",
                    flush=True,
                )
    print(picture.table(results))
    RESULTS.mkdir(parents=True, exist_ok=True)
    with whole_file(RESULTS / "results.json") as unfinished:
        unfinished.write_text(json.dumps(results, indent=1) + "\n")
    picture.draw(results, RESULTS)


if __name__ == "__main__":
    main()
