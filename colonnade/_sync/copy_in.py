# Generated from colonnade/_async/copy_in.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Steps of every COPY into a table: begin, end, a staging table, a transaction of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade import _core
from colonnade._transport.blocking import RECOVERY_TIMEOUT_S
from colonnade._transport.event import impossible
from colonnade.errors import PostgresError

if TYPE_CHECKING:
    from colonnade._staging import OwnTransaction, Staging
    from colonnade._sync.conversation import Conversation


def begin_copy_in(conversation: Conversation, statement: str) -> None:
    """Ask the server to accept data."""
    conversation.session.copy_in(statement)
    event = conversation.transport.next_event()
    if not isinstance(event, _core.CopyIn):
        raise impossible("that the server asks for data", event)


def end_copy_in(conversation: Conversation) -> str:
    """End the data, and wait for the status."""
    conversation.session.copy_done()
    return (conversation.completion()).tag or ""


def open_staging(conversation: Conversation, staging: Staging) -> None:
    """Make the staging table."""
    conversation.script(staging.create)
    conversation.script(staging.check)


def close_staging(conversation: Conversation, staging: Staging) -> str:
    """Insert the rows from the staging table."""
    try:
        status = conversation.script(staging.insert)
    except PostgresError as error:
        staging.note_on(error)
        raise
    conversation.script(staging.drop)
    return status


def begin_own(conversation: Conversation, own: OwnTransaction) -> None:
    """Begin a transaction unless one is open; it must be committed or rolled back."""
    if not conversation.is_in_transaction:
        own.has_begun = True
        conversation.script("BEGIN")


def commit_own(conversation: Conversation, own: OwnTransaction) -> None:
    """Commit the transaction begun here, if any."""
    if own.has_begun:
        conversation.script("COMMIT")


def roll_back_own(conversation: Conversation, own: OwnTransaction) -> None:
    """End the transaction that a failed copy had begun, or the connection."""
    if not own.has_begun or conversation.session.is_closed:
        return
    is_over = False
    try:
        with conversation.operation(RECOVERY_TIMEOUT_S):
            if conversation.is_in_transaction:
                conversation.script("ROLLBACK")
        is_over = True
    finally:
        if not is_over:
            conversation.transport.abort()
