"""Batches that are done, acknowledged together."""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING

from colonnade.jobs._async.batch import ack_together
from colonnade.jobs._tasks.asyncio import Signal
from colonnade.jobs.errors import PASSING

if TYPE_CHECKING:
    from colonnade.jobs._async.batch import Batch

_logger = logging.getLogger("colonnade.jobs")
# One statement has at most so many batches; whoever makes them faster waits for it.
_TOGETHER_MOST = 200


class Acks:
    """What handlers have finished, for one statement at a time.

    No clock delays it: a statement has the batches that were finished while the one before it was
    under way. So small batches share statements, and a lone batch is acknowledged at once.
    """

    def __init__(self) -> None:
        self._finished: deque[Batch] = deque()
        self._bell = Signal()

    async def add(self, batch: Batch) -> None:
        """Acknowledge this batch soon; what fails is logged, and comes back when the lease ends."""
        self._finished.append(batch)
        self._bell.set()
        if len(self._finished) >= _TOGETHER_MOST:
            await self._flush()

    async def run(self, last: Signal) -> None:
        """Acknowledge what is finished, until `last` is set and nothing is left."""
        try:
            with last.rings(self._bell):
                while not last.is_set():
                    await self._bell.wait(None)
                    self._bell.clear()
                    await self._flush()
        finally:
            # Cancelled, too: it was done.
            await self._flush()

    async def _flush(self) -> None:
        while batches := self._next():
            try:
                for error in await ack_together(batches):
                    _logger.warning("%s", error)
            except PASSING as error:
                _logger.warning(
                    "the end of %d batches was not told: their jobs come back: %r",
                    *(len(batches), error),
                )
            except BaseException:
                self._finished.extendleft(reversed(batches))
                raise

    def _next(self) -> list[Batch]:
        """The first batches, all of one queue."""
        batches: list[Batch] = []
        try:
            while len(batches) < _TOGETHER_MOST:
                batch = self._finished.popleft()
                if batches and batch.queue is not batches[0].queue:
                    self._finished.appendleft(batch)
                    break
                batches.append(batch)
        except IndexError:
            pass
        return batches
