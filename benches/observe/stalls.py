"""Injects stalls of known causes into event loops, and counts how many are seen and named right.

    python -m benches.observe.stalls [--stalls 600] [--loops asyncio,uvloop]

Each cause gets as many stalls, of 20 to 150 ms, in random order and in several ways. All observers
watch the same loop in the same process: `LoopMonitor`, and aiodebug and loopmon at the settings of
their documentation. A stall counts as seen if the observer reports a stall that overlaps it. The
rivals name no cause. On a busy machine, the loop's thread may lack a processor for most of a stall
of another cause; such stalls are counted as wrong, and told apart in the last line.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import gc
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import colonnade
from benches.measure import machine
from colonnade import embedded, observe

CAUSES = ("gc", "decode", "gil", "starved", "blocked", "code")
SHORTEST_S, LONGEST_S = 0.02, 0.15
# loopmon and aiodebug by their own defaults.
LOOPMON_INTERVAL_S = 0.1


@dataclass
class Injected:
    """An injected stall, and each observer's report of it."""

    cause: str
    way: str
    began: float
    ended: float
    named: str | None = None
    has_stack: bool = False
    evidence: str = ""
    lacked_processor: bool = False
    seen_by: list[str] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """Its length."""
        return self.ended - self.began


class Injector:
    """The ways to stall a loop."""

    def __init__(self, connection: colonnade.Connection, chance: random.Random) -> None:
        self._connection = connection
        self._chance = chance
        # Found once: how many numbers take a second.
        self._sum_rate = _rate(lambda: sum(range(200_000)), 200_000)
        self._objects: list[list[int]] = []
        self.ways: dict[str, list[Callable[[float], Awaitable[None]]]] = {
            "gc": [self.collect, self.collect_in_a_thread],
            "decode": [self.decode_array, self.decode_rows],
            "gil": [self.thread_in_c, self.threads_in_python],
            "starved": [self.stop_the_process, self.crowd_the_processor],
            "blocked": [self.sleep, self.wait_for_a_lock, self.read_a_pipe],
            "code": [self.loop_in_python, self.sum_in_c, self.many_callbacks],
        }

    async def collect(self, seconds: float) -> None:
        """The collector runs in the loop's thread."""
        await self._fill(seconds)
        gc.collect()

    async def collect_in_a_thread(self, seconds: float) -> None:
        """The collector runs in another thread."""
        await self._fill(seconds)
        await _in_thread(gc.collect)

    async def decode_array(self, seconds: float) -> None:
        """One value of the server is an array of many numbers."""
        count = int(seconds * 45_000_000)
        query = "SELECT array_agg(n) FROM generate_series(1, $1::int) AS n"
        await self._connection.fetchval(query, count)

    async def decode_rows(self, seconds: float) -> None:
        """One value is a text of many megabytes."""
        size = int(seconds * 1_500_000_000)
        await self._connection.fetchval("SELECT repeat('x', $1::int)", size)

    async def thread_in_c(self, seconds: float) -> None:
        """Another thread runs one long call in C."""
        await _in_thread(functools.partial(sum, range(int(seconds * self._sum_rate))))

    async def threads_in_python(self, seconds: float) -> None:
        """Many other threads compute in Python."""
        until = time.perf_counter() + seconds + 0.1
        threads = [threading.Thread(target=_compute_until, args=(until,)) for _ in range(12)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):  # noqa: ASYNC110 - the loop is to run
            await asyncio.sleep(0)

    async def stop_the_process(self, seconds: float) -> None:
        """Another process stops this one."""
        pid = os.getpid()
        script = f"kill -STOP {pid}; sleep {seconds:.3f}; kill -CONT {pid}"
        process = await asyncio.create_subprocess_exec("sh", "-c", script)
        await process.wait()

    async def crowd_the_processor(self, seconds: float) -> None:
        """The loop's thread shares one processor with many that compute."""
        chosen = min(os.sched_getaffinity(0))
        crowd = await asyncio.to_thread(lambda: [_crowd(chosen) for _ in range(12)])
        before = os.sched_getaffinity(0)
        await asyncio.sleep(0.1)
        os.sched_setaffinity(0, {chosen})
        try:
            _compute_until(time.perf_counter() + seconds)
        finally:
            os.sched_setaffinity(0, before)
            await asyncio.to_thread(_end, crowd)

    async def sleep(self, seconds: float) -> None:
        """A call sleeps."""
        time.sleep(seconds)  # noqa: ASYNC251 - the fault to be found

    async def wait_for_a_lock(self, seconds: float) -> None:
        """A lock is held by a thread that sleeps."""
        lock = threading.Lock()
        lock.acquire()
        threading.Timer(seconds, lock.release).start()
        with lock:
            pass

    async def read_a_pipe(self, seconds: float) -> None:
        """A pipe has nothing to read for a while."""
        ours, theirs = os.pipe()
        threading.Timer(seconds, os.write, (theirs, b"x")).start()
        os.read(ours, 1)
        os.close(ours)
        os.close(theirs)

    async def loop_in_python(self, seconds: float) -> None:
        """Python code computes."""
        _compute_until(time.perf_counter() + seconds)

    async def sum_in_c(self, seconds: float) -> None:
        """One call in C computes."""
        sum(range(int(seconds * self._sum_rate)))

    async def many_callbacks(self, seconds: float) -> None:
        """Many callbacks of one turn compute a little each."""
        loop = asyncio.get_running_loop()
        for _ in range(int(seconds * 1000)):
            loop.call_soon(lambda: _compute_until(time.perf_counter() + 0.001))
        await asyncio.sleep(0)

    async def _fill(self, seconds: float) -> None:
        """Make objects whose collection takes about so long, in small steps."""
        count = int(seconds * 16_000_000)
        gc.disable()
        while len(self._objects) != count:
            missing = count - len(self._objects)
            if missing < 0:
                del self._objects[max(count, len(self._objects) - 20_000) :]
            else:
                self._objects += [[number] for number in range(min(missing, 20_000))]
            await asyncio.sleep(0)
        await asyncio.sleep(0.03)
        gc.enable()


def _rate(work: Callable[[], Any], size: int) -> float:
    best = min(_timed(work) for _ in range(20))
    return size / best


def _timed(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _compute_until(moment: float) -> None:
    while time.perf_counter() < moment:
        pass


async def _in_thread(work: Callable[[], Any]) -> None:
    """Run the work in a thread while the loop turns, as another request would have it turn."""
    task = asyncio.create_task(asyncio.to_thread(work))
    while not task.done():  # noqa: ASYNC110 - the loop is to run
        await asyncio.sleep(0)
    await task


def _crowd(processor: int) -> subprocess.Popen[bytes]:
    program = f"import os\nos.sched_setaffinity(0, {{{processor}}})\nwhile True: pass"
    return subprocess.Popen([sys.executable, "-S", "-c", program])


def _end(crowd: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in crowd:
        process.kill()
        process.wait()


class Rivals:
    """aiodebug and loopmon, as far as they are installed, beside the monitor."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.told: dict[str, list[tuple[float, float]]] = {}
        self._loopmon: Any = None

    async def start(self) -> None:
        """Install them in the running loop."""
        try:
            from aiodebug import log_slow_callbacks
        except ImportError:
            pass
        else:
            self._add("aiodebug")
            log_slow_callbacks.enable(
                SHORTEST_S, lambda _, seconds: self._tell("aiodebug", seconds)
            )
        try:
            import loopmon
        except ImportError:
            pass
        else:
            self._add("loopmon")
            self._loopmon = loopmon.create(
                interval=LOOPMON_INTERVAL_S, callbacks=[self._lag_of_loopmon]
            )

    async def stop(self) -> None:
        """Remove what can be removed."""
        if self._loopmon is not None:
            await self._loopmon.stop()

    async def _lag_of_loopmon(self, lag: float, tasks: int, time_spent: float) -> None:
        del tasks, time_spent
        if lag >= SHORTEST_S / 2:
            self._tell("loopmon", lag)

    def _add(self, name: str) -> None:
        self.names.append(name)
        self.told[name] = []

    def _tell(self, name: str, seconds: float) -> None:
        now = time.time()
        self.told[name].append((now - seconds, now))


async def inject(count: int, dsn: str, seed: int) -> tuple[list[Injected], list[str]]:
    """Stall the running loop this many times, and return the findings of each observer."""
    chance = random.Random(seed)
    rivals = Rivals()
    injected: list[Injected] = []
    async with await colonnade.connect(dsn) as connection:
        injector = Injector(connection, chance)
        monitor = observe.LoopMonitor(logger=None, keep=10 * count)
        plan = [cause for cause in CAUSES for _ in range(count // len(CAUSES))]
        chance.shuffle(plan)
        await rivals.start()
        async with monitor:
            for number, cause in enumerate(plan, 1):
                ways = injector.ways[cause]
                way = ways[number % len(ways)]
                await asyncio.sleep(0.05 + chance.random() * 0.02)
                began = time.time()
                await way(chance.uniform(SHORTEST_S, LONGEST_S) + 0.005)
                # The loop answers in its next turns.
                await asyncio.sleep(0)
                ended = time.time()
                await asyncio.sleep(0.05)
                injected.append(Injected(cause, way.__name__, began, ended))
                _show(number, len(plan))
        await rivals.stop()
    for stall in injected:
        _judge(stall, monitor.recent_stalls, rivals)
    return injected, rivals.names


def _judge(stall: Injected, reported: Sequence[observe.Stall], rivals: Rivals) -> None:
    overlapping = []
    for report in reported:
        began = report.started.timestamp()
        overlap = min(began + report.duration, stall.ended) - max(began, stall.began)
        if overlap > 0:
            overlapping.append((overlap, report))
    if overlapping:
        longest = max(overlapping, key=lambda pair: pair[0])[1]
        stall.named = longest.cause
        stall.has_stack = bool(longest.stacks)
        stall.evidence = repr(longest.evidence)
        lacked = longest.evidence.queued or 0
        stall.lacked_processor = lacked >= longest.evidence.lag / 2
    for name, told in rivals.told.items():
        if any(began < stall.ended and ended > stall.began for began, ended in told):
            stall.seen_by.append(name)


def _show(done: int, total: int) -> None:
    if sys.stderr.isatty() or done % 50 == 0:
        print(f"\r{done} of {total} stalls", end="", file=sys.stderr, flush=True)


def report(loop: str, injected: Sequence[Injected], rivals: Sequence[str]) -> str:
    """The confusion table, and the findings of each observer."""
    lines = [f"## {loop}: {len(injected)} stalls", ""]
    names = [*CAUSES, "not seen"]
    lines.append("| injected | " + " | ".join(names) + " | named right |")
    lines.append("|---" * (len(names) + 2) + "|")
    for cause in CAUSES:
        of_cause = [stall for stall in injected if stall.cause == cause]
        counts = Counter(stall.named or "not seen" for stall in of_cause)
        right = counts[cause] / len(of_cause) if of_cause else 0
        cells = " | ".join(str(counts[name] or "") for name in names)
        lines.append(f"| {cause} | {cells} | {right:.1%} |")
    seen = sum(stall.named is not None for stall in injected)
    right = sum(stall.named == stall.cause for stall in injected)
    stacks = sum(stall.has_stack for stall in injected)
    lines += ["", f"seen: {seen / len(injected):.1%}", f"named right: {right / len(injected):.1%}"]
    lines.append(f"with a stack: {stacks / len(injected):.1%}")
    lacked = sum(
        stall.cause != "starved" == stall.named and stall.lacked_processor for stall in injected
    )
    if lacked:
        lines.append(f"of the wrong ones, {lacked} had no processor for most of the time")
    for name in rivals:
        seen = sum(name in stall.seen_by for stall in injected)
        lines.append(f"{name}: seen {seen / len(injected):.1%}")
    for stall in injected:
        if stall.named != stall.cause:
            lines.append(
                f"wrong: {stall.cause} by {stall.way}, {stall.seconds * 1e3:.0f} ms, named "
                f"{stall.named}: {stall.evidence}"
            )
    return "\n".join(lines)


def main(words: Sequence[str] | None = None) -> int:
    """Inject, print the tables and keep the stalls."""
    parser = argparse.ArgumentParser(prog="python -m benches.observe.stalls", description=__doc__)
    parser.add_argument("--stalls", type=int, default=600)
    parser.add_argument("--loops", default="asyncio,uvloop")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("build/benches/observe"))
    arguments = parser.parse_args(words)
    # A crowd must be able to be killed by name in a terminal; the default ends it with us.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    results: dict[str, Any] = {"machine": machine.describe(), "loops": {}}
    with embedded.start() as server:
        for loop in arguments.loops.split(","):
            factory: Any = None
            if loop == "uvloop":
                import uvloop

                factory = uvloop.new_event_loop
            with asyncio.Runner(loop_factory=factory) as runner:
                injected, rivals = runner.run(inject(arguments.stalls, server.dsn, arguments.seed))
            print(report(loop, injected, rivals), end="\n\n")
            results["loops"][loop] = [asdict(stall) for stall in injected]
    arguments.output.mkdir(parents=True, exist_ok=True)
    (arguments.output / "stalls.json").write_text(json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
