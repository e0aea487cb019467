"""The records that the queues of this process write to the logger `colonnade.jobs`.

Each record has the queue as fields of its own, and if it is about jobs, their ids and attempts.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from colonnade.jobs.definition import Definition

logger = logging.getLogger("colonnade.jobs")


def of_queue(definition: Definition) -> dict[str, Any]:
    """The fields of a record about a queue, for `extra`."""
    return {"job_schema": definition.schema, "job_queue": definition.name}


class Jobs(Protocol):
    """Jobs that were got together, as a batch has them."""

    queue: Any

    @property
    def ids(self) -> NDArray[np.int64]:
        """The ids of the jobs."""
        raise NotImplementedError

    @property
    def attempts(self) -> NDArray[np.int16]:
        """How often each was handed out."""
        raise NotImplementedError


def of_jobs(batch: Jobs, ids: NDArray[np.int64] | Sequence[int]) -> dict[str, Any]:
    """The fields of a record about jobs of a batch: an element of `job_attempts` for each id."""
    import numpy as np

    is_meant = np.isin(batch.ids, ids)
    return {
        **of_queue(batch.queue.definition),
        "job_ids": batch.ids[is_meant].tolist(),
        "job_attempts": batch.attempts[is_meant].tolist(),
    }
