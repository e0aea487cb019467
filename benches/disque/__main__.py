"""Measures the counting of origins: `python -m benches.disque [--rounds 20] [--output x.json]`.

Three tables: `add` and `max` of three counters in nanoseconds; their lines one by one; and the
processor time of a job that the blocking client gets and acknowledges, without and with counting,
from the tests' server on loopback. All are minima of interleaved rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benches.disque import lines
from benches.disque.rivals import ListCounter, SortedListCounter
from colonnade.jobs.disque import RollingCounter
from colonnade.jobs.disque.sync import Disque
from tests.jobs.disque.fake.cluster import FakeCluster

if TYPE_CHECKING:
    from collections.abc import Callable

KEYS = [f"node{number}" for number in range(10)]
EVENTS = 10_000
MAXIMA = 500
TRACED = 300
WINDOW_S = 60.0
COUNTERS: dict[str, Callable[[float], Any]] = {
    "sorted list": SortedListCounter,
    "list": ListCounter,
    "RollingCounter": RollingCounter,
}
JOBS = 1_000


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    results: dict[str, Any] = {"load": [os.getloadavg()]}
    results["counters"] = counters(arguments.rounds)
    results["lines"] = {name: by_line(make) for name, make in COUNTERS.items()}
    results["jobs"] = jobs(max(3, arguments.rounds // 4))
    results["machine"] = {"processors": os.cpu_count(), "python": platform.python_version()}
    results["load"].append(os.getloadavg())
    report(results)
    if arguments.output:
        arguments.output.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


def counters(rounds: int) -> dict[str, dict[str, float]]:
    """Nanoseconds of processor time for `add`, and for `max` with 10,000 events of ten keys."""
    least = {name: {"add": float("inf"), "max": float("inf")} for name in COUNTERS}
    for _ in range(rounds):
        for name, make in COUNTERS.items():
            counter = make(WINDOW_S)
            began = time.thread_time_ns()
            for number in range(EVENTS):
                counter.add(KEYS[number % len(KEYS)])
            added = time.thread_time_ns()
            for _ in range(MAXIMA):
                counter.max()
            ended = time.thread_time_ns()
            figures = least[name]
            figures["add"] = min(figures["add"], (added - began) / EVENTS)
            figures["max"] = min(figures["max"], (ended - added) / MAXIMA)
    return least


def by_line(make: Callable[[float], Any]) -> dict[str, list[lines.Line]]:
    """The nanoseconds of each line of `add` and `max`, after 10,000 events."""
    counter = make(WINDOW_S)
    for number in range(EVENTS):
        counter.add(KEYS[number % len(KEYS)])

    def add() -> None:
        for number in range(TRACED):
            counter.add(KEYS[number % len(KEYS)])

    def find() -> None:
        for _ in range(TRACED):
            counter.max()

    kind = type(counter)
    return {
        "add": lines.profile(kind.add, add, TRACED),
        "max": lines.profile(kind.max, find, TRACED),
    }


def jobs(rounds: int) -> dict[str, float]:
    """Microseconds of the client's processor time per job: get and ack."""
    cases = {
        f"get(limit={limit}), {name}": (limit, window)
        for limit in (1, 100)
        for name, window in (("not counted", None), ("counted", WINDOW_S))
    }
    least = dict.fromkeys(cases, float("inf"))
    with FakeCluster(1) as cluster:
        for _ in range(rounds):
            for name, (limit, window) in cases.items():
                with Disque(cluster.addresses, origin_window=window) as client:
                    client.add_many("q", [b"x" * 100] * JOBS)
                    began = time.thread_time_ns()
                    while found := client.get("q", limit=limit, timeout=0):
                        client.ack(found)
                    spent = (time.thread_time_ns() - began) / JOBS / 1000
                    least[name] = min(least[name], spent)
    return least


def report(results: dict[str, Any]) -> None:
    """Print the tables."""
    print("| counter | add, ns | max, ns |\n|---|---|---|")
    for name, figures in results["counters"].items():
        print(f"| {name} | {figures['add']:.0f} | {figures['max']:.0f} |")
    for name, methods in results["lines"].items():
        for method, found in methods.items():
            print(f"\n{name}.{method}, ns in each line")
            for line in found:
                figure = f"{line.nanoseconds:.0f}" if line.nanoseconds else ""
                print(f"{figure:>8}  {line.text}")
    print("\n| a job: get and ack | client CPU, us |\n|---|---|")
    for name, figure in results["jobs"].items():
        print(f"| {name} | {figure:.1f} |")
    print(f"\nload {results['load']}, Python {results['machine']['python']}")


if __name__ == "__main__":
    main()
