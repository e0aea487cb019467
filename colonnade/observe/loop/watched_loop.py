"""One loop under watch: the hooks in it, in the collector and at the interpreter's end."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import gc
import os
import selectors
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any

from colonnade.observe.loop.stack_samples import LoopSample, find_holder, sample_of, stack_base
from colonnade.observe.loop.stall_reports import StallReports

if TYPE_CHECKING:
    import logging
    from collections import deque
    from collections.abc import Callable

    from colonnade._core.watch import LoopWatch, TimedSelect, Totals
    from colonnade.observe.loop.stall import Stall

_running: weakref.WeakSet[WatchedLoop] = weakref.WeakSet()


class WatchedLoop:
    """The watch of the running loop, from one start of a monitor to its stop."""

    def __init__(
        self,
        interval: float,
        threshold: float,
        recent: deque[Stall],
        logger: logging.Logger | None,
        on_stall: Callable[[Stall], object] | None,
    ) -> None:
        # The extension has it on Linux only.
        from colonnade._core import watch

        self.loop = asyncio.get_running_loop()
        self._thread_ident = threading.get_ident()
        self._stack_base = stack_base()
        self._watch: LoopWatch | None = watch.LoopWatch(
            interval, threshold, sys.getswitchinterval(), self._sample
        )
        self._collector: Callable[[str, dict[str, int]], None] | None = self._watch.collector
        self._reports: StallReports | None = None
        self._timed: tuple[selectors.BaseSelector, TimedSelect] | None = None
        self._last: Totals | None = None
        self._fileno = self._watch.fileno()
        self._is_attached = True
        self._begin(self._watch, recent, logger, on_stall)

    def _begin(
        self,
        watch: LoopWatch,
        recent: deque[Stall],
        logger: logging.Logger | None,
        on_stall: Callable[[Stall], object] | None,
    ) -> None:
        """Start the watchdog and the thread that reports its stalls."""
        try:
            self.loop.add_reader(self._fileno, watch.beat)
            watch.start()
            self._time_selects(watch)
            _running.add(self)
            self._reports = StallReports(watch, recent, logger, on_stall)
            self._reports.start(self._attach_collector, self._finish)
        except BaseException:
            # No thread can be had, or Ctrl-C: nothing stays behind.
            self.end(timeout=1)
            raise

    @property
    def is_watching(self) -> bool:
        """Whether the watchdog runs, in this process."""
        return self._watch is not None

    def totals(self) -> Totals:
        """The counts up to now; after the end, those at the end.

        Raises RuntimeError in a forked child: the watchdog stayed with the parent.
        """
        watch = self._watch
        if self._last is not None:
            return self._last
        if watch is None:
            raise RuntimeError(
                "this monitor was started before the process forked, and watches the parent's "
                "loop: start it again in the child"
            )
        return watch.totals()

    def end(self, timeout: float) -> None:
        """End the watch, from any thread, and wait `timeout` for the reports of its stalls."""
        watch = self._watch
        if watch is None:
            return
        if threading.get_ident() == self._thread_ident:
            self._detach()
        watch.stop()
        reports = self._reports
        if reports is not None:
            reports.join(timeout)
        self._finish()

    def _attach_collector(self) -> None:
        """Time the collector from now on.

        The thread of the reports does so, and takes everything down again: unlike the main thread,
        it is never interrupted by Ctrl-C.
        """
        if self._collector is not None:
            gc.callbacks.append(self._collector)

    def _finish(self) -> None:
        """Take everything down; a second time does nothing."""
        watch = self._watch
        if watch is None:
            return
        self._last = watch.totals()
        self._watch = None
        _running.discard(self)
        _remove_collector(self._collector)
        if self._is_attached:
            # The loop may be closed at any moment; then there is nothing left to detach from.
            with contextlib.suppress(RuntimeError):
                self.loop.call_soon_threadsafe(self._detach)
        # The watch refers to this object, and its descriptor closes when it is dropped.
        self._collector = self._reports = None

    def forget(self) -> None:
        """In a forked child: nothing of the parent's watch may be called or waited for.

        The loop may go on in the child, which shares its selector with the parent: so the
        descriptor stays there, and its callback no longer does anything.
        """
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.leave_to_parent()
        _remove_collector(self._collector)

    def _detach(self) -> None:
        """Take the watch off the loop, in its thread, once: the number may be another's later."""
        if not self._is_attached:
            return
        self._is_attached = False
        if not self.loop.is_closed():
            self.loop.remove_reader(self._fileno)
        timed, self._timed = self._timed, None
        if timed is not None:
            _remove_timed(*timed)

    def _time_selects(self, watch: LoopWatch) -> None:
        """Time the waits of the loop's selector, if it has one of the standard library's."""
        selector: Any = getattr(self.loop, "_selector", None)
        if isinstance(selector, selectors.BaseSelector) and hasattr(selector, "__dict__"):
            timed = watch.timed(selector.select)
            self._timed = (selector, timed)
            vars(selector)["select"] = timed

    def _sample(self, is_over: bool, holder_native_id: int | None) -> LoopSample | bool | None:
        """Look at the stalled loop, in the watchdog's thread.

        None means that the loop does not run, False that it never will again.
        """
        if self.loop.is_closed():
            return False
        if not self.loop.is_running():
            return None
        holder = find_holder(holder_native_id)
        if is_over:
            return LoopSample((), None, None, None, holder)
        return sample_of(self.loop, self._thread_ident, self._stack_base)._replace(holder=holder)


def _remove_timed(selector: selectors.BaseSelector, timed: TimedSelect) -> None:
    """Put back the `select` from before: the selector's own, or another tool's.

    Where another monitor has put its own in front since, it stays until that is removed.
    """
    if vars(selector).get("select") is not timed:
        return
    former = timed.select
    while isinstance(former, type(timed)) and former.is_over:
        former = former.select
    if former == selector.__class__.select.__get__(selector):
        del vars(selector)["select"]
    else:
        vars(selector)["select"] = former


def _remove_collector(collector: Any) -> None:
    # A program may have cleared the list.
    with contextlib.suppress(ValueError):
        gc.callbacks.remove(collector)


def _end_all() -> None:
    for watched in list(_running):
        # A callback of the owner's may take for ever.
        watched.end(timeout=1)


def _forget_all() -> None:
    for watched in list(_running):
        watched.forget()
    _running.clear()


# A watchdog must not ask an interpreter that ends for stacks.
atexit.register(_end_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
