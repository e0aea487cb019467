"""A monitor among faults: callbacks that exit or wait, threads that cannot be had, other tools."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from colonnade import observe

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    Run = Callable[[Coroutine[Any, Any, Any]], Any]


def block() -> None:
    time.sleep(0.06)


async def stall(times: int) -> None:
    for _ in range(times):
        await asyncio.sleep(0.05)
        block()
    await asyncio.sleep(0.05)


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, asyncio.CancelledError])
def test_a_callback_that_exits_ends_no_reports(
    error: type[BaseException], run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[observe.Stall] = []

    def tell(stall: observe.Stall) -> None:
        told.append(stall)
        raise error

    async def main() -> list[observe.Stall]:
        async with observe.LoopMonitor(logger=None, on_stall=tell) as monitor:
            await stall(times=3)
        return monitor.recent_stalls

    assert run(main()) == told
    # The first one ended by the error; on a busy machine, two stalls may be seen as one.
    assert len(told) >= 2
    assert "telling of a stall has failed" in caplog.text


def test_a_logger_that_fails_ends_no_reports(run: Run) -> None:
    class Broken(logging.Filter):
        def filter(self, record: logging.LogRecord) -> bool:
            raise LookupError(record.name)

    logger = logging.getLogger("tests.observe.broken")
    logger.addFilter(Broken())
    told: list[observe.Stall] = []

    async def main() -> None:
        async with observe.LoopMonitor(logger=logger, on_stall=told.append):
            await stall(times=2)

    run(main())
    assert len(told) >= 2


def test_a_stop_does_not_wait_for_ever_for_a_callback_that_waits_for_the_loop(run: Run) -> None:
    has_begun = threading.Event()

    async def main() -> None:
        loop = asyncio.get_running_loop()

        def tell(_: observe.Stall) -> None:
            has_begun.set()
            asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result(60)

        monitor = observe.LoopMonitor(logger=None, on_stall=tell)
        monitor.start()
        await asyncio.sleep(0.05)
        block()
        # The watchdog needs the interpreter for the report, and the loop must not turn.
        has_begun.wait(1)
        monitor.stop()
        assert not monitor.is_running
        await asyncio.sleep(0.05)

    run(main())


async def test_a_start_that_fails_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class WithoutThread(threading.Thread):
        def start(self) -> None:
            raise RuntimeError("can't start new thread")

    def facts() -> tuple[int, ...]:
        gc.collect()
        places = (Path("/proc/self/fd"), Path("/proc/self/task"))
        return (len(gc.callbacks), *(len(list(place.iterdir())) for place in places))

    before = facts()
    with monkeypatch.context() as patch:
        patch.setattr(threading, "Thread", WithoutThread)
        for _ in range(3):
            with pytest.raises(RuntimeError, match="can't start new thread"):
                observe.LoopMonitor().start()
    await asyncio.sleep(0.05)
    # Threads of earlier tests may end meanwhile.
    assert all(now <= then for now, then in zip(facts(), before, strict=True))
    selector = getattr(asyncio.get_running_loop(), "_selector", None)
    assert selector is None or "select" not in vars(selector)


async def test_a_callback_of_the_collector_that_cannot_be_added_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(gc, "callbacks", ())
        with pytest.raises(AttributeError):
            observe.LoopMonitor().start()
    async with observe.LoopMonitor() as monitor:
        assert monitor.is_running


def test_another_tools_select_is_put_back() -> None:
    async def main() -> None:
        selector = vars(asyncio.get_running_loop())["_selector"]
        former = selector.select

        def select(*arguments: Any) -> Any:
            return former(*arguments)

        selector.select = select
        async with observe.LoopMonitor():
            await asyncio.sleep(0)
        assert vars(selector)["select"] is select

    asyncio.run(main())


def test_monitors_that_overlap_put_the_selector_back() -> None:
    async def main() -> None:
        selector = vars(asyncio.get_running_loop())["_selector"]
        first, second = observe.LoopMonitor(), observe.LoopMonitor()
        first.start()
        for _ in range(3):
            second.start()
            first.stop()
            first, second = second, first
        first.stop()
        assert "select" not in vars(selector)

    asyncio.run(main())


def test_a_monitor_stops_after_its_loop_is_closed(run: Run) -> None:
    monitor = observe.LoopMonitor()

    async def main() -> None:
        monitor.start()

    run(main())
    monitor.stop()
    assert not monitor.is_running


def test_a_thousand_starts_and_stops_leak_nothing(run: Run) -> None:
    def facts() -> tuple[int, int, int]:
        gc.collect()
        return (
            len(os.listdir("/proc/self/fd")),  # noqa: PTH208 - counts only
            threading.active_count(),
            len(gc.callbacks),
        )

    async def main() -> None:
        async with observe.LoopMonitor(logger=None):
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        before = facts()
        for _ in range(1000):
            async with observe.LoopMonitor(logger=None):
                await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert facts() == before

    run(main())


def test_a_stall_is_told_while_it_lasts(run: Run) -> None:
    seen: list[observe.LoopSnapshot] = []

    async def main() -> observe.LoopSnapshot:
        async with observe.LoopMonitor(logger=None) as monitor:
            await asyncio.sleep(0.05)
            assert monitor.snapshot().current_stall == 0
            timer = threading.Timer(0.3, lambda: seen.append(monitor.snapshot()))
            timer.start()
            time.sleep(0.6)  # noqa: ASYNC251 - the fault to be seen
            await asyncio.sleep(0.05)
            timer.join()
            return monitor.snapshot()

    after = run(main())
    (during,) = seen
    assert 0.1 < during.current_stall < 0.6
    assert during.utilization > 0.3
    assert "stalled for 0." in str(during)
    assert after.current_stall == 0
    assert during.wall - during.busy <= after.wall - after.busy


def test_a_name_cannot_drive_a_terminal() -> None:
    frame = observe.Frame("/app/\x1b[2J.py", 3, "evil\u202e")
    assert str(frame) == "/app/\\x1b[2J.py:3 in evil\\u202e"


async def test_the_coroutine_of_a_stall_is_shown_escaped() -> None:
    async def evil() -> None:
        await asyncio.sleep(0.05)
        block()
        await asyncio.sleep(0)

    evil.__qualname__ = "evil\x1b]0;owned\x07"
    async with observe.LoopMonitor(logger=None) as monitor:
        await asyncio.create_task(evil())
        await asyncio.sleep(0.05)
    told = "".join(stall.explain() for stall in monitor.recent_stalls)
    assert "evil\\x1b]0;owned\\x07" in told
    assert "\x1b" not in told
