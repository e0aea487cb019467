# Generated from colonnade/jobs/_async/asking.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""Statements and transactions of queues: the same under any defaults of role and database.

Values go past the codecs of the pool's owner. A statement that the server gave up, because of
others or of a default, has done nothing: it runs again as READ COMMITTED, which all of them expect.
"""

from __future__ import annotations

import random
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from colonnade.errors import (
    DeadlockDetectedError,
    LockNotAvailableError,
    ReadOnlySQLTransactionError,
    SerializationError,
)
from colonnade.jobs._tasks.threads import Signal

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from colonnade.columns import Columns
    from colonnade.jobs._layouts.base import Answer, Layout

_GIVEN_UP = (
    *(DeadlockDetectedError, LockNotAvailableError),
    *(ReadOnlySQLTransactionError, SerializationError),
)
_AGAIN_MOST = 10
# The pauses between attempts double, and are random, so that two that met do not meet again.
_PAUSE_S = 0.005
_SETTINGS = "SET TRANSACTION READ WRITE; SET LOCAL idle_in_transaction_session_timeout = 0"


def ask(link: Any, query: str, *arguments: object, timeout: float | None = None) -> Answer:
    """Run a statement on a pool, or on a connection without a transaction; return its rows."""
    rows: Answer = _repeated(
        link, lambda free: free.fetch_plain(query, *arguments, timeout=timeout)
    )
    return rows


def ask_columns(link: Any, layout: Layout, query: str, *arguments: object) -> Columns:
    """Run a statement of a layout likewise; return its rows as columns."""
    columns: Columns = _repeated(link, lambda free: columns_of(free, layout, query, *arguments))
    return columns


def columns_of(link: Any, layout: Layout, query: str, *arguments: object) -> Columns:
    """Run a statement of a layout once.

    The first columns are the payload, whose values are the owner's: its codecs are used for them.
    """
    owners = len(layout.definition.payload)
    columns: Columns = link.fetch_plain_columns(query, *arguments, owners=owners)
    return columns


@contextmanager
def own_transaction(pool: Any) -> Generator[Any]:
    """A connection of the pool with a transaction of READ COMMITTED, which may write."""
    with pool.acquire() as connection, own_transaction_on(connection):
        yield connection


@contextmanager
def own_transaction_on(connection: Any) -> Generator[None]:
    """Such a transaction on a connection that has none."""
    with connection.transaction(isolation="read_committed"):
        connection.execute(_SETTINGS)
        yield


def _repeated(link: Any, run: Callable[[Any], Any]) -> Any:
    try:
        return run(link)
    except _GIVEN_UP:
        pass
    pause = _PAUSE_S
    for _ in range(_AGAIN_MOST - 1):
        try:
            return _within_own(link, run)
        except _GIVEN_UP:
            Signal().wait(random.random() * pause)  # noqa: S311 - no secret
            pause *= 2
    return _within_own(link, run)


def _within_own(link: Any, run: Callable[[Any], Any]) -> Any:
    if hasattr(link, "acquire"):
        with own_transaction(link) as connection:
            return run(connection)
    with own_transaction_on(link):
        return run(link)
