# Generated from colonnade/jobs/_async/turns.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""When the lanes of a worker may get jobs and begin them."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from colonnade.jobs._tasks.threads import Mutex, Semaphore, Signal

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from colonnade.jobs._sync.batch import Batch


class Turns:
    """So many batches are begun at once, or one job that may end the process, alone.

    Such a job, before its last attempt, begins when no other lane holds or gets any: they would
    lose an attempt with it, and some have no other. Meanwhile the others give back what they have
    not begun. Handlers that take longer than `patience` seconds are not awaited, so that a slow one
    does not make the worker idle.
    """

    def __init__(
        self,
        concurrency: int,
        stop: Signal,
        told: Callable[[], None],
        patience: float,
    ) -> None:
        self.halt = Signal()
        """Set while no jobs are to be got."""
        self._stop = stop
        self._told = told
        self._patience = patience
        self._turn = Semaphore(concurrency)
        self._mutex = Mutex()
        self._alone: Batch | None = None
        self._lanes = 0
        # Set while no batch is alone, and whenever a lane has ended.
        self._together, self._fewer = Signal(), Signal()
        self._together.set()

    @contextmanager
    def lane(self) -> Generator[None]:
        """A lane gets jobs, works, and settles them."""
        while not self._is_entered():
            self._together.wait(None)
        try:
            yield
        finally:
            with self._mutex:
                self._lanes -= 1
            self._fewer.set()

    @contextmanager
    def turn(self, batch: Batch) -> Generator[bool]:
        """A lane works on a batch; False if it has to give it back, because another is alone.

        A batch that is alone keeps the others out until `end`.
        """
        if batch.is_alone and self._is_first(batch):
            self._others_end()
        with self._turn:
            yield self._alone in {None, batch}

    def end(self, batch: Batch) -> None:
        """Let the others go on when the server knows the end of a batch that was alone."""
        if self._alone is not batch:
            return
        try:
            self._told()
        finally:
            with self._mutex:
                self._alone = None
                self._together.set()
                self.halt.clear()
            # It may have been set amid this.
            if self._stop.is_set():
                self.halt.set()

    def _others_end(self) -> None:
        give_up = time.monotonic() + self._patience
        with self._stop.rings(self._fewer):
            while self._lanes > 1 and (left := give_up - time.monotonic()) > 0:
                if self._stop.is_set():
                    return
                self._fewer.wait(left)
                self._fewer.clear()
        self._told()

    def _is_entered(self) -> bool:
        with self._mutex:
            self._lanes += self._alone is None
            return self._alone is None

    def _is_first(self, batch: Batch) -> bool:
        """Whether it is alone from now on; of two such batches, one is given back."""
        with self._mutex:
            if self._alone is None:
                self._alone = batch
                self._together.clear()
                self.halt.set()
            return self._alone is batch
