"""How transactions begin, when a first statement is repeated, and the check of a PREPARE."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, TypeVar

from colonnade._pep249.errors import InternalError, ProgrammingError
from colonnade._words.shown import shown
from colonnade.errors import (
    InvalidCachedStatementError,
    OutdatedTypeError,
    PostgresError,
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
    """PostgreSQL's isolation levels."""

    READ_UNCOMMITTED = 1
    READ_COMMITTED = 2
    REPEATABLE_READ = 3
    SERIALIZABLE = 4


class TransactionOptions:
    """The modes in which a connection's transactions begin; None means the server's default."""

    def __init__(self) -> None:
        self.isolation_level: IsolationLevel | None = None
        self.read_only: bool | None = None
        self.deferrable: bool | None = None

    @property
    def may_be_refused(self) -> bool:
        """Whether BEGIN may fail: a server in recovery refuses SERIALIZABLE and READ WRITE."""
        is_serializable = self.isolation_level is IsolationLevel.SERIALIZABLE
        return is_serializable or self.read_only is False

    def begin(self) -> str:
        """Return the BEGIN command."""
        words = ["BEGIN"]
        if self.isolation_level is not None:
            words.append(f"ISOLATION LEVEL {self.isolation_level.name.replace('_', ' ')}")
        if self.read_only is not None:
            words.append("READ ONLY" if self.read_only else "READ WRITE")
        if self.deferrable is not None:
            words.append("DEFERRABLE" if self.deferrable else "NOT DEFERRABLE")
        return " ".join(words)


def checked_level(level: object) -> IsolationLevel | None:
    """Return the level as an IsolationLevel. Raises ProgrammingError for any other value."""
    if level is None:
        return None
    # IsolationLevel(level) would call repr() of a foreign object for its error message.
    for known in IsolationLevel:
        if isinstance(level, int) and level == known:
            return known
    names = ", ".join(each.name for each in IsolationLevel)
    raise ProgrammingError(f"isolation_level must be one of {names}, not {shown(level)}")


def run_in_transaction(
    begin: Callable[[], bool], run: Callable[[], R], undo: Callable[[], bool]
) -> R:
    """Run a statement in a transaction; repeat it once if it was stale and began the transaction.

    `begin` begins a transaction if one is needed, and returns whether it did. The driver itself
    repeats a stale statement only outside of transactions, because a repeat would lose a
    transaction's earlier statements. A transaction that was begun for this statement has none, so
    it is safe to repeat: `undo` rolls the transaction back, and returns whether it could.
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
    """Return whether a new description of the statement may end the error."""
    if isinstance(error, InvalidCachedStatementError | OutdatedTypeError):
        return True
    return isinstance(error, PostgresError) and error.is_outdated


def check_prepared(status: str) -> None:
    """Raise InternalError if the server answered PREPARE TRANSACTION with ROLLBACK.

    In a failed transaction it does so without an error.
    """
    if status != "PREPARE TRANSACTION":
        raise InternalError(
            "the transaction had already failed: the server rolled it back instead of preparing it"
        )
