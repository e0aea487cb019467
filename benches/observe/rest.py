"""Measures what a monitor costs a loop at rest, and how exact the utilization is that it tells.

    python -m benches.observe.rest [--seconds 5] [--rounds 3]

Each case is a process of its own: a loop that sleeps, or one that computes for a known share of the
time in steps of 2 ms, with and without an observer. The cost is the processor time of the process,
as a share of one core; cases take turns, and the least of the rounds counts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

from benches.measure import machine

OBSERVERS = ("none", "LoopMonitor", "loopmon", "aiodebug")
LOOPS = ("asyncio", "uvloop")
SHARES = (0.1, 0.5, 0.9)
STEP_S = 0.002
INTERVAL_S = 0.01


async def _observe(name: str) -> Any:
    """Start an observer with a beat of 10 ms; None if it is not installed."""
    if name == "LoopMonitor":
        from colonnade import observe

        monitor = observe.LoopMonitor(interval=INTERVAL_S, logger=None)
        monitor.start()
        return monitor
    if name == "loopmon":
        import loopmon

        return loopmon.create(interval=INTERVAL_S)
    if name == "aiodebug":
        from aiodebug import log_slow_callbacks

        log_slow_callbacks.enable(0.02)
    return None


async def _child(observer: str, share: float, seconds: float) -> dict[str, float]:
    monitor = await _observe(observer)
    await asyncio.sleep(0.2)
    earlier = monitor.snapshot() if observer == "LoopMonitor" else None
    wall, processor = time.perf_counter(), time.process_time()
    busy = 0.0
    while time.perf_counter() - wall < seconds:
        start = time.perf_counter()
        if share:
            while time.perf_counter() - start < STEP_S:
                pass
            busy += time.perf_counter() - start
            await asyncio.sleep(STEP_S / share - STEP_S)
        else:
            await asyncio.sleep(min(1.0, seconds))
    told = {
        "wall": time.perf_counter() - wall,
        "processor": time.process_time() - processor,
        "busy": busy,
    }
    if earlier is not None:
        told["utilization"] = monitor.snapshot(since=earlier).utilization
        monitor.stop()
    return told


def _run(loop: str, observer: str, share: float, seconds: float) -> dict[str, float] | None:
    command = [sys.executable, "-m", "benches.observe.rest", "--child", loop, observer]
    command += [str(share), str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"skipped {observer} on {loop}: {done.stderr.splitlines()[-1]}", file=sys.stderr)
        return None
    told: dict[str, float] = json.loads(done.stdout)
    return told


def _costs(seconds: float, rounds: int) -> None:
    least: dict[tuple[str, str], float] = {}
    for _ in range(rounds):
        for loop in LOOPS:
            for observer in OBSERVERS:
                told = _run(loop, observer, 0.0, seconds)
                if told is not None:
                    cost = told["processor"] / told["wall"]
                    least[loop, observer] = min(cost, least.get((loop, observer), cost))
    print("| at rest, share of a core | " + " | ".join(OBSERVERS) + " |")
    print("|---" * (len(OBSERVERS) + 1) + "|")
    for loop in LOOPS:
        cells = [least.get((loop, observer)) for observer in OBSERVERS]
        told_cells = ["-" if cost is None else f"{cost:.2%}" for cost in cells]
        print(f"| {loop} | " + " | ".join(told_cells) + " |")


def _exactness(seconds: float) -> None:
    print("\n| computing | " + " | ".join(f"told on {loop}" for loop in LOOPS) + " |")
    print("|---" * (len(LOOPS) + 1) + "|")
    for share in SHARES:
        cells = []
        for loop in LOOPS:
            told = _run(loop, "LoopMonitor", share, seconds)
            if told is None:
                cells.append("-")
                continue
            cells.append(f"{told['utilization']:.1%} (was {told['busy'] / told['wall']:.1%})")
        print(f"| {share:.0%} | " + " | ".join(cells) + " |")


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benches.observe.rest", description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args(words)
    if arguments.child:
        loop, observer, share, seconds = arguments.child
        factory: Any = None
        if loop == "uvloop":
            import uvloop

            factory = uvloop.new_event_loop
        with asyncio.Runner(loop_factory=factory) as runner:
            print(json.dumps(runner.run(_child(observer, float(share), float(seconds)))))
        return 0
    print(machine.describe())
    _costs(arguments.seconds, arguments.rounds)
    _exactness(arguments.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
