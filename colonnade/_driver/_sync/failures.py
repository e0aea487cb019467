# Generated from colonnade/_driver/_async/failures.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""Notes on the errors of queries, and the errors that a new statement fixes."""

from __future__ import annotations

from colonnade import _core
from colonnade._driver.sql.sql_text import is_read
from colonnade._words.arguments import HALF
from colonnade._words.shown import shown
from colonnade.errors import (
    EncodeError,
    InvalidCachedStatementError,
    PostgresError,
)
from colonnade.errors._place import note_place

_ANEW = (
    "The statement had been described earlier. If a table, type or function was altered since: it "
    "is described anew the next time. It was not repeated, because it was not the first of its "
    "transaction."
)


def may_run_again(error: PostgresError, query: str) -> bool:
    """Whether a query that has failed may do with a new description, and may safely run again.

    The session says which refusals these are (`is_outdated`); nothing has run before them. If the
    client could not read the rows, the query has run: then it may run again only if it just reads.
    """
    if isinstance(error, InvalidCachedStatementError) and error.severity is None:
        return is_read(query)
    return error.is_outdated


def note_outdated(error: BaseException) -> None:
    """Say of an error that a new description may end it, where the query was not repeated."""
    if isinstance(error, PostgresError) and error.is_outdated:
        notes: list[str] = getattr(error, "__notes__", [])
        if _ANEW not in notes:
            error.add_note(_ANEW)


def may_encode_again(error: EncodeError) -> bool:
    """Whether a second attempt could succeed, as after the server has altered a type.

    An argument that changed during encoding would be found settled, and be sent.
    """
    return not isinstance(error.__cause__, _core.ChangedError)


def note_query(error: BaseException | None, query: str | None) -> None:
    """Add the running statement to a server error, unless it has one."""
    if query is not None and isinstance(error, UnicodeEncodeError) and error.object == query:
        error.add_note(f"the query has {HALF}: {shown(query[error.start : error.end])}")
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
