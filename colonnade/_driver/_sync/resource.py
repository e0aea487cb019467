# Generated from colonnade/_driver/_async/resource.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""Objects that belong to a connection, and end when it is closed or returned to its pool."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar, cast

from colonnade._driver.transport.closed_error import closed_error
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from colonnade._driver._sync.conversation import Conversation

_Method = TypeVar("_Method", bound="Callable[..., object]")


class ConnectionResource:
    """A statement, a cursor, a stream or a transaction: usable only by the connection's user."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        # An unreferenced connection is closed, and objects made through it still need it.
        self._connection: Any = conversation.callbacks.connection
        # A pool increments this when the connection is returned to it.
        self._generation = conversation.generation

    def _is_orphaned(self) -> bool:
        """Whether the connection has another user by now."""
        return self._conversation.generation != self._generation

    def _check_connection(self, method: str) -> None:
        if self._is_orphaned():
            reason = "the underlying connection has been released back to the pool"
            raise InterfaceError(self._refusal(method, reason))
        session = self._conversation.session
        if session.is_closed:
            reason = "the underlying connection is closed"
            raise closed_error(session, self._refusal(method, reason))

    def _refusal(self, method: str, reason: str) -> str:
        return f"cannot call {type(self).__name__}.{method}(): {reason}"


def guarded(method: _Method) -> _Method:
    """A method that is refused, before it is awaited, once its connection is closed or gone."""
    name = method.__name__

    @functools.wraps(method)
    def checked(self: ConnectionResource, *args: object, **kwargs: object) -> object:
        self._check_connection(name)
        return method(self, *args, **kwargs)

    return cast("_Method", checked)
