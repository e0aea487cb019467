"""Returning a session to its state right after connecting."""

from __future__ import annotations

# async-only: begin
import asyncio

# async-only: end
from typing import TYPE_CHECKING, Protocol

from colonnade._driver.sql.quoting import quote_identifier

if TYPE_CHECKING:
    from colonnade._driver._async.conversation import Conversation

    class Resettable(Protocol):
        """A connection, whose class may have a reset query of its own."""

        conversation: Conversation

        def get_reset_query(self) -> str: ...


# `RESET ALL` keeps the session's user and role, so these come first: the rest runs as the log-in.
_LOG_IN = "RESET SESSION AUTHORIZATION;\nRESET ROLE;"
_LOCKS = "SELECT pg_catalog.pg_advisory_unlock_all();"
_STATE = "CLOSE ALL;\nUNLISTEN *;\nRESET ALL;"
# A table left behind would stand for the one of that name in all queries of the next owner.
_TEMPORARY = "DISCARD TEMP;"
_USUAL = f"{_LOG_IN}\n{_LOCKS}\n{_STATE}\n{_TEMPORARY}"

# Servers that only imitate PostgreSQL, by a run-time parameter: Redshift, CockroachDB and CrateDB.
_OF_IMITATIONS = {"padb_revision": "RESET ALL;", "crdb_version": "", "crate_version": ""}

_KEPT = (
    "SELECT pg_catalog.current_setting('session_authorization'),"
    " pg_catalog.current_setting('role'),"
    " pg_catalog.pg_my_temp_schema() OPERATOR(pg_catalog.<>) 0::pg_catalog.oid"
)


def usual_reset_query(conversation: Conversation) -> str:
    """The reset statements for the features of this server."""
    if conversation.reset_query is None:
        known = conversation.session.parameters
        imitated = (query for name, query in _OF_IMITATIONS.items() if name in known)
        conversation.reset_query = next(imitated, _USUAL)
    return conversation.reset_query


async def keep_initial(self: Resettable) -> None:
    """Let every later reset keep the role and the temporary tables that the session has now.

    A pool calls it after the user's `init`, which is called only once for each connection.
    """
    session, conversation = self.conversation.session, self.conversation
    is_settled = session.is_untouched or session.is_closed or conversation.is_in_transaction
    if is_settled or usual_reset_query(conversation) != _USUAL:
        return
    async with conversation.operation(None):
        user, role, has_temporary = (await conversation.plain_rows(_KEPT, ()))[0]
    conversation.reset_query = "\n".join(
        (
            f"SET SESSION AUTHORIZATION {quote_identifier(user)};",
            "SET ROLE NONE;" if role == "none" else f"SET ROLE {quote_identifier(role)};",
            _LOCKS,
            _STATE,
            *(() if has_temporary else (_TEMPORARY,)),
        )
    )


def get_reset_query(self: Resettable) -> str:
    """The statements that `reset` runs, and that a pool runs when a connection is given back.

    A subclass of Connection can return others; an empty text means none. Servers that only imitate
    PostgreSQL do not get the statements that they do not support.
    """
    return usual_reset_query(self.conversation)


async def reset(self: Resettable, *, timeout: float | None = None) -> None:
    """Return the session to its initial state.

    That is the role of the log-in; no listeners, transaction, locks, cursors and temporary tables;
    and the settings of the start.

    Callbacks for notifications and for messages of the server are removed, an open transaction is
    rolled back and reported to the loop's exception handler, and the statements of
    `get_reset_query` are run.
    """
    conversation = self.conversation
    conversation.callbacks.forget_listeners()
    query = self.get_reset_query()
    conversation.end_stream()
    async with conversation.operation(timeout):
        await undo_transaction(conversation)
        if query:
            await conversation.script(query)
    if query == usual_reset_query(conversation):
        conversation.session.mark_untouched()


async def undo_transaction(conversation: Conversation) -> None:
    """Within an operation: roll back a transaction that was left open."""
    transaction, conversation.transaction = conversation.transaction, None
    if not conversation.is_in_transaction:
        return
    # async-only: begin
    if transaction is None or not transaction.is_managed:
        connection = conversation.callbacks.connection
        message = f"Resetting connection with an active transaction {connection!r}"
        asyncio.get_running_loop().call_exception_handler({"message": message})
    # async-only: end
    del transaction
    await conversation.script("ROLLBACK")
