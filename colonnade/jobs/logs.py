"""The records that the queues of this process write to the logger `colonnade.jobs`.

Each record has the queue as fields of its own, and if it is about jobs, their ids and attempts.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from colonnade.jobs._async.batch import Batch
    from colonnade.jobs._sync.batch import Batch as BlockingBatch
    from colonnade.jobs.definition import Definition

logger = logging.getLogger("colonnade.jobs")


def of_queue(definition: Definition) -> dict[str, Any]:
    """The fields of a record about a queue, for `extra`."""
    return {"job_schema": definition.schema, "job_queue": definition.name}


def of_jobs(batch: Batch | BlockingBatch, ids: NDArray[np.int64] | Sequence[int]) -> dict[str, Any]:
    """The fields of a record about jobs of a batch: an element of `job_attempts` for each id."""
    import numpy as np

    is_meant = np.isin(batch.ids, ids)
    return {
        **of_queue(batch.queue.definition),
        "job_ids": batch.ids[is_meant].tolist(),
        "job_attempts": batch.attempts[is_meant].tolist(),
    }
