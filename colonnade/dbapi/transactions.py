"""Transactions: when they begin, how they are, and blocks of them."""

# ruff: noqa: SLF001 - a block is a part of its connection

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Self

from colonnade._shown import shown
from colonnade.dbapi.errors import ProgrammingError

if TYPE_CHECKING:
    from types import TracebackType

    from colonnade.dbapi.connection import Connection

__all__ = ["IsolationLevel", "Transaction", "TransactionOptions"]


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


class Transaction:
    """A block that is committed at its end, or rolled back where an exception leaves it.

    Within another transaction it is a savepoint. Made by `Connection.transaction`.
    """

    def __init__(self, connection: Connection, savepoint: str | None, force_rollback: bool) -> None:
        self._connection = connection
        self._savepoint = savepoint
        self._force_rollback = force_rollback
        self._is_outermost = False

    @property
    def connection(self) -> Connection:
        """The connection that it is on."""
        return self._connection

    @property
    def savepoint_name(self) -> str | None:
        """The name of its savepoint; None where it is the transaction itself."""
        return self._savepoint

    def __enter__(self) -> Self:
        """Begin the transaction, or set the savepoint."""
        begun = self._connection._enter_block(self._savepoint)
        self._is_outermost, self._savepoint = begun
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Commit, or roll back."""
        is_kept = error is None and not self._force_rollback
        self._connection._leave_block(self._is_outermost, self._savepoint, is_kept)

    def __repr__(self) -> str:
        """Its savepoint, if any."""
        return f"<{type(self).__name__} {self._savepoint or 'outermost'}>"


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
