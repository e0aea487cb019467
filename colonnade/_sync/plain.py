# Generated from colonnade/_async/plain.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Queries that are the same on every connection, whatever its owner has set on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from colonnade._sync.conversing import Conversing


def fetch_plain(
    self: Conversing, query: str, *args: object, timeout: float | None = None
) -> list[tuple[Any, ...]]:
    """Run a query, and return its rows as plain tuples, of the types' usual values.

    For code that is given a connection and asks the server things of its own: codecs,
    `record_class` and `row_factory`, which the connection's owner may have set, take no part,
    neither in the rows nor in the arguments. All queries of the driver's own go this way.
    """
    with self.conversation.operation(timeout, query, args):
        return self.conversation.plain_rows(query, args)
