"""Announcements of changed tables and types to all connections of the process.

A connection caches prepared statements and types. If a table changes, the server refuses a cached
statement whose result type is outdated, and this fails the transaction. So when one connection
changes something, all connections of this process drop their caches.
"""

from __future__ import annotations

from itertools import count

# Tags, or their first words, of commands that may change a prepared statement's result type.
_ALTERING = {"ALTER", "DROP", "CREATE FUNCTION", "CREATE VIEW"}
# Commands that do so only if they are rolled back and then another table of that name is created.
_MAKING = {"CREATE"}

_numbers = count(1)
_last = 0


def is_altering(status: str) -> bool:
    """Return whether a command of this tag may have changed the result types of statements."""
    return not _ALTERING.isdisjoint((status, status.partition(" ")[0]))


def is_making(status: str) -> bool:
    """Return whether a command of this tag has created an object that a rollback removes."""
    return status.partition(" ")[0] in _MAKING


def announce() -> None:
    """Make each connection of this process drop its caches before its next statement."""
    global _last  # noqa: PLW0603 - one number for the process
    _last = next(_numbers)


def last() -> int:
    """Return the number of the last announcement."""
    return _last
