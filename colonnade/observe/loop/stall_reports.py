"""The thread that tells of stalls: it may wait for a logger or a callback, the loop may not."""

from __future__ import annotations

import contextlib
import logging
import threading
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

from colonnade.observe.loop.stall import StackSample, Stall

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable

    from colonnade._core.watch import LoopWatch, Report
    from colonnade.observe.loop.stack_samples import LoopSample
    from colonnade.observe.loop.stall import Cause

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
        """Start the thread, which calls `on_begin` before this returns, and `on_end` at its end.

        Raises what `on_begin` raises; then the thread has ended.
        """
        begun: Future[None] = Future()

        def run() -> None:
            try:
                on_begin()
            except BaseException as error:  # noqa: BLE001 - the starting thread raises it
                begun.set_exception(error)
                return
            begun.set_result(None)
            self._tell_all()
            on_end()

        thread = threading.Thread(target=run, name="colonnade-stalls", daemon=True)
        thread.start()
        self._thread = thread
        begun.result()

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
                # A filter or a handler may fail.
                _told(_log, self._logger, stall)
            if self._on_stall is not None:
                _told(self._on_stall, stall)


def _log(logger: logging.Logger, stall: Stall) -> None:
    logger.warning("%s", stall, extra={"stall": stall})


def _told(tell: Callable[..., object], *arguments: Any) -> None:
    """Call the owner's function. Later stalls are told, too, even if it raises an exception."""
    try:
        tell(*arguments)
    except BaseException:  # noqa: BLE001 - `sys.exit()` and cancelled futures end no thread of ours
        with contextlib.suppress(Exception):
            _errors.exception("telling of a stall has failed: %s", arguments[-1])


def _stall(report: Report) -> Stall:
    cause, duration, ended, evidence, stacks = report
    samples = [(at, waited, cast("LoopSample", seen)) for at, waited, seen in stacks]
    holders = [sample.holder for _, _, sample in samples if sample.holder and cause == "gil"]
    return Stall(
        cause=cast("Cause", cause),
        duration=duration,
        started=datetime.now(UTC) - timedelta(seconds=duration + ended),
        stacks=tuple(
            StackSample(
                at, waited, sample.frames, sample.task, sample.coroutine, sample.task_created
            )
            for at, waited, sample in samples
            if sample.frames
        ),
        holder=holders[0] if holders else None,
        evidence=evidence,
    )
