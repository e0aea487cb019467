"""A worker whose lanes are tasks."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from typing import TYPE_CHECKING

import numpy as np

import colonnade
from colonnade import jobs
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
_POOL_CLOSE_S = 5.0


class Worker:
    """Works until SIGTERM."""

    def __init__(self, assignment: Assignment, scribe: Scribe) -> None:
        self._assignment = assignment
        self._scribe = scribe
        self._lease = assignment.lease
        self._stop = asyncio.Event()
        self._consumer: jobs.Consumer | None = None
        self._holding: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._told_to_end)
        loop.add_signal_handler(signal.SIGUSR1, _print_stacks)
        while not self._stop.is_set():
            try:
                await self._with_a_pool()
            except PASSING as error:
                self._scribe.trouble(error)
                await asyncio.sleep(_WAIT_S)

    def _told_to_end(self) -> None:
        self._stop.set()
        if self._consumer is not None:
            self._consumer.stop()

    async def _with_a_pool(self) -> None:
        pool = colonnade.create_pool(
            self._assignment.dsn,
            min_size=1,
            max_size=self._assignment.lanes + 2,
            command_timeout=5,
            timeout=5,
            statement_cache_size=0 if self._assignment.is_pooled else 100,
            server_settings=SETTINGS[self._assignment.settings] or None,
        )
        try:
            await pool
            queue = await jobs.open_queue(pool, QUEUE, poll=_WAIT_S)
            if self._assignment.kind == Kind.CONSUMER.name:
                await self._consume(queue)
            else:
                await asyncio.gather(*(self._lane(queue) for _ in range(self._assignment.lanes)))
        finally:
            try:
                async with asyncio.timeout(_POOL_CLOSE_S):
                    await pool.close()
            except TimeoutError:
                pool.terminate()

    async def _consume(self, queue: jobs.Queue) -> None:
        async def handler(batch: jobs.Batch) -> None:
            self._scribe.got(batch, HELD_BEFORE)
            await self._handle(batch)

        while not self._stop.is_set():
            self._consumer = queue.consume(
                handler,
                limit=self._assignment.limit,
                lease=self._lease,
                concurrency=self._assignment.lanes,
                stop_within=20,
            )
            await self._consumer.run()

    async def _handle(self, batch: jobs.Batch) -> None:
        """Work off a batch that the consumer acknowledges."""
        fate = self._scribe.fate()
        if fate is Fate.RELEASED:
            with self._scribe.releasing(batch):
                await batch.release()
            return
        await asyncio.sleep(self._pause(fate))
        deed, seconds = deed_of(self._scribe)
        if deed is not None:
            await self._do(deed, batch, seconds)
        error = error_of(deed)
        if self._assignment.mode == "commit":
            if error is not None:
                raise error
            await self._commit(batch, fails=fate is Fate.FAILED)
            return
        self._scribe.worked(batch, batch.ids)
        if error is not None:
            self._scribe.end(ledger.GIVEN_BACK, batch, batch.ids)
            raise error
        if fate is Fate.FAILED:
            self._scribe.end(ledger.GIVEN_BACK, batch, batch.ids)
            raise ChanceError
        if fate is Fate.FAILED_IN_PART:
            await self._nack(batch, batch.ids[::2])

    async def _do(self, deed: Deed, batch: jobs.Batch, seconds: float) -> None:
        """Do what no handler should; what raises comes later."""
        match deed:
            case Deed.TAKE_POOL:
                await self._take_pool(batch.queue.pool, seconds)
            case Deed.BLOCK | Deed.BLOCK_LONG:
                block(seconds)
            case Deed.HOLD_ROWS:
                holding = asyncio.create_task(self._hold(batch, seconds))
                self._holding.add(holding)
                holding.add_done_callback(self._holding.discard)
                # The handler may end before.
                await asyncio.sleep(self._scribe.seconds(0, seconds))

    async def _take_pool(self, pool: colonnade.Pool, seconds: float) -> None:
        taken = []
        try:
            with contextlib.suppress(*PASSING):
                while True:
                    taken.append(await pool.acquire(timeout=TAKEN_WITHIN_S))
            await asyncio.sleep(seconds)
        finally:
            for connection in taken:
                await pool.release(connection)

    async def _hold(self, batch: jobs.Batch, seconds: float) -> None:
        with contextlib.suppress(*PASSING):
            async with (
                batch.queue.pool.acquire(timeout=TAKEN_WITHIN_S) as connection,
                connection.transaction(isolation="read_committed"),
            ):
                await connection.execute(OWN_SETTINGS)
                await connection.execute(lock_sql(self._assignment.layout), token_of(batch))
                await asyncio.sleep(seconds)

    async def _lane(self, queue: jobs.Queue) -> None:
        while not self._stop.is_set():
            try:
                if batch := await self._get(queue):
                    await self._settle(batch)
            except PASSING as error:
                self._scribe.trouble(error)
                if queue.pool.is_closing():
                    return
                await asyncio.sleep(self._scribe.seconds(0, _WAIT_S))
            except (ChanceError, jobs.LeaseLostError):
                # Its transaction is rolled back, and its jobs come back.
                continue

    async def _get(self, queue: jobs.Queue) -> jobs.Batch:
        is_at_most_once = self._assignment.mode == "at-most-once"
        seconds = self._scribe.seconds(0.0005, 0.01) if self._scribe.is_impatient else None
        async with asyncio.timeout(seconds):
            with self._scribe.asking() as answer:
                batch = await queue.get(
                    self._assignment.limit,
                    lease=None if is_at_most_once else self._lease,
                    timeout=_WAIT_S,
                )
                answer.append(batch)
        return batch

    async def _settle(self, batch: jobs.Batch) -> None:
        fate = self._scribe.fate()
        if self._assignment.mode == "at-most-once":
            await asyncio.sleep(self._pause(Fate.DONE))
            self._scribe.worked(batch, batch.ids)
            return
        if fate is Fate.RELEASED:
            with self._scribe.releasing(batch):
                await batch.release()
            return
        if fate is Fate.EXTENDED:
            for _ in range(4):
                await asyncio.sleep(self._lease * 0.4)
                with self._scribe.extending(batch):
                    await batch.extend(self._lease)
        await asyncio.sleep(self._pause(fate))
        if self._assignment.mode == "commit":
            await self._commit(batch, fails=fate is Fate.FAILED)
            return
        self._scribe.worked(batch, batch.held)
        await self._acknowledge(batch, fate)

    async def _acknowledge(self, batch: jobs.Batch, fate: Fate) -> None:
        if fate is Fate.ABANDONED:
            self._scribe.end(ledger.ABANDONED, batch, batch.held)
            return
        if fate is Fate.FAILED:
            await self._nack(batch, batch.held)
            return
        held, half = batch.held, len(batch.held) // 2
        if fate is Fate.FAILED_IN_PART:
            with self._scribe.leaving(batch, held[1::2]):
                await self._nack(batch, held[::2])
        if fate is Fate.DONE_IN_PARTS:
            with self._scribe.leaving(batch, held[half:]):
                await self._ack(batch, held[:half])
        seconds = self._scribe.seconds(0, 0.005) if fate is Fate.CANCELLED else None
        async with asyncio.timeout(seconds):
            await self._ack(batch, batch.held)

    async def _ack(self, batch: jobs.Batch, ids: NDArray[np.int64]) -> None:
        with self._scribe.settling(batch, ids):
            await batch.ack(ids)

    async def _nack(self, batch: jobs.Batch, ids: NDArray[np.int64]) -> None:
        with self._scribe.settling(batch, ids, ledger.GIVEN_BACK):
            await batch.nack(ids, delay=0.0, reason="chance")

    async def _commit(self, batch: jobs.Batch, *, fails: bool) -> None:
        ids = batch.held
        rows = {
            "n": batch.columns["n"][np.isin(batch.ids, ids)],
            "worker": [self._assignment.name] * len(ids),
        }
        with self._scribe.committing(batch, ids):
            async with (
                batch.queue.pool.acquire() as connection,
                connection.transaction(isolation="read_committed"),
            ):
                await connection.execute(OWN_SETTINGS)
                await connection.copy_columns_to_table("results", rows, schema_name="public")
                await batch.commit(connection)
                if fails:
                    raise ChanceError

    def _pause(self, fate: Fate) -> float:
        if fate is Fate.LATE:
            return self._lease * 1.3
        return self._scribe.seconds(0, 0.01)


def _print_stacks() -> None:
    for task in asyncio.all_tasks():
        task.print_stack()
