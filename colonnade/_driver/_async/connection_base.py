"""The common base of all connections: what the functions of their verbs need."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from colonnade._driver._async.conversation import Conversation
    from colonnade._driver._async.row_making import RowMaking


class ConnectionBase:
    """The part of a connection that its verbs need: a conversation, and a way to make rows.

    Each verb of a connection stands in a module about its subject, as a function of this class, and
    needs nothing else of the connection. `Connection` lists them all.
    """

    def __init__(self, conversation: Conversation, row_making: RowMaking) -> None:
        self.conversation = conversation
        """The driver's own half of the connection, for its other parts. Its names may change."""
        self.row_making = row_making
