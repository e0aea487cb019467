# Generated from colonnade/jobs/_async/batch.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Jobs that were got together, under one lease."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from colonnade._shown import class_name
from colonnade.errors import InterfaceError
from colonnade.jobs._layouts.base import Part
from colonnade.jobs.definition import check_connection, check_ids, check_seconds
from colonnade.jobs.errors import LeaseLostError
from colonnade.jobs.observing import tell

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    import colonnade
    from colonnade.columns import Columns
    from colonnade.jobs._layouts.base import Call, Hold
    from colonnade.jobs._sync.queue import Queue
    from colonnade.jobs.observing import JobsEvent

    #: The statement that settles these ids.
    CallFor = Callable[[NDArray[np.int64]], Call]

_BACK_AT_ONCE = 0.0


class Batch:
    """Jobs that this caller holds until `until`; made by `Queue.get`.

    `columns` has the payload's columns, and after them `job_id`, `job_priority`, `job_attempts` and
    `job_trace` of each job. `len(batch)` is the number of jobs; a batch without jobs is false.

    Each verb concerns the jobs of `ids`, an array, a list or one id, or without them all jobs that
    the batch still holds. It touches a job only while the job's token is the batch's. Others it
    leaves alone, and raises LeaseLostError with their ids after the rest is done.
    """

    def __init__(
        self, queue: Queue, columns: Columns, token: int | None, until: datetime | None
    ) -> None:
        self.queue = queue
        self._hold = None if token is None else queue.layout.hold(columns, token)
        self.columns = columns if self._hold is None else self._hold.columns
        """The payload, and the jobs' ids, priorities, attempts and traces: a row for each job."""
        self.token = token
        """The number that proves the lease; None for jobs that `get` has removed."""
        self.until = until
        """The end of the lease, which `extend` moves; None for jobs that `get` has removed."""
        self._settled: set[int] = set()
        self._lost: set[int] = set()
        # Named by `commit`, whose transaction may still be rolled back.
        self._committed: set[int] = set()

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
        return self.ids[:0] if self.token is None else self._without(self._settled)

    def ack(self, ids: Any = None) -> None:
        """Remove jobs that are done.

        When it returns, the removal is committed, and as durable as the server's
        `synchronous_commit` makes it: no worker gets these jobs again. If the connection fails
        before the answer arrives, they may be removed or not.
        """
        wanted = self._done(ids)
        if len(wanted):
            self._settle("done", wanted, self._acked)

    def commit(self, connection: colonnade.sync.Connection, ids: Any = None) -> None:
        """Remove jobs within the caller's transaction, together with what the work wrote.

        The removal is committed or rolled back with the transaction. If a lease is lost, the
        LeaseLostError must roll it back, so that results are not written twice. Without `ids` it is
        also raised for jobs whose loss was noticed before, such as by a consumer that extended
        them meanwhile; `commit(connection, batch.held)` leaves those out. In a REPEATABLE READ
        transaction whose snapshot is older than the lease, it is always raised.

        Afterwards `ack()` without ids leaves these jobs out. `nack()`, `release()` and another
        `commit()` do not: they are for a transaction that was rolled back.
        """
        check_connection("commit()", connection)
        if not connection.is_in_transaction():
            msg = "commit() needs a connection with an open transaction; ack() needs none"
            raise InterfaceError(msg)
        wanted = self._wanted(ids)
        if ids is None and self._lost:
            import numpy as np

            lost = np.asarray(sorted(self._lost), np.int64)
            raise LeaseLostError(str(self.queue.definition), lost, len(wanted) + len(lost))
        if not len(wanted):
            return
        done = self._answer(connection, wanted, self._acked)
        self._committed.update(done)
        self._tell("done", wanted, done)
        if len(done) < len(wanted):
            raise self._loss(wanted, done)

    def release(self, ids: Any = None) -> None:
        """Give back jobs that were not begun: they are ready at once, without an attempt more."""
        wanted = self._wanted(ids)
        if len(wanted):
            held, before = self._held_by(), self.held
            self._settle("released", wanted, lambda live: held.release(live, before))
        self.queue.notify()

    def nack(self, ids: Any = None, *, delay: float | None = None, reason: Any = "failed") -> None:
        """Give back jobs that failed.

        They are ready after `delay` seconds, by default after the pause of the queue's `Retry`
        policy. A job without attempts left becomes a dead letter. `reason` is a str, or one for
        each of `ids`: it is added to the job's history.
        """
        wanted = self._wanted(ids)
        if delay is not None and delay != 0:
            check_seconds("delay", delay)
        reasons = dict(zip(wanted.tolist(), _reasons(reason, ids, len(wanted)), strict=True))
        if not len(wanted):
            return
        held = self._held_by()
        self._settle(
            "failed",
            wanted,
            lambda live: held.nack(live, delay, [reasons[number] for number in live.tolist()]),
        )
        if delay == _BACK_AT_ONCE:
            self.queue.notify()

    def extend(self, lease: float = 60.0, ids: Any = None) -> None:
        """Hold jobs for `lease` seconds from now, whatever is left of the present lease."""
        check_seconds("lease", lease)
        wanted = self._wanted(ids)
        until = datetime.now(UTC) + timedelta(seconds=lease)
        done: list[int] = []
        if len(wanted):
            held = self._held_by()
            done = self._answer(self.queue.pool, wanted, lambda live: held.extend(live, lease))
            self._tell("extended", wanted, done)
        if ids is None:
            self.until = until
        self._refuse_lost(wanted, done)

    def __repr__(self) -> str:
        """Its queue, and how many of its jobs are held."""
        return f"<Batch of {self.queue.definition}: {len(self.held)} of {len(self)} jobs held>"

    # Inside

    def _settle(self, event: JobsEvent, wanted: NDArray[np.int64], call_for: CallFor) -> None:
        done = self._answer(self.queue.pool, wanted, call_for)
        self._settled_as(event, wanted, done)

    def _answer(self, connection: Any, wanted: NDArray[np.int64], call_for: CallFor) -> list[int]:
        """Send the ids that this batch may still hold; return those that the server settled.

        An id that was settled before counts as lost. It is not sent: with it, the rest of its range
        would look like the whole range.
        """
        import numpy as np

        live = wanted[~np.isin(wanted, list(self._settled))] if self._settled else wanted
        if not len(live):
            return []
        (done,) = _asked(connection, call_for(live))
        return done

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
            # What a transaction has committed is gone as it should be.
            lost = set(wanted.tolist()).difference(done, self._committed)
            tell(definition, "lost", len(lost))
        if event == "failed":
            import numpy as np

            is_last = self.attempts >= definition.retry.max_attempts
            tell(definition, "dead", np.isin(done, self.ids[is_last]).sum())

    def _part(self, wanted: NDArray[np.int64]) -> Part:
        return Part(self._held_by(), wanted, self.held)

    def _held_by(self) -> Hold:
        assert self._hold is not None  # noqa: S101 - `_wanted` has refused a batch without lease
        return self._hold

    def _done(self, ids: Any) -> NDArray[np.int64]:
        """The ids that `ack` means: without `ids` not those of `commit`."""
        wanted = self._wanted(ids)
        if ids is None and self._committed:
            return self._without(self._settled | self._committed)
        return wanted

    def _wanted(self, ids: Any) -> NDArray[np.int64]:
        """The ids that are meant. Raises InterfaceError for ids of other batches."""
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
            msg = f"{len(foreign)} of the ids are not of this batch, such as {foreign[0]}"
            raise InterfaceError(msg)
        return wanted.astype(np.int64, copy=False)

    def _without(self, out: set[int]) -> NDArray[np.int64]:
        if not out:
            return self.ids
        import numpy as np

        return self.ids[~np.isin(self.ids, list(out))]

    def _refuse_lost(self, wanted: NDArray[np.int64], done: list[int]) -> None:
        if len(done) == len(wanted):
            return
        error = self._loss(wanted, done)
        self._settled.update(error.lost.tolist())
        # What a transaction has committed is gone as it should be.
        lost = set(error.lost.tolist()) - self._committed
        self._lost |= lost
        if lost:
            raise error

    def _loss(self, wanted: NDArray[np.int64], done: list[int]) -> LeaseLostError:
        import numpy as np

        lost = wanted[~np.isin(wanted, done)]
        return LeaseLostError(str(self.queue.definition), lost, len(wanted))


def ack_together(batches: Sequence[Batch]) -> list[LeaseLostError]:
    """Acknowledge what batches of one queue still hold, in one statement; return what was lost."""
    asked = [(batch, batch._done(None)) for batch in batches]  # noqa: SLF001 - of this module
    asked = [(batch, wanted) for batch, wanted in asked if len(wanted)]
    if not asked:
        return []
    queue = batches[0].queue
    parts = [batch._part(wanted) for batch, wanted in asked]  # noqa: SLF001 - of this module
    call = queue.layout.ack(parts)
    errors: list[LeaseLostError] = []
    answers = _asked(queue.pool, call)
    for (batch, wanted), done in zip(asked, answers, strict=True):
        try:
            batch._settled_as("done", wanted, done)  # noqa: SLF001 - of this module
        except LeaseLostError as error:
            errors.append(error)
    return errors


def _asked(connection: Any, call: Call) -> list[list[int]]:
    """Run the statement, and return the ids of the jobs that it settled, for each batch."""
    return call.done(connection.fetch_columns(call.sql, *call.arguments))


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
        raise InterfaceError(msg)
    if ids is not None:
        reasons = [reasons[at] for at in np.unique(np.asarray(ids), return_index=True)[1].tolist()]
    return [
        str(one).replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()
        for one in reasons
    ]
