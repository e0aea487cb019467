"""How transactions begin, what their first statement may do again, and whether one was prepared."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, TypeVar

from colonnade._pep249.errors import InternalError, ProgrammingError
from colonnade._shown import shown
from colonnade.errors import (
    InternalServerError,
    InvalidCachedStatementError,
    OutdatedTypeError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "IsolationLevel",
    "TransactionOptions",
    "check_prepared",
    "checked_level",
    "is_stale",
    "run_in_transaction",
]

R = TypeVar("R")


class IsolationLevel(enum.IntEnum):
    """How much a transaction sees of others."""

    READ_UNCOMMITTED = 1
    READ_COMMITTED = 2
    REPEATABLE_READ = 3
    SERIALIZABLE = 4


class TransactionOptions:
    """How the transactions of a connection begin; None leaves it to the server."""

    def __init__(self) -> None:
        self.isolation_level: IsolationLevel | None = None
        self.read_only: bool | None = None
        self.deferrable: bool | None = None

    @property
    def may_be_refused(self) -> bool:
        """Whether a server may refuse to begin so: one in recovery takes no such transactions."""
        is_serializable = self.isolation_level is IsolationLevel.SERIALIZABLE
        return is_serializable or self.read_only is False

    def begin(self) -> str:
        """The command."""
        words = ["BEGIN"]
        if self.isolation_level is not None:
            words.append(f"ISOLATION LEVEL {self.isolation_level.name.replace('_', ' ')}")
        if self.read_only is not None:
            words.append("READ ONLY" if self.read_only else "READ WRITE")
        if self.deferrable is not None:
            words.append("DEFERRABLE" if self.deferrable else "NOT DEFERRABLE")
        return " ".join(words)


def checked_level(level: object) -> IsolationLevel | None:
    """The level as one of the enumeration. Raises ProgrammingError for one that is not in it."""
    if level is None:
        return None
    # Not by a look-up in the enum, whose error asks the object for its text.
    for known in IsolationLevel:
        if isinstance(level, int) and level == known:
            return known
    names = ", ".join(each.name for each in IsolationLevel)
    raise ProgrammingError(f"isolation_level is one of {names}, not {shown(level)}")


def run_in_transaction(
    begin: Callable[[], bool], run: Callable[[], R], undo: Callable[[], bool]
) -> R:
    """Run a statement in a transaction, and once more where it is stale and nothing is lost by it.

    `begin` opens a transaction where one is wanted and none is open, and answers whether it did.
    The driver repeats a stale statement by itself only outside of transactions, because it cannot
    know what else a transaction holds. One that was begun for this very statement holds nothing
    else. So `undo` rolls it back, forgets what is known of statements and types, and answers
    whether it could.
    """
    has_begun = begin()
    try:
        return run()
    except Exception as error:
        if not has_begun or not is_stale(error) or not undo():
            raise
    begin()
    return run()


def is_stale(error: Exception) -> bool:
    """Whether the server, or a value, says that something was altered since it was prepared."""
    if isinstance(error, InternalServerError):
        return "cache lookup failed" in str(error)
    return isinstance(error, InvalidCachedStatementError | OutdatedTypeError)


def check_prepared(status: str) -> None:
    """Raise InternalError where PREPARE TRANSACTION was answered by a rollback.

    So the server answers, without an error, in a transaction that has failed.
    """
    if status != "PREPARE TRANSACTION":
        raise InternalError(
            "the transaction had failed before, and was rolled back instead of prepared"
        )
