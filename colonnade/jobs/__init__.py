"""Queues of jobs in PostgreSQL, which enter as a table and leave as columns.

    queue = await jobs.create_queue(pool, "emails", {"user_id": "int8", "body": "text"})
    await queue.add({"user_id": [1, 2], "body": ["a", "b"]})
    batch = await queue.get(limit=1000, lease=60.0)
    ...  # batch.columns has user_id, body, and job_id
    await batch.ack()

`colonnade.jobs.sync` has the same names for threads. `colonnade docs jobs` says what each verb
guarantees. Each name is imported from its module when it is first used; the modules use public
names of the driver only.
"""

from __future__ import annotations

from colonnade._words import lazy_names as _lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    # Type checkers see here what `_HOMES` loads.
    from colonnade.jobs import sync
    from colonnade.jobs._async.batch import Batch
    from colonnade.jobs._async.consumer import Consumer
    from colonnade.jobs._async.listing import list_queues
    from colonnade.jobs._async.migrating import migrate_queues, migration_ddl
    from colonnade.jobs._async.opening import (
        create_queue,
        drop_queue,
        grant_queue,
        open_queue,
        queue_ddl,
        rights_ddl,
    )
    from colonnade.jobs._async.queue import Queue, get
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
        "colonnade.jobs._async.batch": "Batch",
        "colonnade.jobs._async.consumer": "Consumer",
        "colonnade.jobs._async.listing": "list_queues",
        "colonnade.jobs._async.migrating": "migrate_queues migration_ddl",
        "colonnade.jobs._async.opening": (
            "create_queue drop_queue grant_queue open_queue queue_ddl rights_ddl"
        ),
        "colonnade.jobs._async.queue": "Queue get",
        "colonnade.jobs.errors": (
            "BrokenConsumerError JobsError LeaseLostError PoolTooSmallError QueueDefinitionError"
            " QueueFullError"
        ),
        "colonnade.jobs.observing": "add_observer remove_observer",
        "colonnade.jobs.queue_info": "QueueInfo",
        "colonnade.jobs.retry": "Retry",
        "colonnade.jobs.stats": "QueueStats",
        "colonnade.jobs.tracing": "current_trace",
        "colonnade.jobs.sync": "sync",
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
    "sync",
]

__getattr__ = _lazy_names.loader(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
