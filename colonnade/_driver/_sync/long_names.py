# Generated from colonnade/_driver/_async/long_names.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""Long names of a connection's verbs: its server says whether it takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade._driver.sql.quoting import LIMIT_SQL, has_long, whole

if TYPE_CHECKING:
    from colonnade._driver._sync.conversation import Conversation


def whole_names(conversation: Conversation, *arguments: Any) -> list[Any]:
    """Names, lists and mappings of them, in which the server takes long names; see `whole`."""
    if not has_long(arguments):
        return list(arguments)
    bytes_max = name_bytes_max(conversation)
    return [whole(argument, bytes_max) for argument in arguments]


def name_bytes_max(conversation: Conversation) -> int:
    """The number of bytes of a name that the server takes."""
    with conversation.operation(None):
        return _asked(conversation)


def whole_names_within(conversation: Conversation, *arguments: Any) -> list[Any]:
    """The same within an operation."""
    if not has_long(arguments):
        return list(arguments)
    bytes_max = _asked(conversation)
    return [whole(argument, bytes_max) for argument in arguments]


def _asked(conversation: Conversation) -> int:
    ((bytes_max,),) = conversation.plain_rows(LIMIT_SQL, ())
    return int(bytes_max)
