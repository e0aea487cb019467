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
    """Run a query, and return its rows as plain tuples of the types' usual values.

    For libraries that are given a connection and run queries of their own: the codecs,
    `record_class` and `row_factory` of the connection's owner are ignored, for the rows and for the
    arguments. All of the driver's own queries are run in this way.
    """
    with self.conversation.operation(timeout, query, args):
        return self.conversation.plain_rows(query, args)
