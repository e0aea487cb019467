"""Queues of jobs without `await`, for threads: the names of `colonnade.jobs`, over a blocking pool.

queue = jobs.sync.create_queue(pool, "emails", {"user_id": "int8", "body": "text"})
"""

from __future__ import annotations

from colonnade._words import lazy_names as _lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    # Type checkers see here what `_HOMES` loads.
    from colonnade.jobs._sync.batch import Batch
    from colonnade.jobs._sync.consumer import Consumer
    from colonnade.jobs._sync.listing import list_queues
    from colonnade.jobs._sync.migrating import migrate_queues, migration_ddl
    from colonnade.jobs._sync.opening import (
        create_queue,
        drop_queue,
        grant_queue,
        open_queue,
        queue_ddl,
        rights_ddl,
    )
    from colonnade.jobs._sync.queue import Queue, get
    from colonnade.jobs.errors import (
        BrokenConsumerError,
        JobsError,
        LeaseLostError,
        PoolTooSmallError,
        QueueDefinitionError,
        QueueFullError,
    )
    from colonnade.jobs.observing import add_observer, remove_observer
    from colonnade.jobs.queue_info import QueueInfo
    from colonnade.jobs.retry import Retry
    from colonnade.jobs.stats import QueueStats
    from colonnade.jobs.tracing import current_trace

_HOMES = _lazy_names.homes_of(
    {
        "colonnade.jobs._sync.batch": "Batch",
        "colonnade.jobs._sync.consumer": "Consumer",
        "colonnade.jobs._sync.listing": "list_queues",
        "colonnade.jobs._sync.migrating": "migrate_queues migration_ddl",
        "colonnade.jobs._sync.opening": (
            "create_queue drop_queue grant_queue open_queue queue_ddl rights_ddl"
        ),
        "colonnade.jobs._sync.queue": "Queue get",
        "colonnade.jobs.errors": (
            "BrokenConsumerError JobsError LeaseLostError PoolTooSmallError QueueDefinitionError"
            " QueueFullError"
        ),
        "colonnade.jobs.observing": "add_observer remove_observer",
        "colonnade.jobs.queue_info": "QueueInfo",
        "colonnade.jobs.retry": "Retry",
        "colonnade.jobs.stats": "QueueStats",
        "colonnade.jobs.tracing": "current_trace",
    }
)

__all__ = [
    "Batch",
    "BrokenConsumerError",
    "Consumer",
    "JobsError",
    "LeaseLostError",
    "PoolTooSmallError",
    "Queue",
    "QueueDefinitionError",
    "QueueFullError",
    "QueueInfo",
    "QueueStats",
    "Retry",
    "add_observer",
    "create_queue",
    "current_trace",
    "drop_queue",
    "get",
    "grant_queue",
    "list_queues",
    "migrate_queues",
    "migration_ddl",
    "open_queue",
    "queue_ddl",
    "remove_observer",
    "rights_ddl",
]

__getattr__ = _lazy_names.loader(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
