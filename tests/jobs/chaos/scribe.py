"""A worker's acts on its jobs, by chance, and their record."""

from __future__ import annotations

import asyncio
import contextlib
import enum
import logging
import random
import threading
import time
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from colonnade.errors import InterfaceError, InternalClientError, PostgresError
from colonnade.jobs import LeaseLostError
from tests.jobs.chaos import ledger
from tests.jobs.chaos.plan import marks_of

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping

    from numpy.typing import NDArray

    from colonnade.jobs import Batch, sync
    from tests.jobs.chaos.plan import Assignment

    AnyBatch = Batch | sync.Batch

T = TypeVar("T")

PASSING = (OSError, PostgresError, InterfaceError, InternalClientError)
"""The exceptions of the faults."""
BROKEN_OFF = (*PASSING, asyncio.CancelledError)

HELD_BEFORE = 0.0
"""The beginning of a lease that only the consumer knows."""


class Fate(enum.Enum):
    """The fate of a batch."""

    DONE = "done"
    DONE_IN_PARTS = "done, and acknowledged in two parts"
    LATE = "acknowledged after its lease"
    EXTENDED = "extended, and done later than its first lease"
    FAILED_IN_PART = "half of it failed"
    FAILED = "failed"
    RELEASED = "not begun"
    ABANDONED = "forgotten"
    CANCELLED = "cancelled while it is acknowledged"


_CHANCES = {
    Fate.DONE: 70,
    Fate.DONE_IN_PARTS: 8,
    Fate.LATE: 4,
    Fate.EXTENDED: 4,
    Fate.FAILED_IN_PART: 5,
    Fate.FAILED: 3,
    Fate.RELEASED: 2,
    Fate.ABANDONED: 2,
    Fate.CANCELLED: 2,
}


class ChanceError(Exception):
    """A handler fails, by chance."""


class Scribe:
    """Writes the ledger of a worker's process."""

    def __init__(self, assignment: Assignment) -> None:
        self.assignment = assignment
        self.random = random.Random(assignment.seed)
        self._ledger = ledger.Ledger(assignment.ledger)
        self._lock = threading.Lock()
        self._numbers: dict[int, int] = {}
        logging.getLogger("colonnade.jobs").addHandler(_Troubles(self._ledger, self._numbers))

    def fate(self) -> Fate:
        """Choose what happens to a batch."""
        return self.choice(_CHANCES)

    def choice(self, chances: Mapping[T, int]) -> T:
        """Choose by chance."""
        with self._lock:
            (chosen,) = self.random.choices(list(chances), list(chances.values()))
        return chosen

    def seconds(self, least: float, most: float) -> float:
        """Choose a time."""
        with self._lock:
            return self.random.uniform(least, most)

    @property
    def is_impatient(self) -> bool:
        """Whether a call is to be cancelled, by chance."""
        return self.seconds(0, 1) < 0.1

    @contextlib.contextmanager
    def asking(self) -> Generator[list[AnyBatch]]:
        """Write down a `get`, whose batch the block appends to the list."""
        began, limit = time.monotonic(), self.assignment.limit
        answer: list[AnyBatch] = []
        self._ledger.write(ledger.ASKED, limit=limit)
        try:
            yield answer
        except BROKEN_OFF as error:
            note = type(error).__name__
            self._ledger.write(ledger.UNANSWERED, began=began, limit=limit, note=note)
            raise
        self.got(answer[0], began)

    def got(self, batch: AnyBatch, began: float) -> None:
        """Write down a batch, and look at what is in it."""
        numbers = batch.columns["n"]
        self._numbers.update(zip(batch.ids.tolist(), numbers.tolist(), strict=True))
        self._ledger.write(
            ledger.GOT,
            began=began,
            token=batch.token,
            jobs=numbers.tolist(),
            attempts=batch.attempts.tolist(),
        )
        bodies = [f"job {number}" for number in numbers.tolist()]
        is_whole = np.array_equal(batch.columns["mark"], marks_of(numbers))
        if not is_whole or list(batch.columns["body"]) != bodies:
            self.wrong(f"jobs {numbers[:5]} have the payload of others")

    def worked(self, batch: AnyBatch, ids: NDArray[np.int64]) -> None:
        """Write down that jobs are done: their effect, which cannot be taken back."""
        self._ledger.write(ledger.WORKED, token=batch.token, jobs=_numbers(batch, ids))

    @contextlib.contextmanager
    def settling(
        self, batch: AnyBatch, ids: NDArray[np.int64], end: str = ledger.ACKED
    ) -> Generator[None]:
        """Write down what a verb, called within the block, did to these jobs."""
        began = time.monotonic()
        try:
            yield
        except LeaseLostError as error:
            kept = ids[~np.isin(ids, error.lost)]
            self._end(ledger.LOST, batch, error.lost, began)
            self._end(end, batch, kept, began)
        except BROKEN_OFF as error:
            self._end(ledger.UNKNOWN, batch, ids, began, type(error).__name__)
            raise
        else:
            self._end(end, batch, ids, began)

    @contextlib.contextmanager
    def leaving(self, batch: AnyBatch, ids: NDArray[np.int64]) -> Generator[None]:
        """Write down that these jobs are left, if the block, which is for others, breaks off."""
        try:
            yield
        except BROKEN_OFF:
            self.end(ledger.ABANDONED, batch, ids)
            raise

    @contextlib.contextmanager
    def releasing(self, batch: AnyBatch) -> Generator[None]:
        """Write down a `release` of all jobs, and before it that it begins."""
        self._end(ledger.RELEASING, batch, batch.ids, time.monotonic())
        with self.settling(batch, batch.ids, ledger.GIVEN_BACK):
            yield

    @contextlib.contextmanager
    def committing(self, batch: AnyBatch, ids: NDArray[np.int64]) -> Generator[None]:
        """Write down a transaction that commits the jobs, or is rolled back as a whole."""
        began = time.monotonic()
        try:
            yield
        except LeaseLostError as error:
            kept = ids[~np.isin(ids, error.lost)]
            self._end(ledger.LOST, batch, error.lost, began)
            self._end(ledger.ABANDONED, batch, kept, began)
            raise
        except ChanceError:
            self._end(ledger.ABANDONED, batch, ids, began, "rolled back")
            raise
        except BROKEN_OFF as error:
            self._end(ledger.UNKNOWN, batch, ids, began, type(error).__name__)
            raise
        else:
            self._end(ledger.ACKED, batch, ids, began)

    @contextlib.contextmanager
    def extending(self, batch: AnyBatch) -> Generator[None]:
        """Write down an `extend` of all jobs; those that it cannot hold show up at their end."""
        began = time.monotonic()
        try:
            yield
        except LeaseLostError as error:
            self._end(ledger.LOST, batch, error.lost, began)
        except PASSING as error:
            self.trouble(error)
        else:
            self._end(ledger.EXTENDED, batch, batch.held, began)

    def end(self, end: str, batch: AnyBatch, ids: NDArray[np.int64], note: str = "") -> None:
        """Write down an end that no verb tells."""
        self._end(end, batch, ids, time.monotonic(), note)

    def trouble(self, error: object) -> None:
        """Write down an error that the faults explain."""
        self._ledger.write(ledger.TROUBLE, note=type(error).__name__)

    def wrong(self, note: str) -> None:
        """Write down what no fault explains."""
        self._ledger.write(ledger.WRONG, note=note)

    def stopped(self) -> None:
        """Write down that the process ends by itself."""
        self._ledger.write(ledger.STOPPED)

    def _end(
        self, end: str, batch: AnyBatch, ids: NDArray[np.int64], began: float, note: str = ""
    ) -> None:
        if len(ids):
            self._ledger.write(
                end, began=began, token=batch.token, jobs=_numbers(batch, ids), note=note
            )


class _Troubles(logging.Handler):
    """Writes down what the package says to its logger: a consumer tells no one else."""

    def __init__(self, book: ledger.Ledger, numbers: Mapping[int, int]) -> None:
        super().__init__(logging.WARNING)
        self._book = book
        self._numbers = numbers

    def emit(self, record: logging.LogRecord) -> None:
        lost, attempts = [], []
        if any(isinstance(error, LeaseLostError) for error in record.args or ()):
            fields: Any = record
            for number, attempt in zip(fields.job_ids, fields.job_attempts, strict=True):
                # Of batches that were held ready, nobody has seen the numbers.
                if number in self._numbers:
                    lost.append(self._numbers[number])
                    attempts.append(attempt)
        self._book.write(
            ledger.TROUBLE, jobs=lost, attempts=attempts, note=record.getMessage()[:200]
        )


def _numbers(batch: AnyBatch, ids: NDArray[np.int64]) -> Iterable[int]:
    numbers: Any = batch.columns["n"]
    return numbers[np.isin(batch.ids, ids)].tolist()  # type: ignore[no-any-return]
