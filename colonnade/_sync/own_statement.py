# Generated from colonnade/_async/own_statement.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""A statement that its caller has prepared, and the status of its last run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from colonnade import _core


class OwnStatement:
    """The current server statement behind a `PreparedStatement`."""

    def __init__(self, statement: _core.Statement) -> None:
        self.statement = statement
        self.status: str | None = None

    def take_note(self, completion: _core.Completion) -> None:
        """Update from the end of a run."""
        self.status = completion.tag
        if completion.statement is not None:
            # One of its types was found to be altered.
            self.statement = completion.statement
