# Generated from colonnade/_async/reset.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Taking a session back to what it was after the connection was made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from colonnade._sync.conversation import Conversation

    class Resettable(Protocol):
        """A connection, whose class may have a reset query of its own."""

        conversation: Conversation

        def get_reset_query(self) -> str: ...


# What a server has that must be undone, the statement that does it, and the run-time parameters by
# which the servers are known that lack it: Redshift, CockroachDB and CrateDB.
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
    """The statements that undo what this server has."""
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
    """The statements that `reset` runs, and a pool each time a connection is given back.

    A subclass of Connection can return others; an empty text stands for none. Servers that
    only speak PostgreSQL's protocol are spared the statements that they do not know.
    """
    return usual_reset_query(self.conversation)


def reset(self: Resettable, *, timeout: float | None = None) -> None:
    """Take the session back to what it was: listeners, transaction, locks, cursors, settings.

    Callbacks for notifications and for messages of the server are forgotten, an open
    transaction is rolled back and reported to the loop's exception handler, and the statements
    of `get_reset_query` are run.
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
    """Within an operation: roll back what was left open."""
    transaction, conversation.transaction = conversation.transaction, None
    if not conversation.is_in_transaction:
        return
    del transaction
    conversation.script("ROLLBACK")
