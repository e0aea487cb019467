"""A statement that its caller has prepared, and the status of its last run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from colonnade._driver.transport.event import statement_of

if TYPE_CHECKING:
    from colonnade import _core

    class Conversation(Protocol):
        """The part of a conversation that this needs."""

        session: _core.Session

        async def completion(self) -> _core.Completion:
            """The end of the exchange."""
            ...


class OwnStatement:
    """The current server statement behind a `PreparedStatement`."""

    def __init__(self, statement: _core.Statement) -> None:
        self.statement = statement
        self.status: str | None = None

    async def current(self, conversation: Conversation) -> _core.Statement:
        """Within an operation: the statement, which is described anew if it is outdated."""
        session = conversation.session
        if session.is_outdated(self.statement):
            session.describe_again(self.statement)
            self.statement = statement_of(await conversation.completion())
        return self.statement.confirmed()

    def take_note(self, completion: _core.Completion) -> None:
        """Update from the end of a run."""
        self.status = completion.tag
        if completion.statement is not None:
            # One of its types was found to be altered.
            self.statement = completion.statement
