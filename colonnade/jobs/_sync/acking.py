# Generated from colonnade/jobs/_async/acking.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""Finished batches, acknowledged together; jobs that others have locked, when those end."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING

from colonnade.jobs._sync.batch import ack_together
from colonnade.jobs._sync.limited_pool import LimitedPool
from colonnade.jobs._tasks.threads import Signal
from colonnade.jobs.errors import PASSING
from colonnade.jobs.logs import logger, of_jobs, of_queue

if TYPE_CHECKING:
    from collections.abc import Callable

    from colonnade.jobs._sync.batch import Batch

# One statement has at most this many batches; a worker that makes them faster waits for it.
_TOGETHER_MOST = 200
# The pauses before locked jobs are tried again: they double.
_AGAIN_S = 0.05
_AGAIN_MOST_S = 1.0
# The time to try at the end of the work.
_LAST_S = 5.0
# The time to try when the end is cut off, because the work was to have ended.
_CUT_OFF_S = 1.0


class Acks:
    """The finished batches, which one statement at a time acknowledges.

    No clock delays it: a statement has the batches that were finished while the one before it was
    under way. So small batches share statements, and a lone batch is acknowledged at once.

    No statement waits for a lock: a job that another transaction has locked does not hold up the
    others, and is tried again until that one ends, or the job is lost. So are jobs that the server
    could not be told of. `let_go` is called for a batch when nothing is left to tell; until then
    its leases are extended.
    """

    def __init__(self, let_go: Callable[[Batch], None]) -> None:
        self._let_go = let_go
        self._finished: deque[Batch] = deque()
        # The batches to try again, and the error that kept them from being told, if there was one.
        self._left: deque[Batch] = deque()
        self.error: Exception | None = None
        self._pause = _AGAIN_S
        self._signal = Signal()
        # The calls of `told` that wait for the server's answer.
        self._asking: deque[Signal] = deque()

    def add(self, batch: Batch) -> None:
        """Acknowledge this batch soon."""
        self._finished.append(batch)
        self._signal.set()
        if len(self._finished) >= _TOGETHER_MOST:
            self._flush()
        while len(self._left) >= _TOGETHER_MOST:
            Signal().wait(_AGAIN_MOST_S)

    def told(self) -> None:
        """Wait until the server was told of all that is finished now, but not for long.

        Jobs that another session has locked are sent again later, as are jobs whose message failed.
        """
        answer = Signal()
        self._asking.append(answer)
        self._signal.set()
        answer.wait(_LAST_S)

    def run(self, last: Signal) -> None:
        """Acknowledge what is finished, until `last` is set and nothing is left."""
        try:
            with last.sets(self._signal):
                while not last.is_set():
                    self._round()
            give_up = time.monotonic() + _LAST_S
            while self._left and time.monotonic() < give_up:
                self._round()
        finally:
            # Cancelled, too: it was done. Handlers may keep all connections, though.
            self._flush_all(within=_CUT_OFF_S)
            for batch in self._left:
                self._let_go(batch)
                logger.warning(
                    "%d jobs of the queue %s are done, but %s: they come back",
                    *(len(batch.held), batch.queue.definition, self._reason),
                    extra=of_jobs(batch, batch.held),
                )

    @property
    def _reason(self) -> str:
        if self.error is None:
            return "another transaction has locked them"
        return f"that could not be told: {self.error!r}"

    def _round(self) -> None:
        """Wait for a batch, or until the batches that are left should be tried again."""
        self._signal.wait(self._pause if self._left else None)
        self._signal.clear()
        asking = len(self._asking)
        self._pause = min(2 * self._pause, _AGAIN_MOST_S) if self._left else _AGAIN_S
        self._flush_all()
        for _ in range(asking):
            self._asking.popleft().set()

    def _flush_all(self, within: float | None = None) -> None:
        while self._left:
            self._finished.append(self._left.popleft())
        self._flush(within)

    def _flush(self, within: float | None = None) -> None:
        self.error = None
        while batches := self._next():
            pool = batches[0].queue.pool
            place = pool if within is None else LimitedPool(pool, within)
            try:
                left, errors = ack_together(batches, place)
            except PASSING as error:
                left, errors = batches, []
                self.error = error
                logger.warning(
                    "the end of %d batches of the queue %s was not told, and is told again: %r",
                    *(len(batches), batches[0].queue.definition, error),
                    extra=of_queue(batches[0].queue.definition),
                )
            except BaseException:
                self._finished.extendleft(reversed(batches))
                raise
            self._left += left
            for batch, lost in errors:
                logger.warning("%s", lost, extra=of_jobs(batch, lost.lost))
            for batch in batches:
                if batch not in left:
                    self._let_go(batch)

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
