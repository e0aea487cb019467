"""Measures how long an event loop is held, with a ticker that records how late it runs."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

INTERVAL_S = 0.001


class Ticker:
    """Ticks on the loop while its context is entered.

    It gives two figures. The gap is the delay of a ping: the longest wall time between two ticks,
    less the interval. The burst is the longest processor time of the loop's thread between two
    ticks, which stays true on a busy machine. Both read the time module's clocks, because a loop's
    own clock may have steps of a whole millisecond.
    """

    def __init__(self) -> None:
        self.gap_s = 0.0
        self.burst_s = 0.0
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.get_running_loop().create_task(self._tick())
        await asyncio.sleep(2 * INTERVAL_S)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # Only the next tick can see a hold that has just ended.
        await asyncio.sleep(2 * INTERVAL_S)
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _tick(self) -> None:
        while True:
            wall, cpu = time.perf_counter(), time.thread_time()
            await asyncio.sleep(INTERVAL_S)
            self.gap_s = max(self.gap_s, time.perf_counter() - wall - INTERVAL_S)
            self.burst_s = max(self.burst_s, time.thread_time() - cpu)
