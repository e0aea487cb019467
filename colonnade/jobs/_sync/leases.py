# Generated from colonnade/jobs/_async/leases.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""The batches that a worker holds, and the extension of their leases."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from colonnade.jobs._sync.batch import extend_on
from colonnade.jobs.errors import PASSING, LeaseLostError
from colonnade.jobs.logs import logger, of_jobs

if TYPE_CHECKING:
    import colonnade
    from colonnade.jobs._sync.batch import Batch

# A lease is extended when a third of it has passed, so that one late answer does not lose it.
_EXTENSIONS_PER_LEASE = 3
# An extension that failed, such as of jobs that others have locked, is tried again so soon.
_TRIES_PER_LEASE = 15


class Leases:
    """Extends leases until their batches are settled, whatever their worker is busy with.

    It is a duty of the connection that the worker keeps. Until a job is acknowledged or given back
    it is held, not only while its handler works.
    """

    def __init__(self, lease: float) -> None:
        self.due = math.inf
        """When to extend next, by `time.monotonic`."""
        self.period = lease / _EXTENSIONS_PER_LEASE
        """The seconds between two extensions."""
        self._lease = lease
        self._batches: dict[Batch, None] = {}

    def hold(self, batch: Batch) -> None:
        """Extend the lease of a batch that was got just now."""
        self._batches[batch] = None
        self.due = min(self.due, time.monotonic() + self.period)

    def let_go(self, batch: Batch) -> None:
        """Extend it no longer."""
        self._batches.pop(batch, None)

    def do(self, connection: colonnade.sync.Connection, within: float) -> None:
        """Extend all leases; no statement takes longer than `within`.

        They are due until all were tried. Raises TimeoutError if one is not answered in time.
        """
        pause = self.period
        for batch in tuple(self._batches):
            if not self._is_extended(batch, connection, within):
                pause = self._lease / _TRIES_PER_LEASE
            if connection.is_closed():
                return
        self.due = time.monotonic() + pause if self._batches else math.inf

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
