"""The errors of queues of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade.errors import InterfaceError, InternalClientError, PostgresError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# The errors that a worker survives: it tries again, and leases bring back unsettled jobs.
PASSING = (OSError, PostgresError, InternalClientError, InterfaceError)


class JobsError(Exception):
    """A queue of jobs refused; subclasses say why."""


class BrokenConsumerError(JobsError):
    """A consumer has ended, and neither was it stopped nor is its work done."""


class PoolTooSmallError(JobsError):
    """A consumer's pool has too few connections; `needed` is the least `max_size`."""

    def __init__(self, size: int, needed: int) -> None:
        super().__init__(
            f"a consumer needs a pool of at least {needed} connections, and this one has {size}: "
            "one is kept for leases and notifications, the others are for jobs and handlers; "
            f"create_pool(max_size={needed}) is the least"
        )
        self.needed = needed


class QueueDefinitionError(JobsError):
    """A queue does not exist, exists with another definition or layout, or may be a stranger's."""


class QueueFullError(JobsError):
    """The jobs would exceed the queue's maximum length; none of them was added."""

    def __init__(self, queue: str, max_length: int) -> None:
        super().__init__(
            f"the queue {queue} would be longer than its max_length of {max_length}: "
            "none of the jobs was added"
        )
        self.queue = queue
        self.max_length = max_length


class LeaseLostError(JobsError):
    """Some jobs of a batch are no longer leased by it: they were not touched.

    Their lease ended and another worker took them, or somebody replaced, requeued or purged them.
    `lost` has their ids, an array of int64. For all other jobs the call has succeeded.
    """

    def __init__(self, queue: str, lost: NDArray[np.int64], asked: int) -> None:
        some = ", ".join(str(number) for number in lost[:10].tolist())
        more = ", ..." if len(lost) > 10 else ""  # noqa: PLR2004 - enough for a message
        super().__init__(
            f"{len(lost)} of {asked} jobs of the queue {queue} are not leased by this batch any "
            f"more: {some}{more}. Their lease has ended and they may run elsewhere; "
            "use a longer lease, or extend it while the work lasts"
        )
        self.queue = queue
        self.lost = lost
        self.asked = asked
