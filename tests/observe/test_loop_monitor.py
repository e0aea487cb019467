"""A monitor of event loops: lag, utilization, and stalls with their causes."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade import observe

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

pytestmark = pytest.mark.every_loop

STALL_S = 0.1


def compute(seconds: float) -> None:
    """Take this much of a processor, in Python."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def hold_the_interpreter(seconds: float) -> None:
    """Take this much of a processor in C code that never releases the interpreter."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(20_000_000))


async def settle() -> None:
    """Let the loop answer a few pings, so that no stall runs into the next one."""
    for _ in range(4):
        await asyncio.sleep(0.01)


def stalls_of(run: Run, stall: Callable[[], Any], **options: Any) -> list[observe.Stall]:
    """The stalls of a loop in which a task calls `stall` once."""
    monitor = observe.LoopMonitor(logger=None, **options)

    async def main() -> None:
        async with monitor:
            await settle()
            outcome = stall()
            if asyncio.iscoroutine(outcome):
                await outcome
            await settle()

    run(main())
    return monitor.recent_stalls


def longest(stalls: list[observe.Stall]) -> observe.Stall:
    assert stalls, "no stall was seen"
    return max(stalls, key=lambda stall: stall.duration)


def check_cause(stall: observe.Stall, cause: str) -> None:
    """A machine without a free processor is a cause of its own, if the kernel says so."""
    evidence = stall.evidence
    lacked = max(evidence.queued or 0, evidence.stopped)
    if stall.cause == "starved" and lacked >= evidence.lag / 2:
        pytest.skip(f"the machine had no processor for the loop: {evidence}")
    assert stall.cause == cause, stall.explain()


def test_code(run: Run) -> None:
    stall = longest(stalls_of(run, lambda: compute(STALL_S)))
    check_cause(stall, "code")
    assert stall.duration >= STALL_S * 0.9
    assert stall.place is not None
    assert stall.place.function == "compute"
    assert stall.place.file == __file__
    sample = stall.stacks[0]
    assert sample.task == stall.task
    assert re.fullmatch(r"Task-\d+", str(stall.task))
    assert str(sample.coroutine).endswith("stalls_of.<locals>.main")
    assert sample.task_created is None
    assert "code ran without giving way" in str(stall)
    assert f"{__file__}:" in stall.explain()


def test_blocked(run: Run) -> None:
    stall = longest(stalls_of(run, lambda: time.sleep(STALL_S)))
    check_cause(stall, "blocked")
    assert stall.place is not None
    assert stall.place.function == "test_blocked.<locals>.<lambda>"
    assert not stall.stacks[0].is_late


def test_gc(run: Run) -> None:
    def callback(phase: str, info: dict[str, int]) -> None:
        # It runs on top of the line that the collector has interrupted, and lets a stack be taken.
        del phase, info
        time.sleep(0.001)

    def collect() -> None:
        gc.collect()

    kept: list[list[int]] = []
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        kept += [[number] for number in range(2_000_000)]
        gc.callbacks.append(callback)
        stall = longest(stalls_of(run, collect))
    finally:
        gc.callbacks.remove(callback)
        if was_enabled:
            gc.enable()
    check_cause(stall, "gc")
    # Callbacks of weak references may run above that line, too.
    functions = [frame.function for frame in stall.stacks[0].frames]
    assert "test_gc.<locals>.collect" in functions, stall.explain()
    assert "test_gc.<locals>.callback" not in functions


def test_gil(run: Run) -> None:
    seen = threading.Event()

    async def share_with_a_thread() -> None:
        done = asyncio.Event()
        loop = asyncio.get_running_loop()

        def hold() -> None:
            hold_the_interpreter(1.5)
            loop.call_soon_threadsafe(done.set)
            # A thread that has ended cannot be named.
            seen.wait()

        threading.Thread(target=hold, name="greedy").start()
        await done.wait()

    try:
        stalls = stalls_of(run, share_with_a_thread)
    finally:
        seen.set()
    held = [stall for stall in stalls if stall.cause == "gil"]
    assert held, [stall.explain() for stall in stalls]
    # On a busy machine, the thread that looks may come when a stall is over, and name nobody.
    named = [stall for stall in held if stall.holder is not None]
    assert named, [stall.explain() for stall in held]
    assert {stall.holder.name for stall in named if stall.holder} == {"greedy"}
    assert all("thread 'greedy'" in str(stall) for stall in named)


def test_code_in_c_holds_the_interpreter(run: Run) -> None:
    """The stack is taken when the interpreter is released, and says so."""
    stall = longest(stalls_of(run, lambda: hold_the_interpreter(0.3)))
    check_cause(stall, "code")
    assert stall.stacks[0].is_late
    assert "when the interpreter was released" in stall.explain()


def test_decode(run: Run, dsn: str) -> None:
    async def fetch() -> None:
        async with await colonnade.connect(dsn) as connection:
            await connection.fetchval("SELECT array_agg(n) FROM generate_series(1, 2000000) AS n")

    stalls = stalls_of(run, fetch)
    causes = {stall.cause for stall in stalls}
    if "starved" in causes and "decode" not in causes:
        pytest.skip("the machine had no processor for the loop")
    assert "decode" in causes, [stall.explain() for stall in stalls]
    # The frame that runs the loop would be no place of the decoding.
    places = [stall.place for stall in stalls if stall.place is not None]
    assert [place for place in places if place.file == asyncio.runners.__file__] == []


def test_starved() -> None:
    """A process that is stopped gets no processor."""
    program = """
        import asyncio, sys
        from colonnade import observe

        async def main():
            monitor = observe.LoopMonitor(logger=None)
            async with monitor:
                await asyncio.sleep(0.05)
                print("ready", flush=True)
                await asyncio.to_thread(sys.stdin.readline)
                await asyncio.sleep(0.1)
            print(sorted({stall.cause for stall in monitor.recent_stalls}))
            print(monitor.snapshot().lag.max >= 0.2)

        asyncio.run(main())
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(0.3)
        os.kill(process.pid, signal.SIGCONT)
        process.stdin.write("\n")
        process.stdin.flush()
        causes, is_in_the_lag = process.stdout.read().splitlines()
    assert process.returncode == 0
    assert "starved" in causes
    assert is_in_the_lag == "True"


def test_a_long_stall_has_two_stacks(run: Run) -> None:
    stall = longest(stalls_of(run, lambda: time.sleep(0.3)))
    first, second = stall.stacks
    assert first.at < second.at
    assert second.at >= 0.2


def test_creation_sites_in_debug_mode() -> None:
    monitor = observe.LoopMonitor(logger=None)

    async def sleep_badly() -> None:
        time.sleep(STALL_S)  # noqa: ASYNC251 - the fault to be found

    async def main() -> None:
        asyncio.get_running_loop().set_debug(True)
        async with monitor:
            await settle()
            await asyncio.create_task(sleep_badly(), name="sleeper")
            await settle()

    asyncio.run(main())
    stall = longest(monitor.recent_stalls)
    assert stall.task == "sleeper"
    assert stall.stacks[0].task_created is not None
    assert stall.stacks[0].task_created.file == __file__


def test_callbacks_are_called_in_a_thread_of_their_own(run: Run) -> None:
    told: list[tuple[observe.Stall, str]] = []

    def tell(stall: observe.Stall) -> None:
        told.append((stall, threading.current_thread().name))
        time.sleep(0.05)

    stalls = stalls_of(run, lambda: time.sleep(STALL_S), on_stall=tell)
    assert [stall for stall, _ in told] == stalls
    assert {name for _, name in told} == {"colonnade-stalls"}


def test_logging(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    def fail(stall: observe.Stall) -> None:
        raise LookupError(f"no pager for {stall.cause}")

    monitor = observe.LoopMonitor(on_stall=fail)

    async def main() -> None:
        async with monitor:
            await settle()
            time.sleep(STALL_S)  # noqa: ASYNC251 - the fault to be found
            await settle()

    with caplog.at_level(logging.WARNING, "colonnade.observe"):
        run(main())
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert [vars(record)["stall"] for record in warnings] == monitor.recent_stalls
    assert "stalled for" in warnings[0].getMessage()
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(errors) == len(warnings)
    assert errors[0].exc_info is not None
    assert isinstance(errors[0].exc_info[1], LookupError)


def test_snapshots_and_their_difference(run: Run) -> None:
    async def main() -> None:
        monitor = observe.LoopMonitor(logger=None)
        with pytest.raises(RuntimeError, match="never started"):
            monitor.snapshot()
        async with monitor:
            await settle()
            time.sleep(STALL_S)  # noqa: ASYNC251 - the fault to be found
            await settle()
            first = monitor.snapshot()
            assert first.stalls["blocked"] == 1
            assert first.stall_time["blocked"] >= STALL_S * 0.8
            assert first.lag.max >= STALL_S * 0.8
            assert first.lag_total >= STALL_S * 0.8
            assert first.lag.count >= first.beats > 0
            assert first.tasks == len(asyncio.all_tasks())
            gc.collect()
            await settle()
            later = monitor.snapshot(since=first)
        assert later.stalls["blocked"] == 0
        assert later.wall < monitor.snapshot().wall
        assert later.gc_pauses >= 1
        assert 0 < later.gc_longest <= later.gc_time * 1.02 + 1e-6
        assert 0 <= later.utilization <= 1
        assert re.match(r"[\d.]+ s: utilization [\d.]+%, lag p50 ", str(first))
        stopped = monitor.snapshot()
        assert monitor.snapshot().wall == stopped.wall
        monitor.start()
        with pytest.raises(ValueError, match="since its last start"):
            monitor.snapshot(since=first)
        monitor.stop()
        with pytest.raises(TypeError, match="since must be a LoopSnapshot, not int"):
            monitor.snapshot(since=3)  # type: ignore[arg-type]

    run(main())


def test_histograms() -> None:
    async def main() -> observe.LoopSnapshot:
        async with observe.LoopMonitor(logger=None) as monitor:
            await settle()
            return monitor.snapshot()

    lag = asyncio.run(main()).lag
    assert lag.percentile(0) <= lag.percentile(50) <= lag.percentile(100) <= lag.max
    assert lag.buckets([lag.max * 1.02, 3600]) == [lag.count, lag.count]
    assert lag.mean <= lag.max
    assert repr(lag).startswith(f"<DurationHistogram: {lag.count} durations, p50 ")
    with pytest.raises(ValueError, match="percent must be from 0 to 100, not 101"):
        lag.percentile(101)
    with pytest.raises(ValueError, match="a bound must be a number of seconds from 0 on, not -1"):
        lag.buckets([-1])


def test_several_loops_in_several_threads(run: Run) -> None:
    found: dict[str, list[observe.Stall]] = {}

    def watch(name: str, seconds: float) -> None:
        found[name] = stalls_of(run, lambda: time.sleep(seconds))

    threads = [
        threading.Thread(target=watch, args=("slow", STALL_S)),
        threading.Thread(target=watch, args=("quick", 0)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert any(stall.duration >= STALL_S * 0.8 for stall in found["slow"])
    assert not any(stall.duration >= STALL_S * 0.8 for stall in found["quick"])


def test_stop_and_restart(run: Run) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        callbacks = list(gc.callbacks)
        monitor = observe.LoopMonitor(logger=None)
        assert repr(monitor) == ("<LoopMonitor not started: interval 10 ms, threshold 20 ms>")
        for _ in range(3):
            monitor.start()
            with pytest.raises(RuntimeError, match="is running"):
                monitor.start()
            await settle()
            assert monitor.snapshot().beats > 0
            monitor.stop()
            monitor.stop()
        assert gc.callbacks == callbacks
        assert "select" not in vars(getattr(loop, "_selector", observe))
        assert "loop-watchdog" not in _native_threads()
        # From another thread.
        monitor.start()
        await asyncio.to_thread(monitor.stop)
        await settle()
        assert not monitor.is_running

    run(main())


def _native_threads() -> set[str]:
    return {path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")}


def test_two_monitors_of_one_loop(run: Run) -> None:
    async def main() -> None:
        first, second = observe.LoopMonitor(logger=None), observe.LoopMonitor(logger=None)
        first.start()
        second.start()
        await settle()
        first.stop()
        await settle()
        assert second.snapshot().utilization < 1
        second.stop()
        await settle()
        assert first.snapshot().beats > 0

    run(main())


def test_a_loop_that_is_closed_ends_its_monitor(run: Run) -> None:
    ended = threading.Event()
    monitor = observe.LoopMonitor(logger=None)

    async def main() -> None:
        monitor.start()
        await settle()

    run(main())
    for _ in range(500):
        if not monitor.is_running:
            break
        ended.wait(0.01)
    assert not monitor.is_running
    assert monitor.snapshot().beats > 0


def test_a_loop_that_pauses_has_not_stalled() -> None:
    monitor = observe.LoopMonitor(logger=None)

    async def start() -> None:
        monitor.start()
        await settle()

    with asyncio.Runner() as runner:
        runner.run(start())
        time.sleep(0.2)
        runner.run(settle())
        monitor.stop()
    assert monitor.recent_stalls == []


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"interval": "1"}, TypeError, "interval must be a number, not str"),
        ({"interval": 0}, ValueError, "interval must be from 0.001 to 60 seconds, not 0"),
        ({"interval": float("nan")}, ValueError, "interval must be from"),
        ({"threshold": None}, TypeError, "threshold must be a number, not NoneType"),
        ({"threshold": 0.019}, ValueError, "threshold must be at least twice the interval"),
        ({"threshold": float("inf")}, ValueError, "threshold must be at least"),
        ({"on_stall": 3}, TypeError, "on_stall must be a function, not int"),
        ({"on_stall": settle}, TypeError, "on_stall must be a plain function"),
        ({"logger": 3}, TypeError, "logger must be a Logger, a name or None, not int"),
        ({"keep": 0}, ValueError, "keep must be 1 or more"),
    ],
)
def test_bad_arguments(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        observe.LoopMonitor(**options)


def test_start_outside_of_a_loop() -> None:
    with pytest.raises(RuntimeError, match="needs a running event loop"):
        observe.LoopMonitor().start()


def python(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-X", "dev", "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_a_forked_child_is_not_watched_and_may_start_anew() -> None:
    done = python("""
        import asyncio, gc, os, sys, warnings
        from colonnade import observe

        warnings.simplefilter("ignore", DeprecationWarning)
        monitor = observe.LoopMonitor(logger=None)

        async def in_child():
            monitor.start()
            await asyncio.sleep(0.05)
            assert monitor.snapshot().beats > 0
            monitor.stop()

        def child():
            gc.collect()
            assert not monitor.is_running
            monitor.stop()
            try:
                monitor.snapshot()
            except RuntimeError as error:
                assert "forked" in str(error), error
            else:
                raise AssertionError
            asyncio.new_event_loop().run_until_complete(in_child())

        async def main():
            monitor.start()
            for _ in range(20):
                await asyncio.sleep(0.01)
                pid = os.fork()
                if not pid:
                    return "child"
                _, status = os.waitpid(pid, 0)
                assert status == 0, status
            monitor.stop()
            return "parent"

        loop = asyncio.new_event_loop()
        where = loop.run_until_complete(main())
        if where == "child":
            try:
                child()
            except BaseException:
                import traceback
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        print(where)
    """)
    assert (done.stdout, done.returncode) == ("parent\n", 0), done.stderr


# Not on uvloop: a forked child shares libuv's ring with its parent, and assertions of libuv
# (uv__epoll_ctl_flush) end one of them.
@pytest.mark.skipif(
    sys.version_info >= (3, 14), reason="a child of Python 3.14 does not go on in its parent's loop"
)
@pytest.mark.parametrize("kind", ["asyncio"])
def test_a_child_that_goes_on_in_the_loop_takes_no_ping_from_its_parent(kind: str) -> None:
    done = python(f"""
        import asyncio, os, select, signal, sys, warnings
        from colonnade import observe

        warnings.simplefilter("ignore", DeprecationWarning)
        if {kind!r} == "uvloop":
            import uvloop
            asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())

        async def main():
            async with observe.LoopMonitor(interval=0.001, logger=None) as monitor:
                reading, writing = os.pipe()
                for _ in range(5):
                    process = os.fork()
                    if not process:
                        signal.alarm(30)
                        while not select.select([reading], [], [], 0)[0]:
                            await asyncio.sleep(0)
                        os.read(reading, 1)
                        monitor.stop()
                        os._exit(0)
                    before = monitor.snapshot()
                    while monitor.snapshot(before).beats <= 5:
                        assert os.waitpid(process, os.WNOHANG) == (0, 0)
                        await asyncio.sleep(0)
                    os.write(writing, b"x")
                    assert os.waitpid(process, 0) == (process, 0)
            print("parent")

        asyncio.run(main())
    """)
    assert (done.stdout, done.returncode) == ("parent\n", 0), done.stderr


@pytest.mark.parametrize("ending", ["pass", "sys.exit(3)", "raise RuntimeError('end')"])
def test_the_interpreter_may_end_with_a_monitor_that_runs(ending: str) -> None:
    done = python(f"""
        import asyncio, sys, threading, time
        from colonnade import observe

        async def main(monitor):
            monitor.start()
            await asyncio.sleep(0.05)
            time.sleep(0.05)

        def forever(monitor):
            async def stay():
                monitor.start()
                while True:
                    time.sleep(0.03)
                    await asyncio.sleep(0)
            asyncio.run(stay())

        other = observe.LoopMonitor(logger=None, on_stall=lambda stall: time.sleep(0.01))
        threading.Thread(target=forever, args=(other,), daemon=True).start()
        monitor = observe.LoopMonitor(logger=None)
        asyncio.new_event_loop().run_until_complete(main(monitor))
        {ending}
    """)
    wanted = {"pass": 0, "sys.exit(3)": 3}.get(ending, 1)
    assert done.returncode == wanted, done.stderr
    assert "Fatal" not in done.stderr
    assert "panicked" not in done.stderr
