"""A monitor of an event loop: how late it runs, how busy it is, and why it stalls."""

from __future__ import annotations

import asyncio
import inspect
import logging
import sys
from collections import deque
from typing import TYPE_CHECKING

from colonnade._words import arguments
from colonnade._words.shown import class_name, shown
from colonnade.observe.loop.snapshot import LoopSnapshot, snapshot_of
from colonnade.observe.loop.watched_loop import WatchedLoop
from colonnade.observe.running import Running

if TYPE_CHECKING:
    from collections.abc import Callable

    from colonnade.observe.loop.stall import Stall

_SHORTEST_INTERVAL = 0.001
_LONGEST_INTERVAL = 60.0
# How long a stop waits for the reports of stalls.
_PATIENCE_SECONDS = 5.0


class LoopMonitor(Running):
    """Watches the event loop in which it is started, by a thread that needs no interpreter.

        async with observe.LoopMonitor() as monitor:
            ...
            print(monitor.snapshot())

    Every `interval` seconds the thread wakes the loop by a descriptor, and measures how long the
    loop takes to answer. It asks the interpreter for a stack only if the loop does not look for
    events for `threshold` seconds, and once more at ten times that. Works on asyncio's selector
    loops and uvloop, on Linux.

    `on_stall` is called for each stall in a thread of its own, which may block; its errors
    are logged. `logger` gets a warning for each stall, with the `Stall` as the
    attribute `stall` of the record; None logs nothing. `keep` is the length of `recent_stalls`.

    A loop has stalled at `threshold` seconds, which is at least twice `interval`: 0.02 and 0.01 by
    default. Raises TypeError or ValueError for an argument that cannot be used.
    """

    def __init__(
        self,
        *,
        interval: float = 0.01,
        threshold: float = 0.02,
        on_stall: Callable[[Stall], object] | None = None,
        logger: logging.Logger | str | None = "colonnade.observe",
        keep: int = 100,
    ) -> None:
        _check_times(interval, threshold)
        arguments.check_callable("on_stall", on_stall)
        if inspect.iscoroutinefunction(on_stall):
            raise TypeError(
                "on_stall must be a plain function, not a coroutine function: it is called in a "
                "thread without an event loop"
            )
        if not isinstance(logger, logging.Logger | str | None):
            raise TypeError(f"logger must be a Logger, a name or None, not {class_name(logger)}")
        arguments.check_count("keep", keep)
        self.interval = float(interval)
        self.threshold = float(threshold)
        self._on_stall = on_stall
        self._logger = logging.getLogger(logger) if isinstance(logger, str) else logger
        self._recent: deque[Stall] = deque(maxlen=keep)
        self._watched: WatchedLoop | None = None

    def start(self) -> None:
        """Watch the running loop from now on; all counts begin at zero.

        Raises RuntimeError if there is no running loop or if the monitor is running, and
        NotImplementedError on a loop that cannot watch descriptors and on other systems than Linux.
        """
        if self.is_running:
            raise RuntimeError("this monitor is running: stop() ends it")
        if sys.platform != "linux":
            raise NotImplementedError("LoopMonitor needs Linux: it reads the kernel's counters")
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            raise RuntimeError(
                "start() needs a running event loop: call it in a coroutine of the loop"
            ) from None
        self._watched = WatchedLoop(
            self.interval, self.threshold, self._recent, self._logger, self._on_stall
        )

    def stop(self) -> None:
        """Stop watching, from any thread; `snapshot()` stays at the counts until now.

        All stalls so far are reported when it returns, unless it is called by `on_stall`, or
        `on_stall` takes longer than five seconds: it may wait for this loop. Does nothing if the
        monitor is not running.
        """
        if self._watched is not None:
            self._watched.end(_PATIENCE_SECONDS)

    @property
    def is_running(self) -> bool:
        """Whether a loop is being watched; in a forked child, False until it is started there."""
        return self._watched is not None and self._watched.is_watching

    @property
    def recent_stalls(self) -> list[Stall]:
        """The last stalls, the newest last."""
        return list(self._recent)

    def snapshot(self, since: LoopSnapshot | None = None) -> LoopSnapshot:
        """Return the counts since the start, or since an earlier snapshot, from any thread.

        Raises RuntimeError before the first start and in a forked child, TypeError or ValueError if
        `since` is no snapshot of this monitor since its last start.
        """
        if since is not None and not isinstance(since, LoopSnapshot):
            raise TypeError(f"since must be a LoopSnapshot, not {class_name(since)}")
        watched = self._watched
        if watched is None:
            raise RuntimeError("this monitor was never started: start() begins to watch a loop")
        return snapshot_of(watched.totals(), watched, _count_tasks(watched), since)

    def __repr__(self) -> str:
        state = "running" if self.is_running else "stopped" if self._watched else "not started"
        return (
            f"<LoopMonitor {state}: interval {self.interval * 1e3:g} ms, "
            f"threshold {self.threshold * 1e3:g} ms>"
        )


def _check_times(interval: float, threshold: float) -> None:
    limits = _SHORTEST_INTERVAL, _LONGEST_INTERVAL
    arguments.check_between("interval", interval, *limits, "seconds")
    arguments.check_number("threshold", threshold)
    if not 2 * interval <= threshold <= 60 * _LONGEST_INTERVAL:
        raise ValueError(
            f"threshold must be at least twice the interval ({2 * interval:g} s) and at most an "
            f"hour, not {shown(threshold)}: a shorter stall could pass between two pings"
        )


def _count_tasks(watched: WatchedLoop) -> int:
    return 0 if watched.loop.is_closed() else len(asyncio.all_tasks(watched.loop))
