"""A worker whose lanes are threads."""

from __future__ import annotations

import contextlib
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

import colonnade.sync
from colonnade.jobs import LeaseLostError, sync as jobs
from tests.jobs.chaos import ledger
from tests.jobs.chaos.hostile import (
    OWN_SETTINGS,
    TAKEN_WITHIN_S,
    Deed,
    block,
    deed_of,
    error_of,
    lock_sql,
    token_of,
)
from tests.jobs.chaos.plan import QUEUE, SETTINGS, Kind
from tests.jobs.chaos.scribe import HELD_BEFORE, PASSING, ChanceError, Fate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tests.jobs.chaos.plan import Assignment
    from tests.jobs.chaos.scribe import Scribe

_WAIT_S = 0.2


class Worker:
    """Works until SIGTERM."""

    def __init__(self, assignment: Assignment, scribe: Scribe) -> None:
        self._assignment = assignment
        self._scribe = scribe
        self._lease = assignment.lease
        # Not an Event, whose lock a second signal could find taken by the first.
        self._is_told_to_end = False
        self._consumer: jobs.Consumer | None = None

    def run(self) -> None:
        signal.signal(signal.SIGTERM, self._told_to_end)
        while not self._is_told_to_end:
            try:
                self._with_a_pool()
            except PASSING as error:
                self._scribe.trouble(error)
                _sleep(_WAIT_S)

    def _told_to_end(self, *_: object) -> None:
        self._is_told_to_end = True
        if self._consumer is not None:
            self._consumer.stop()

    def _with_a_pool(self) -> None:
        lanes = self._assignment.lanes
        with colonnade.sync.create_pool(
            self._assignment.dsn,
            min_size=1,
            max_size=lanes + 2,
            command_timeout=5,
            timeout=5,
            server_settings=SETTINGS[self._assignment.settings] or None,
        ) as pool:
            queue = jobs.open_queue(pool, QUEUE, poll=_WAIT_S)
            if self._assignment.kind == Kind.THREADS_CONSUMER.name:
                self._consume(queue)
                return
            with ThreadPoolExecutor(lanes) as threads:
                works = [threads.submit(self._lane, queue) for _ in range(lanes)]
                # In steps, so that the handler of SIGTERM runs in between.
                while not (self._is_told_to_end or any(work.done() for work in works)):
                    _sleep(_WAIT_S)
            for work in works:
                work.result()

    def _consume(self, queue: jobs.Queue) -> None:
        def handler(batch: jobs.Batch) -> None:
            self._scribe.got(batch, HELD_BEFORE)
            self._handle(batch)

        while not self._is_told_to_end:
            self._consumer = queue.consume(
                handler,
                limit=self._assignment.limit,
                lease=self._lease,
                concurrency=self._assignment.lanes,
                stop_within=20,
            )
            self._consumer.run()

    def _handle(self, batch: jobs.Batch) -> None:
        """Work off a batch that the consumer acknowledges."""
        fate = self._scribe.fate()
        self._pause(fate)
        deed, seconds = deed_of(self._scribe)
        if deed is not None:
            self._do(deed, batch, seconds)
        error = error_of(deed)
        if self._assignment.mode == "commit":
            if error is not None:
                raise error
            self._commit(batch, fails=fate is Fate.FAILED)
            return
        self._scribe.worked(batch, batch.ids)
        if error is not None:
            self._scribe.end(ledger.GIVEN_BACK, batch, batch.ids)
            raise error
        if fate is Fate.FAILED:
            self._scribe.end(ledger.GIVEN_BACK, batch, batch.ids)
            raise ChanceError
        if fate is Fate.FAILED_IN_PART:
            self._nack(batch, batch.ids[1::2])

    def _do(self, deed: Deed, batch: jobs.Batch, seconds: float) -> None:
        """Do what no handler should; what raises comes later."""
        match deed:
            case Deed.TAKE_POOL:
                self._take_pool(batch.queue.pool, seconds)
            case Deed.BLOCK | Deed.BLOCK_LONG:
                block(seconds)
            case Deed.HOLD_ROWS:
                threading.Thread(target=self._hold, args=(batch, seconds), daemon=True).start()
                # The handler may end before.
                _sleep(self._scribe.seconds(0, seconds))

    def _take_pool(self, pool: colonnade.sync.Pool, seconds: float) -> None:
        taken = []
        try:
            with contextlib.suppress(*PASSING):
                while True:
                    taken.append(pool.acquire(timeout=TAKEN_WITHIN_S))
            _sleep(seconds)
        finally:
            for connection in taken:
                pool.release(connection)

    def _hold(self, batch: jobs.Batch, seconds: float) -> None:
        with (
            contextlib.suppress(*PASSING),
            batch.queue.pool.acquire(timeout=TAKEN_WITHIN_S) as connection,
            connection.transaction(isolation="read_committed"),
        ):
            connection.execute(OWN_SETTINGS)
            connection.execute(lock_sql(self._assignment.layout), token_of(batch))
            _sleep(seconds)

    def _lane(self, queue: jobs.Queue) -> None:
        while not self._is_told_to_end:
            try:
                if batch := self._get(queue):
                    self._settle(batch)
            except PASSING as error:
                self._scribe.trouble(error)
                _sleep(_WAIT_S)
            except (ChanceError, LeaseLostError):
                # Its transaction is rolled back, and its jobs come back.
                continue

    def _get(self, queue: jobs.Queue) -> jobs.Batch:
        is_at_most_once = self._assignment.mode == "at-most-once"
        with self._scribe.asking() as answer:
            batch = queue.get(
                self._assignment.limit,
                lease=None if is_at_most_once else self._lease,
                timeout=_WAIT_S,
            )
            answer.append(batch)
        return batch

    def _settle(self, batch: jobs.Batch) -> None:
        fate = self._scribe.fate()
        if self._assignment.mode == "at-most-once":
            self._scribe.worked(batch, batch.ids)
            return
        if fate is Fate.RELEASED:
            with self._scribe.releasing(batch):
                batch.release()
            return
        self._pause(fate)
        if self._assignment.mode == "commit":
            self._commit(batch, fails=fate is Fate.FAILED)
            return
        self._scribe.worked(batch, batch.ids)
        if fate is Fate.ABANDONED:
            self._scribe.end(ledger.ABANDONED, batch, batch.ids)
            return
        if fate is Fate.FAILED_IN_PART:
            with self._scribe.leaving(batch, batch.ids[::2]):
                self._nack(batch, batch.ids[1::2])
        held = batch.held
        with self._scribe.settling(batch, held):
            batch.ack(held)

    def _nack(self, batch: jobs.Batch, ids: NDArray[np.int64]) -> None:
        with self._scribe.settling(batch, ids, ledger.GIVEN_BACK):
            batch.nack(ids, reason="chance")

    def _commit(self, batch: jobs.Batch, *, fails: bool) -> None:
        ids = batch.held
        rows = {
            "n": batch.columns["n"][np.isin(batch.ids, ids)],
            "worker": [self._assignment.name] * len(ids),
        }
        with (
            self._scribe.committing(batch, ids),
            batch.queue.pool.acquire() as connection,
            connection.transaction(isolation="read_committed"),
        ):
            connection.execute(OWN_SETTINGS)
            connection.copy_columns_to_table("results", rows, schema_name="public")
            batch.commit(connection)
            if fails:
                raise ChanceError

    def _pause(self, fate: Fate) -> None:
        _sleep(self._lease * 1.3 if fate is Fate.LATE else self._scribe.seconds(0, 0.01))


def _sleep(seconds: float) -> None:
    """Sleep, but not by time.sleep, which libfaketime breaks."""
    threading.Event().wait(seconds)
