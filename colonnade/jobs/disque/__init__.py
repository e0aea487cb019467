"""Jobs in a Disque cluster, over redis-py (the extra ``disque``).

The names here are for asyncio; `colonnade.jobs.disque.sync` has the same for threads.
Each name is imported from its module when it is first used.
"""

from __future__ import annotations

from colonnade._words import lazy_names as _lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from colonnade.jobs.disque import sync as sync
    from colonnade.jobs.disque._async.client import Disque as Disque
    from colonnade.jobs.disque.errors import (
        AlreadyAckedError as AlreadyAckedError,
        AuthenticationError as AuthenticationError,
        BadIdError as BadIdError,
        ClosedError as ClosedError,
        CommandTimeoutError as CommandTimeoutError,
        ConnectionLostError as ConnectionLostError,
        DisqueError as DisqueError,
        LeavingError as LeavingError,
        LoadingError as LoadingError,
        NoJobError as NoJobError,
        NoNodeError as NoNodeError,
        NotReplicatedError as NotReplicatedError,
        OutOfMemoryError as OutOfMemoryError,
        PartlyAddedError as PartlyAddedError,
        PausedError as PausedError,
        QueueFullError as QueueFullError,
        ReplyError as ReplyError,
        ServerError as ServerError,
        TooLateError as TooLateError,
        UnsupportedCommandError as UnsupportedCommandError,
    )
    from colonnade.jobs.disque.rolling_counter import RollingCounter as RollingCounter
    from colonnade.jobs.disque.values import (
        Hello as Hello,
        Job as Job,
        JobInfo as JobInfo,
        NodeInfo as NodeInfo,
        Page as Page,
        QueueStats as QueueStats,
    )

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = _lazy_names.attach(__name__)
