"""Deeds that no handler should do, by chance: to its pool, loop, rows and worker."""

from __future__ import annotations

import asyncio
import enum
import threading
from typing import TYPE_CHECKING

from tests.jobs.chaos.plan import QUEUE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.jobs.chaos.plan import Layout
    from tests.jobs.chaos.scribe import AnyBatch, Scribe


class Deed(enum.Enum):
    """A deed of a handler."""

    TAKE_POOL = "takes all connections of its pool"
    BLOCK = "blocks its thread, and a loop in it, for less than its lease"
    BLOCK_LONG = "blocks it for longer than its lease"
    HOLD_ROWS = "locks what settles its jobs, and returns before or after the end of that"
    CANCELLED = "raises CancelledError"
    EXIT = "raises SystemExit"
    GROUP = "raises a group that is no Exception"
    UNTOLD = "raises an error whose text is an error"
    OWN = "raises what is no Exception"


# Deed -> the least and the most part of a lease that it takes.
_PARTS = {
    Deed.TAKE_POOL: (0.2, 1.6),
    Deed.BLOCK: (0.1, 0.6),
    Deed.BLOCK_LONG: (1.1, 1.8),
    Deed.HOLD_ROWS: (0.2, 1.2),
}
_CHANCES = {
    None: 70,
    Deed.TAKE_POOL: 5,
    Deed.BLOCK: 5,
    Deed.BLOCK_LONG: 3,
    Deed.HOLD_ROWS: 5,
    Deed.CANCELLED: 3,
    Deed.EXIT: 3,
    Deed.GROUP: 2,
    Deed.UNTOLD: 2,
    Deed.OWN: 2,
}
# In a transaction of the handler's own, whatever the session's defaults are.
OWN_SETTINGS = "SET TRANSACTION READ WRITE; SET LOCAL idle_in_transaction_session_timeout = 0"
# A handler that takes a whole pool gives up so soon, because two at once never have it.
TAKEN_WITHIN_S = 0.1


class OwnError(BaseException):
    """No Exception, so that `except Exception` lets it through."""


class UntoldError(Exception):
    """An error without a text."""

    def __str__(self) -> str:
        raise ValueError("no text")


_ERRORS: dict[Deed, Callable[[], BaseException]] = {
    Deed.CANCELLED: asyncio.CancelledError,
    Deed.EXIT: SystemExit,
    Deed.GROUP: lambda: BaseExceptionGroup("several", [SystemExit(1), OwnError()]),
    Deed.UNTOLD: UntoldError,
    Deed.OWN: OwnError,
}


def error_of(deed: Deed | None) -> BaseException | None:
    """The exception that the handler raises at its end, if that is its deed."""
    return None if deed not in _ERRORS else _ERRORS[deed]()


def deed_of(scribe: Scribe) -> tuple[Deed | None, float]:
    """Choose a deed, or none, and its seconds."""
    if not scribe.assignment.is_hostile:
        return None, 0.0
    deed = scribe.choice(_CHANCES)
    if deed is None:
        return None, 0.0
    least, most = _PARTS.get(deed, (0.0, 0.0))
    return deed, scribe.seconds(least, most) * scribe.assignment.lease


def block(seconds: float) -> None:
    """Keep the thread, and with it a loop, busy."""
    threading.Event().wait(seconds)


def lock_sql(layout: Layout) -> str:
    """The query that locks what settles the jobs of a batch, by its token."""
    table = QUEUE if layout == "rows" else f"{QUEUE}_r"
    return f"SELECT FROM jobs.{table} WHERE job_token = $1 FOR UPDATE"


def token_of(batch: AnyBatch) -> int:
    """The number of the batch's lease."""
    assert batch.token is not None
    return batch.token
