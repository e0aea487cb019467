"""Queues of jobs without `await`, for threads: the names of `colonnade.jobs`, over a blocking pool.

queue = jobs.sync.create_queue(pool, "emails", {"user_id": "int8", "body": "text"})
"""

from __future__ import annotations

from colonnade._words import lazy_names as _lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from colonnade.jobs._sync.batch import Batch as Batch
    from colonnade.jobs._sync.consumer import Consumer as Consumer
    from colonnade.jobs._sync.listing import list_queues as list_queues
    from colonnade.jobs._sync.migrating import (
        migrate_queues as migrate_queues,
        migration_ddl as migration_ddl,
    )
    from colonnade.jobs._sync.opening import (
        create_queue as create_queue,
        drop_queue as drop_queue,
        grant_queue as grant_queue,
        open_queue as open_queue,
        queue_ddl as queue_ddl,
        rights_ddl as rights_ddl,
    )
    from colonnade.jobs._sync.queue import Queue as Queue, get as get
    from colonnade.jobs.errors import (
        BrokenConsumerError as BrokenConsumerError,
        JobsError as JobsError,
        LeaseLostError as LeaseLostError,
        PoolTooSmallError as PoolTooSmallError,
        QueueDefinitionError as QueueDefinitionError,
        QueueFullError as QueueFullError,
    )
    from colonnade.jobs.observing import (
        add_observer as add_observer,
        remove_observer as remove_observer,
    )
    from colonnade.jobs.queue_info import QueueInfo as QueueInfo
    from colonnade.jobs.retry import Retry as Retry
    from colonnade.jobs.stats import QueueStats as QueueStats
    from colonnade.jobs.tracing import current_trace as current_trace

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = _lazy_names.attach(__name__)
