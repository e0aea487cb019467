"""The names of `colonnade.jobs.disque`, with the blocking client, for threads."""

from __future__ import annotations

from colonnade.jobs.disque._sync.client import Disque
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
]
