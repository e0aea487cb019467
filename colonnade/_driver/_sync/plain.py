# Generated from colonnade/_driver/_async/plain.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""Queries that ignore the settings of a connection's owner, so they run alike on every one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade._words.arguments import check_count
from colonnade.columns import Columns

if TYPE_CHECKING:
    from colonnade._driver._sync.connection_base import ConnectionBase

# More than a result of any server has.
_COLUMNS_MOST = 65_535


def fetch_plain(
    self: ConnectionBase, query: str, *args: object, timeout: float | None = None
) -> list[tuple[Any, ...]]:
    """Run a query, and return its rows as plain tuples of the types' usual values.

    For libraries that are given a connection and run queries of their own: the codecs,
    `record_class` and `row_factory` of the connection's owner are ignored, for the rows and for the
    arguments. All of the driver's own queries are run in this way.
    """
    with self.conversation.operation(timeout, query, args):
        return self.conversation.plain_rows(query, args)


def fetch_plain_columns(
    self: ConnectionBase,
    query: str,
    *args: object,
    owners: int = 0,
    timeout: float | None = None,
) -> Columns:
    """Run a query as `fetch_plain` does, and return its result as `Columns`.

    The first `owners` columns have values of the connection's owner: its codecs are used for them.
    """
    if owners != 0:
        check_count("owners", owners)
        owners = min(owners, _COLUMNS_MOST)
    conversation = self.conversation
    with conversation.operation(timeout, query, args):
        batch = conversation.plain_columns(query, args, owners)
    batch = conversation.decoded(batch)
    return Columns(batch, None, conversation.session.timing(conversation.pool_wait))
