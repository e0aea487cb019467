# Generated from colonnade/jobs/_async/leases.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""The batches that a worker holds, and the extension of their leases."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from colonnade.jobs._sync.batch import extend_on
from colonnade.jobs.errors import PASSING, LeaseLostError
from colonnade.jobs.logs import logger, of_jobs

if TYPE_CHECKING:
    import colonnade
    from colonnade.jobs._sync.batch import Batch

# A lease is extended when a third of it has passed, so that one late answer does not lose it.
EXTENSIONS_PER_LEASE = 3
# A failed extension, for example of jobs that others have locked, has this many tries per lease.
_TRIES_PER_LEASE = 15


@dataclass
class _Next:
    """The next extension of a lease."""

    due: float
    """Its time, by `time.monotonic`."""


class Leases:
    """Extends leases until their batches are settled, however busy their worker is.

    It is a duty of the connection that the worker keeps. Until a job is acknowledged or given back
    it is held, not only while its handler works.
    """

    def __init__(self, lease: float) -> None:
        self.period = lease / EXTENSIONS_PER_LEASE
        """The seconds between two extensions."""
        self._lease = lease
        self._batches: dict[Batch, _Next] = {}

    @property
    def due(self) -> float:
        """When to extend next, by `time.monotonic`."""
        return min((extension.due for extension in tuple(self._batches.values())), default=math.inf)

    @property
    def is_late(self) -> bool:
        """Whether an extension is due."""
        return self.due <= time.monotonic()

    def hold(self, batch: Batch) -> None:
        """Extend the lease of a batch, whose answer may have waited for a busy loop."""
        passed = 0.0
        if batch.until is not None:
            left = (batch.until - datetime.now(UTC)).total_seconds()
            passed = max(self._lease - left, 0.0)
        self._batches[batch] = _Next(time.monotonic() + self.period - passed)

    def let_go(self, batch: Batch) -> None:
        """Stop extending it."""
        self._batches.pop(batch, None)

    def do(self, connection: colonnade.sync.Connection, within: float) -> None:
        """Extend all leases; no statement takes longer than `within`.

        A lease is due until it was tried. Raises TimeoutError if one is not answered in time.
        """
        for batch, extension in tuple(self._batches.items()):
            began = time.monotonic()
            is_extended = self._is_extended(batch, connection, within)
            extension.due = began + (self.period if is_extended else self._lease / _TRIES_PER_LEASE)
            if connection.is_closed():
                return

    def _is_extended(
        self, batch: Batch, connection: colonnade.sync.Connection, within: float
    ) -> bool:
        try:
            return extend_on(connection, batch, self._lease, within)
        except LeaseLostError as error:
            logger.warning("%s", error, extra=of_jobs(batch, error.lost))
            return True
        except PASSING as error:
            logger.warning(
                "the leases of a batch of the queue %s were not extended: %r",
                *(batch.queue.definition, error),
                extra=of_jobs(batch, batch.held),
            )
            if isinstance(error, TimeoutError):
                raise
            return False
