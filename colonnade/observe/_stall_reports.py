"""The thread that tells of stalls: it may wait for a logger or a callback, the loop may not."""

from __future__ import annotations

import logging
import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, cast

from colonnade.observe.stall import StackSample, Stall

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable

    from colonnade._core.watch import LoopWatch, Report
    from colonnade.observe._sight import Sight
    from colonnade.observe.stall import Cause

# Where a monitor logs nothing, a callback that fails is told nevertheless.
_errors = logging.getLogger("colonnade.observe")


class StallReports:
    """Keeps the last stalls, logs each, and calls the owner's callback, in a thread of its own."""

    def __init__(
        self,
        watch: LoopWatch,
        recent: deque[Stall],
        logger: logging.Logger | None,
        on_stall: Callable[[Stall], object] | None,
    ) -> None:
        self._watch = watch
        self._recent = recent
        self._logger = logger
        self._on_stall = on_stall
        self._thread: threading.Thread | None = None

    def start(self, on_begin: Callable[[], None], on_end: Callable[[], None]) -> None:
        """Start the thread, which calls `on_begin` before this returns, and `on_end` at its end."""
        has_begun = threading.Event()

        def run() -> None:
            on_begin()
            has_begun.set()
            self._tell_all()
            on_end()

        self._thread = threading.Thread(target=run, name="colonnade-stalls", daemon=True)
        self._thread.start()
        has_begun.wait()

    def join(self, timeout: float | None = None) -> None:
        """Wait until all stalls of a watchdog that has ended are told.

        Returns at once in the thread itself, where a callback has ended the watchdog.
        """
        if self._thread is not None and threading.current_thread() is not self._thread:
            self._thread.join(timeout)

    def _tell_all(self) -> None:
        while (report := self._watch.next_stall()) is not None:
            stall = _stall(report)
            self._recent.append(stall)
            if self._logger is not None:
                self._logger.warning("%s", stall, extra={"stall": stall})
            if self._on_stall is not None:
                self._tell(self._on_stall, stall)

    def _tell(self, on_stall: Callable[[Stall], object], stall: Stall) -> None:
        try:
            on_stall(stall)
        except Exception:  # noqa: BLE001 - it is the caller's, and logged
            _errors.exception("on_stall has failed for: %s", stall)


def _stall(report: Report) -> Stall:
    cause, duration, ended, evidence, stacks = report
    sights = [(at, waited, cast("Sight", seen)) for at, waited, seen in stacks]
    holders = [sight.holder for _, _, sight in sights if sight.holder and cause == "gil"]
    return Stall(
        cause=cast("Cause", cause),
        duration=duration,
        started=datetime.now(UTC) - timedelta(seconds=duration + ended),
        stacks=tuple(
            StackSample(at, waited, sight.frames, sight.task, sight.coroutine, sight.task_created)
            for at, waited, sight in sights
            if sight.frames
        ),
        holder=holders[0] if holders else None,
        evidence=evidence,
    )
