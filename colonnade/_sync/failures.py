# Generated from colonnade/_async/failures.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""What the errors of queries are told, and which of them a new statement mends."""

from __future__ import annotations

from colonnade import _core
from colonnade._sql_text import is_read
from colonnade.errors import (
    EncodeError,
    FeatureNotSupportedError,
    InvalidSQLStatementNameError,
    PostgresError,
)
from colonnade.errors._place import note_place

# How the server refuses a statement that it no longer takes: the shape of its result has changed,
# or it was deallocated.
STALE_PLAN = (FeatureNotSupportedError, InvalidSQLStatementNameError)


def may_run_again(error: PostgresError, query: str) -> bool:
    """Whether a query that is refused as stale may be run again without harm.

    The server refuses a statement before anything runs. An error with such a code that comes out of
    a function says where it was, and a procedure may have committed before. Where the client could
    not read the rows, the query has run: then only one that reads may run again.
    """
    return is_read(query) if error.severity is None else error.context is None


def may_encode_again(error: EncodeError) -> bool:
    """Whether a second time could end better, as where the server has altered a type.

    An argument that changed while it was encoded would be found settled, and be sent.
    """
    return not isinstance(error.__cause__, _core.ChangedError)


def name_query(error: BaseException | None, query: str | None) -> None:
    """Tell an error of the server which statement was running, unless it knows."""
    if isinstance(error, PostgresError) and error.query is None:
        error.query = query
        if query is not None:
            note_place(error, query)


def name_limit(
    error: BaseException | None, what: str, seconds: float | None, usual: float | None = None
) -> None:
    """Write into a TimeoutError which wait ended and after how long, if it has no text yet.

    `usual` is the connection's own limit, which the error names where it was in force.
    """
    if isinstance(error, TimeoutError) and not error.args and seconds is not None:
        source = " (command_timeout)" if seconds == usual else ""
        error.args = (f"{what} within {seconds:g} s{source}",)
