"""How transactions begin, and whether one was prepared."""

from __future__ import annotations

import enum

from colonnade._pep249.errors import InternalError, ProgrammingError
from colonnade._shown import shown

__all__ = ["IsolationLevel", "TransactionOptions", "check_prepared", "checked_level"]


class IsolationLevel(enum.IntEnum):
    """What a transaction sees of others."""

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


def check_prepared(status: str) -> None:
    """Raise InternalError where PREPARE TRANSACTION was answered by a rollback.

    So the server answers, without an error, in a transaction that has failed.
    """
    if status != "PREPARE TRANSACTION":
        raise InternalError(
            "the transaction had failed before, and was rolled back instead of prepared"
        )
