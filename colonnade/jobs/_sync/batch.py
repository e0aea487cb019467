# Generated from colonnade/jobs/_async/batch.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""Jobs that were got together, under one lease."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from colonnade._words.arguments import check_seconds
from colonnade._words.shown import class_name
from colonnade.errors import InterfaceError, InterfaceValueError, UntranslatableCharacterError
from colonnade.jobs._layouts.base import Part
from colonnade.jobs._sync.asking import ask
from colonnade.jobs._sync.limited_pool import LimitedPool
from colonnade.jobs._sync.outbox import in_transaction
from colonnade.jobs._sync.waking import wake_after_theirs
from colonnade.jobs.definition import check_ids
from colonnade.jobs.errors import LeaseLostError
from colonnade.jobs.logs import logger, of_jobs
from colonnade.jobs.observing import tell

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    import colonnade
    from colonnade.columns import Columns
    from colonnade.jobs._layouts.base import Call, Layout, LeasedJobs
    from colonnade.jobs._sync.tables import Tables
    from colonnade.jobs.observing import JobsEvent

    #: The statement that settles these ids.
    CallFor = Callable[[NDArray[np.int64]], Call]


class Batch:
    """Jobs that this caller holds until `until`; made by `Queue.get`.

    `columns` has the payload's columns, and after them `job_id`, `job_priority`, `job_attempts` and
    `job_trace` of each job. `len(batch)` is the number of jobs; a batch without jobs is false.

    Each verb concerns the jobs of `ids`, an array, a list or one id, or without them all jobs that
    the batch still holds. It touches a job only while the job's token is the batch's. Others it
    leaves alone, and raises LeaseLostError with their ids after the rest is done.
    """

    def __init__(
        self, queue: Tables, columns: Columns, token: int | None, until: datetime | None
    ) -> None:
        self.queue = queue
        self._leased = None if token is None else queue.layout.leased(columns, token)
        self.columns = columns if self._leased is None else self._leased.columns
        """The payload, and the jobs' ids, priorities, attempts and traces: a row for each job."""
        self.token = token
        """The number that proves the lease; None for jobs that `get` has removed."""
        self.until = until
        """The end of the lease, which `extend` moves; None for jobs that `get` has removed."""
        self._settled: set[int] = set()
        self._lost: set[int] = set()
        # Named by `commit`, whose transaction may still be rolled back.
        self._committed: set[int] = set()
        # Named by statements that are under way, and by those whose answers did not arrive.
        self._underway: dict[object, NDArray[np.int64]] = {}
        self._unanswered: list[NDArray[np.int64]] = []

    def __len__(self) -> int:
        """The number of jobs."""
        return len(self.columns)

    @property
    def ids(self) -> NDArray[np.int64]:
        """The ids of all jobs, in the order of `columns`."""
        return self.columns["job_id"]

    @property
    def attempts(self) -> NDArray[np.int16]:
        """How often each job was handed out, this time included."""
        return self.columns["job_attempts"]

    @property
    def held(self) -> NDArray[np.int64]:
        """The ids of the jobs that were neither acknowledged nor given back nor lost.

        Those of `commit` are among them, because its transaction may be rolled back.
        """
        return self.ids[:0] if self.token is None else _without(self.ids, self._settled)

    @property
    def is_alone(self) -> bool:
        """Whether it is one job at its last attempt that may have ended its worker before."""
        return self._leased is not None and self._leased.is_alone

    def ack(self, ids: Any = None) -> None:
        """Remove jobs that are done.

        When it returns, the removal is committed, and as durable as the server's
        `synchronous_commit` makes it: no worker gets these jobs again. If the connection fails
        before the answer arrives, they may be removed or not.
        """
        wanted = self._done(ids)
        if len(wanted):
            self._settle(self.queue.pool, "done", wanted, self._acked)

    def commit(self, connection: Any, ids: Any = None) -> None:
        """Remove jobs within the caller's transaction, together with what the work wrote.

        The removal is committed or rolled back with the transaction. If a lease is lost, the
        LeaseLostError must roll it back, so that results are not written twice. Without `ids` it is
        also raised for jobs whose loss was noticed before, such as by a consumer that extended
        them meanwhile; `commit(connection, batch.held)` leaves those out. In a REPEATABLE READ
        transaction whose snapshot is older than the lease, it is always raised.

        Afterwards `ack()` without ids leaves these jobs out. `nack()`, `release()` and another
        `commit()` do not: they are for a transaction that was rolled back.
        """
        theirs = in_transaction("commit()", connection, "ack() needs none")
        wanted = self._wanted(ids)
        if ids is None and self._lost:
            import numpy as np

            lost = np.asarray(sorted(self._lost), np.int64)
            raise LeaseLostError(str(self.queue.definition), lost, len(wanted) + len(lost))
        if not len(wanted):
            return
        done: list[int] = []
        if len(live := self._live(wanted)):
            call = self._acked(live)
            rows = theirs.fetch_plain(call.forms.patient, *call.arguments)
            (done,) = call.done(rows)
            if call.is_awaited(rows):
                theirs.fetch_plain(self.queue.layout.free)
                if self.queue.notifies:
                    wake_after_theirs(theirs, self.queue.definition)
        self._committed.update(done)
        self._tell("done", wanted, done)
        if len(done) < len(wanted):
            raise self._loss(wanted, done)

    def release(self, ids: Any = None) -> None:
        """Give back jobs that were not begun: they are ready at once, and it counts no attempt."""
        self._release(self.queue.pool, self._wanted(ids))

    def nack(self, ids: Any = None, *, delay: float | None = None, reason: Any = "failed") -> None:
        """Give back jobs that failed.

        They are ready after `delay` seconds, by default after the pause of the queue's `Retry`
        policy. A job without attempts left becomes a dead letter. `reason` is a str, or one for
        each of `ids`: it is added to the job's history. What text or the database's encoding cannot
        hold is written as an escape.
        """
        wanted = self._wanted(ids)
        if delay is not None and delay != 0:
            check_seconds("delay", delay)
        reasons = dict(zip(wanted.tolist(), _reasons(reason, ids, len(wanted)), strict=True))
        if not len(wanted):
            return
        with self._settling(wanted):
            try:
                done = self._failed(wanted, delay, reasons)
            except UntranslatableCharacterError:
                # A character that the database's encoding lacks must not keep the jobs leased.
                reasons = {number: _in_ascii(reason) for number, reason in reasons.items()}
                done = self._failed(wanted, delay, reasons)
            self._settled.update(done)
        self._log_failed(done, reasons)
        try:
            self._settled_as("failed", wanted, done)
        finally:
            # Waiting workers do not know its new time.
            self.queue.wake()

    def extend(self, lease: float = 60.0, ids: Any = None) -> None:
        """Hold jobs for `lease` seconds from now, in place of the rest of the present lease."""
        check_seconds("lease", lease)
        wanted = self._wanted(ids)
        until = datetime.now(UTC) + timedelta(seconds=lease)
        is_sooner = self.until is not None and until < self.until
        done: list[int] = []
        if len(wanted):
            leased = self._leased_jobs()
            done = self._answer(
                self.queue.pool, self._live(wanted), lambda live: leased.extend(live, lease)
            )
            self._tell("extended", wanted, done)
        if ids is None:
            self.until = until
        if is_sooner:
            self.queue.wake()
        self._refuse_lost(wanted, done)

    def __repr__(self) -> str:
        """Its queue, and how many of its jobs are held."""
        return f"<Batch of {self.queue.definition}: {len(self.held)} of {len(self)} jobs held>"

    # Inside

    def _release(self, place: Any, wanted: NDArray[np.int64]) -> None:
        if not len(wanted):
            return
        leased, before = self._leased_jobs(), self.held
        try:
            self._settle(place, "released", wanted, lambda live: leased.release(live, before))
        finally:
            self.queue.wake(place)

    def _failed(
        self, wanted: NDArray[np.int64], delay: float | None, reasons: dict[int, str]
    ) -> list[int]:
        leased = self._leased_jobs()
        return self._answer(
            self.queue.pool,
            self._live(wanted),
            lambda live: leased.nack(live, delay, [reasons[number] for number in live.tolist()]),
        )

    def _settle(
        self, place: Any, event: JobsEvent, wanted: NDArray[np.int64], call_for: CallFor
    ) -> None:
        with self._settling(wanted):
            done = self._answer(place, self._live(wanted), call_for)
            self._settled.update(done)
        self._settled_as(event, wanted, done)

    @contextlib.contextmanager
    def _settling(self, ids: NDArray[np.int64]) -> Generator[None]:
        """Until the answer is there, and if none arrives, nobody knows whether these are held."""
        key = object()
        self._underway[key] = ids
        try:
            yield
        except BaseException:
            self._unanswered.append(ids)
            raise
        finally:
            del self._underway[key]

    def _answer(self, place: Any, live: NDArray[np.int64], call_for: CallFor) -> list[int]:
        """Send ids that this batch may still hold; return those that the server settled.

        Those that another transaction has locked wait for its end, alone.
        """
        if not len(live):
            return []
        call = call_for(live)
        answer = ask(place, call.forms.brisk, *call.arguments)
        (done,) = call.done(answer)
        is_awaited = call.is_awaited(answer)
        if len(done) < len(live):
            call = call_for(_without(live, done))
            answer = ask(place, call.forms.patient, *call.arguments)
            (late,) = call.done(answer)
            done += late
            is_awaited |= call.is_awaited(answer)
        if is_awaited:
            self.queue.free_soon(place)
        return done

    def _live(self, wanted: NDArray[np.int64]) -> NDArray[np.int64]:
        """The ids without those that were settled before, which count as lost.

        They are not sent: with them, the rest of their range would look like the whole range.
        """
        return _without(wanted, self._settled)

    def _acked(self, live: NDArray[np.int64]) -> Call:
        return self.queue.layout.ack([self._part(live)])

    def _settled_as(self, event: JobsEvent, wanted: NDArray[np.int64], done: list[int]) -> None:
        self._settled.update(done)
        self._tell(event, wanted, done)
        self._refuse_lost(wanted, done)

    def _tell(self, event: JobsEvent, wanted: NDArray[np.int64], done: list[int]) -> None:
        """Tell the observers of this process what the server has answered."""
        definition = self.queue.definition
        tell(definition, event, len(done))
        if len(done) < len(wanted):
            # Jobs that a transaction has committed are gone as they should be.
            lost = set(wanted.tolist()).difference(done, self._committed)
            tell(definition, "lost", len(lost))
        if event == "failed":
            import numpy as np

            is_last = self.attempts >= definition.retry.max_attempts
            tell(definition, "dead", np.isin(done, self.ids[is_last]).sum())

    def _log_failed(self, done: list[int], reasons: dict[int, str]) -> None:
        """Log the failed jobs: the jobs to be tried again, and the dead letters."""
        import numpy as np

        definition = self.queue.definition
        is_done = np.isin(self.ids, done)
        is_last = self.attempts >= definition.retry.max_attempts
        for level, ids, end in (
            (logging.INFO, self.ids[is_done & ~is_last], "failed, and are tried again"),
            (logging.ERROR, self.ids[is_done & is_last], "failed for the last time"),
        ):
            if len(ids):
                first = int(ids[0])
                logger.log(
                    level,
                    "%d jobs of the queue %s %s, such as %d: %s",
                    *(len(ids), definition, end, first, reasons[first]),
                    extra=of_jobs(self, ids),
                )

    def _part(self, wanted: NDArray[np.int64]) -> Part:
        return Part(self._leased_jobs(), wanted, self.held)

    def _leased_jobs(self) -> LeasedJobs:
        assert self._leased is not None  # noqa: S101 - `_wanted` has refused a batch without lease
        return self._leased

    def _done(self, ids: Any) -> NDArray[np.int64]:
        """The ids that `ack` means: without `ids` not those of `commit`."""
        wanted = self._wanted(ids)
        if ids is None and self._committed:
            return _without(self.ids, self._settled | self._committed)
        return wanted

    def _wanted(self, ids: Any) -> NDArray[np.int64]:
        """The ids that are meant. Raises InterfaceValueError for other batches' ids."""
        if self.token is None and len(self):
            msg = "these jobs have no lease: lease=None removed them when they were got"
            raise InterfaceError(msg)
        if ids is None:
            return self.held
        import numpy as np

        wanted = np.unique(np.asarray(ids))
        if not len(wanted):
            return self.ids[:0]
        check_ids(ids, wanted.dtype.kind)
        foreign = wanted[~np.isin(wanted, self.ids)]
        if len(foreign):
            msg = f"ids that are not of this batch: {len(foreign)}, such as {foreign[0]}"
            raise InterfaceValueError(msg)
        return wanted.astype(np.int64, copy=False)

    def _refuse_lost(self, wanted: NDArray[np.int64], done: list[int]) -> None:
        if len(done) == len(wanted):
            return
        error = self._loss(wanted, done)
        self._settled.update(error.lost.tolist())
        # Jobs that a transaction has committed are gone as they should be.
        lost = set(error.lost.tolist()) - self._committed
        self._lost |= lost
        if lost:
            raise error

    def _lose(self, gone: NDArray[np.int64]) -> None:
        """Note jobs that the server no longer knows as this batch's.

        Raises LeaseLostError for jobs whose end nothing else explains. A statement that got no
        answer may have settled the jobs that it named; they count as settled.
        """
        import numpy as np

        doubtful = np.concatenate([self.ids[:0], *self._unanswered])
        self._settled.update(gone[np.isin(gone, doubtful)].tolist())
        underway = np.concatenate([self.ids[:0], *self._underway.values()])
        lost = _without(gone[~np.isin(gone, underway)], self._settled | self._committed)
        tell(self.queue.definition, "lost", len(lost))
        self._refuse_lost(lost, [])

    def _loss(self, wanted: NDArray[np.int64], done: list[int]) -> LeaseLostError:
        return LeaseLostError(str(self.queue.definition), _without(wanted, done), len(wanted))


def extend_on(
    connection: colonnade.sync.Connection, batch: Batch, lease: float, within: float
) -> bool:
    """Extend what a batch holds, except locked jobs; return whether that is all of it.

    Raises LeaseLostError for jobs that are lost beyond doubt, not for those being settled.
    """
    wanted = batch.held
    if not len(wanted):
        return True
    call = batch._leased_jobs().extend(wanted, lease)  # noqa: SLF001 - of this module
    rows = ask(connection, call.forms.brisk, *call.arguments, timeout=within)
    (done,) = call.done(rows)
    tell(batch.queue.definition, "extended", len(done))
    layout = batch.queue.layout
    (locked,) = _locked(connection, layout, [(batch, wanted)], [done], timeout=within)
    batch._lose(_without(wanted, {*done, *locked}))  # noqa: SLF001 - of this module
    return not locked


def release_within(batch: Batch, seconds: float) -> None:
    """Give back what a batch still holds; raises TimeoutError if that takes longer."""
    place = LimitedPool(batch.queue.pool, seconds)
    batch._release(place, batch.held)  # noqa: SLF001 - of this module


def ack_together(
    batches: Sequence[Batch], place: Any
) -> tuple[list[Batch], list[tuple[Batch, LeaseLostError]]]:
    """Acknowledge the jobs that batches of one queue hold, in one statement that never waits.

    Returns the batches with jobs that another transaction has locked, which are still held, and
    the lost jobs of each batch. `place` is a pool, or a connection without a transaction.
    """
    asked = [(batch, batch._done(None)) for batch in batches]  # noqa: SLF001 - of this module
    asked = [(batch, wanted) for batch, wanted in asked if len(wanted)]
    if not asked:
        return [], []
    layout = batches[0].queue.layout
    parts = [batch._part(wanted) for batch, wanted in asked]  # noqa: SLF001 - of this module
    call = layout.ack(parts)
    with contextlib.ExitStack() as settling:
        for batch, wanted in asked:
            settling.enter_context(batch._settling(wanted))  # noqa: SLF001 - of this module
        answer = ask(place, call.forms.brisk, *call.arguments)
        answers = call.done(answer)
        for (batch, _), done in zip(asked, answers, strict=True):
            batch._settled.update(done)  # noqa: SLF001 - of this module
        locked = _locked(place, layout, asked, answers)
    if call.is_awaited(answer):
        batches[0].queue.free_soon(place)
    errors: list[tuple[Batch, LeaseLostError]] = []
    for (batch, wanted), done, left in zip(asked, answers, locked, strict=True):
        tell(batch.queue.definition, "done", len(done))
        try:
            batch._lose(_without(wanted, {*done, *left}))  # noqa: SLF001 - of this module
        except LeaseLostError as error:
            errors.append((batch, error))
    return [batch for (batch, _), left in zip(asked, locked, strict=True) if left], errors


def _locked(
    place: Any,
    layout: Layout,
    asked: Sequence[tuple[Batch, NDArray[np.int64]]],
    answers: Sequence[Sequence[int]],
    timeout: float | None = None,
) -> list[list[int]]:
    """For each batch the ids that were not settled, and are still held."""
    parts = {
        at: batch._part(_without(wanted, done))  # noqa: SLF001 - of this module
        for at, ((batch, wanted), done) in enumerate(zip(asked, answers, strict=True))
        if len(done) < len(wanted)
    }
    locked: list[list[int]] = [[] for _ in asked]
    if parts:
        question = layout.held(list(parts.values()))
        rows = ask(place, question.sql, *question.arguments, timeout=timeout)
        for at, ids in zip(parts, question.found(rows), strict=True):
            locked[at] = ids
    return locked


def _without(ids: NDArray[np.int64], out: Collection[int]) -> NDArray[np.int64]:
    if not out:
        return ids
    import numpy as np

    return ids[~np.isin(ids, list(out))]


def _in_ascii(reason: str) -> str:
    return reason.encode("ascii", "backslashreplace").decode("ascii")


def _reasons(reason: Any, ids: Any, count: int) -> list[str]:
    """One reason for each id in ascending order; what text cannot hold is written as an escape."""
    import numpy as np

    asked = count if ids is None else np.size(ids)
    if not isinstance(reason, str | Iterable):
        kind = class_name(reason)
        msg = f"reason must be a str, or one for each id, such as str(error), not {kind}"
        raise TypeError(msg)
    reasons = [reason] * asked if isinstance(reason, str) else list(reason)
    if len(reasons) != asked:
        msg = f"reason must be a str, or a list of {asked}, one for each id: it has {len(reasons)}"
        raise InterfaceValueError(msg)
    if ids is not None:
        reasons = [reasons[at] for at in np.unique(np.asarray(ids), return_index=True)[1].tolist()]
    return [
        str(one).replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()
        for one in reasons
    ]
