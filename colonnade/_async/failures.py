"""Notes on the errors of queries, and the errors that a new statement fixes."""

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

# The server's refusals of a statement that it no longer accepts: the columns of its result have
# changed, or it was deallocated.
STALE_PLAN = (FeatureNotSupportedError, InvalidSQLStatementNameError)


def may_run_again(error: PostgresError, query: str) -> bool:
    """Whether a query that was refused as stale may safely run again.

    The server refuses a statement before anything runs. If an error with such a code comes from a
    function, it has a context, and a procedure may have committed before it. If the client could
    not read the rows, the query has run: then it may run again only if it just reads.
    """
    return is_read(query) if error.severity is None else error.context is None


def may_encode_again(error: EncodeError) -> bool:
    """Whether a second attempt could succeed, as after the server has altered a type.

    An argument that changed during encoding would be found settled, and be sent.
    """
    return not isinstance(error.__cause__, _core.ChangedError)


def note_query(error: BaseException | None, query: str | None) -> None:
    """Add the running statement to a server error, unless it has one."""
    if isinstance(error, PostgresError) and error.query is None:
        error.query = query
        if query is not None:
            note_place(error, query)


def note_limit(
    error: BaseException | None, what: str, seconds: float | None, usual: float | None = None
) -> None:
    """Give a TimeoutError without a text the wait that ended and its limit.

    `usual` is the connection's own limit, which the error names if it was in force.
    """
    if isinstance(error, TimeoutError) and not error.args and seconds is not None:
        source = " (command_timeout)" if seconds == usual else ""
        error.args = (f"{what} within {seconds:g} s{source}",)
