"""What a connection must forget when a table or a type is altered.

A connection keeps prepared statements, and what it knows of types. The server refuses a statement
whose result was altered since, which a transaction does not survive; so all connections of this
process forget theirs when one of them has altered something.
"""

from __future__ import annotations

from itertools import count

# What may alter the result of a statement that is prepared, by the first word of its status, or by
# the whole of it where other objects are of no account.
_ALTERING = {"ALTER", "DROP", "CREATE FUNCTION", "CREATE VIEW"}
# What does so only when it is undone, and a table of the same name is made after it.
_MAKING = {"CREATE"}

_numbers = count(1)
_last = 0


def is_altering(status: str) -> bool:
    """Whether a command with this status may have altered what statements give."""
    return not _ALTERING.isdisjoint((status, status.partition(" ")[0]))


def is_making(status: str) -> bool:
    """Whether a command with this status has made something that a rollback takes away again."""
    return status.partition(" ")[0] in _MAKING


def announce() -> None:
    """Have all connections of this process forget, each before its next statement."""
    global _last  # noqa: PLW0603 - one number for the process
    _last = next(_numbers)


def last() -> int:
    """The number of the last announcement."""
    return _last
