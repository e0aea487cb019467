# Generated from colonnade/_async/reset.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Returning a session to its state right after connecting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from colonnade._sync.conversation import Conversation

    class Resettable(Protocol):
        """A connection, whose class may have a reset query of its own."""

        conversation: Conversation

        def get_reset_query(self) -> str: ...


# Features of a server that a reset must undo, with the statement for each, and the run-time
# parameters that identify servers without them: Redshift, CockroachDB and CrateDB.
_STATEMENTS = (
    (
        "SELECT pg_catalog.pg_advisory_unlock_all();",
        ("padb_revision", "crdb_version", "crate_version"),
    ),
    ("CLOSE ALL;", ("padb_revision", "crdb_version", "crate_version")),
    ("UNLISTEN *;", ("padb_revision", "crdb_version", "crate_version")),
    ("RESET ALL;", ("crdb_version", "crate_version")),
)


def usual_reset_query(conversation: Conversation) -> str:
    """The reset statements for the features of this server."""
    if conversation.reset_query is None:
        known = conversation.session.parameters
        lines = (
            statement
            for statement, lacking in _STATEMENTS
            if not any(name in known for name in lacking)
        )
        conversation.reset_query = "\n".join(lines)
    return conversation.reset_query


def get_reset_query(self: Resettable) -> str:
    """The statements that `reset` runs, and that a pool runs when a connection is given back.

    A subclass of Connection can return others; an empty text means none. Servers that only imitate
    PostgreSQL do not get the statements that they do not support.
    """
    return usual_reset_query(self.conversation)


def reset(self: Resettable, *, timeout: float | None = None) -> None:
    """Return the session to its initial state: listeners, transaction, locks, cursors, settings.

    Callbacks for notifications and for messages of the server are removed, an open transaction is
    rolled back and reported to the loop's exception handler, and the statements of
    `get_reset_query` are run.
    """
    conversation = self.conversation
    conversation.callbacks.forget_listeners()
    query = self.get_reset_query()
    conversation.end_stream()
    with conversation.operation(timeout):
        undo_transaction(conversation)
        if query:
            conversation.script(query)
    if query == usual_reset_query(conversation):
        conversation.session.mark_untouched()


def undo_transaction(conversation: Conversation) -> None:
    """Within an operation: roll back a transaction that was left open."""
    transaction, conversation.transaction = conversation.transaction, None
    if not conversation.is_in_transaction:
        return
    del transaction
    conversation.script("ROLLBACK")
