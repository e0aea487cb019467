"""Transactions as context managers."""

# ruff: noqa: SLF001 - a block is a part of its connection

from __future__ import annotations

from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

    from colonnade.dbapi.connection import Connection

__all__ = ["Transaction"]


class Transaction:
    """A block that commits at its end, or rolls back if it raises.

    Within another transaction it is a savepoint. Made by `Connection.transaction`.
    """

    def __init__(self, connection: Connection, savepoint: str | None, force_rollback: bool) -> None:
        self._connection = connection
        self._savepoint = savepoint
        self._force_rollback = force_rollback
        self._is_outermost = False

    @property
    def connection(self) -> Connection:
        """The connection of the transaction."""
        return self._connection

    @property
    def savepoint_name(self) -> str | None:
        """The name of the savepoint; None if the block is the outermost transaction."""
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
        """Commit, or roll back if the block raised or `force_rollback` is set."""
        is_kept = error is None and not self._force_rollback
        self._connection._leave_block(self._is_outermost, self._savepoint, is_kept)

    def __repr__(self) -> str:
        """The savepoint's name, or `outermost`."""
        return f"<{type(self).__name__} {self._savepoint or 'outermost'}>"
