"""The exchanges that run one query and end in one event, for both transports."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from colonnade._core import Session
from colonnade._driver.transport.event import batch_of, completion_of

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class QueryExchange(NamedTuple, Generic[T]):
    """How an exchange begins, and which part of its completion the caller gets."""

    begin_kept: Callable[..., bool]
    """`begin_kept(session, query, ...)` begins it with the statement kept for the query, and
    returns False if there is none."""
    begin: Callable[..., bool] | None
    """`begin(session, statement, ...)` begins it with that statement; None if it needs none."""
    taken: Callable[[Any], T]
    """The caller's part of the event that ends it."""


# A small query would feel the cost of a Python function here.
_rows: Callable[[Any], Any] = attrgetter("rows")
_status: Callable[[Any], str | None] = attrgetter("tag")

ROWS = QueryExchange(Session.fetch_kept, Session.fetch_rows, _rows)
RESULT = QueryExchange(Session.fetch_kept, Session.fetch_rows, completion_of)
HELD = QueryExchange(Session.hold_kept, Session.hold_rows, completion_of)
COLUMNS = QueryExchange(Session.fetch_columns_kept, Session.fetch_columns, batch_of)
COLUMN_RESULT = QueryExchange(Session.fetch_columns_kept, Session.fetch_columns, completion_of)
STATUS = QueryExchange(Session.execute_kept, Session.execute, _status)
SCRIPT = QueryExchange(Session.script, None, _status)
