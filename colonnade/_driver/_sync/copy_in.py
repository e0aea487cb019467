# Generated from colonnade/_driver/_async/copy_in.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""Steps of every COPY into a table: begin, end, a staging table, a transaction of its own."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from colonnade import _core
from colonnade._driver.transport.event import impossible
from colonnade._driver.transport.threads import RECOVERY_TIMEOUT_S
from colonnade.errors import FeatureNotSupportedError, PostgresError, WrongObjectTypeError

if TYPE_CHECKING:
    from collections.abc import Generator

    from colonnade._driver._sync.conversation import Conversation
    from colonnade._driver.sql.staging import OwnTransaction, Staging


_NO_COPY = (
    "COPY fills neither views nor tables with row-level security; copy_columns_to_table and "
    'write_table with on_conflict="nothing" fill them by INSERT, which skips rows whose key is '
    "already there"
)


@contextlib.contextmanager
def _way_noted() -> Generator[None, None, None]:
    """Name the way by INSERT in errors about what COPY does not fill.

    The server says so of row-level security at once, and of a view after it has asked for data.
    """
    try:
        yield
    except (WrongObjectTypeError, FeatureNotSupportedError) as error:
        error.add_note(_NO_COPY)
        raise


def begin_copy_in(
    conversation: Conversation, statement: str, own: OwnTransaction | None = None
) -> None:
    """Ask the server to accept data.

    If a transaction was begun for the copy, as `own` tells, the copy is its end: COMMIT follows in
    the same text, which takes no round trip of its own.
    """
    if own is not None and own.has_begun:
        own.ends_with_copy = True
        # Behind a line's end: a condition of the user's may end in a comment.
        statement = f"{statement}\n; COMMIT"
    conversation.session.copy_in(statement)
    with _way_noted():
        event = conversation.transport.next_event()
    if not isinstance(event, _core.CopyIn):
        raise impossible("that the server asks for data", event)


def end_copy_in(conversation: Conversation) -> str:
    """End the data, and wait for the status."""
    conversation.session.copy_done()
    with _way_noted():
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
    """Begin a transaction unless one is open; it must be committed or rolled back.

    It keeps the table as it is described until the rows are in it: otherwise another session could
    alter a type, and the server would read the old type's bytes as a value. BEGIN travels with the
    description.
    """
    if not conversation.is_in_transaction:
        own.has_begun = True
        if not conversation.session.begin_ahead("BEGIN"):
            conversation.script("BEGIN")


def commit_own(conversation: Conversation, own: OwnTransaction) -> None:
    """Commit the transaction begun here, if any, unless its copy has done so."""
    if own.has_begun and not own.ends_with_copy:
        conversation.script("COMMIT")


def roll_back_own(conversation: Conversation, own: OwnTransaction, error: BaseException) -> None:
    """End the transaction that a failed copy had begun, or the connection.

    A caller who is cancelled, or whose time is over, does not wait for it.
    """
    if not own.has_begun or conversation.session.is_closed:
        return
    is_hasty = isinstance(error, TimeoutError) or not isinstance(error, Exception)
    if is_hasty and conversation.transport.roll_back_after_recovery():
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
