"""Jobs in a Disque cluster, over redis-py (the extra ``disque``).

The names here are for asyncio; `colonnade.jobs.disque.sync` has the same for threads.
Each name is imported from its module when it is first used.
"""

from __future__ import annotations

from colonnade._words import lazy_names as _lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    # Type checkers see here what `_HOMES` loads.
    from colonnade.jobs.disque import sync
    from colonnade.jobs.disque._async.client import Disque
    from colonnade.jobs.disque.errors import (
        AlreadyAckedError,
        AuthenticationError,
        BadIdError,
        ClosedError,
        CommandTimeoutError,
        ConnectionLostError,
        DisqueError,
        LeavingError,
        LoadingError,
        NoJobError,
        NoNodeError,
        NotReplicatedError,
        OutOfMemoryError,
        PartlyAddedError,
        PausedError,
        QueueFullError,
        ReplyError,
        ServerError,
        TooLateError,
        UnsupportedCommandError,
    )
    from colonnade.jobs.disque.rolling_counter import RollingCounter
    from colonnade.jobs.disque.values import Hello, Job, JobInfo, NodeInfo, Page, QueueStats

_HOMES = _lazy_names.homes_of(
    {
        "colonnade.jobs.disque._async.client": "Disque",
        "colonnade.jobs.disque.errors": (
            "AlreadyAckedError AuthenticationError BadIdError ClosedError CommandTimeoutError"
            " ConnectionLostError DisqueError LeavingError LoadingError NoJobError NoNodeError"
            " NotReplicatedError OutOfMemoryError PartlyAddedError PausedError QueueFullError"
            " ReplyError ServerError TooLateError UnsupportedCommandError"
        ),
        "colonnade.jobs.disque.rolling_counter": "RollingCounter",
        "colonnade.jobs.disque.values": "Hello Job JobInfo NodeInfo Page QueueStats",
        "colonnade.jobs.disque.sync": "sync",
    }
)

__all__ = [
    "AlreadyAckedError",
    "AuthenticationError",
    "BadIdError",
    "ClosedError",
    "CommandTimeoutError",
    "ConnectionLostError",
    "Disque",
    "DisqueError",
    "Hello",
    "Job",
    "JobInfo",
    "LeavingError",
    "LoadingError",
    "NoJobError",
    "NoNodeError",
    "NodeInfo",
    "NotReplicatedError",
    "OutOfMemoryError",
    "Page",
    "PartlyAddedError",
    "PausedError",
    "QueueFullError",
    "QueueStats",
    "ReplyError",
    "RollingCounter",
    "ServerError",
    "TooLateError",
    "UnsupportedCommandError",
    "sync",
]

__getattr__ = _lazy_names.loader(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
