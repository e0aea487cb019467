"""The class for a report of the server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from colonnade.errors import _sqlstate
from colonnade.errors._base import (
    PostgresError,
    PostgresLogMessage,
    UnknownPostgresError,
    assign_fields,
)
from colonnade.errors._client import InvalidCachedStatementError

_CLASSES: list[Any] = [getattr(_sqlstate, name) for name in _sqlstate.__all__]
_ERRORS: dict[str, type[PostgresError]] = {
    str(cls.sqlstate): cls for cls in _CLASSES if issubclass(cls, PostgresError)
}
_LOG_MESSAGES: dict[str, type[PostgresLogMessage]] = {
    str(cls.sqlstate): cls for cls in _CLASSES if issubclass(cls, PostgresLogMessage)
}

# The server function that finds a cached plan unusable; the message itself may be translated.
_PLAN_CHECK = "RevalidateCachedQuery"
_PLAN_IS_INVALID = (
    "cached statement plan is invalid due to a database schema or configuration change"
)
# duplicate_prepared_statement and invalid_sql_statement_name: a statement that another client has
# prepared, or one that no longer exists.
_POOLER_SQLSTATES = {"42P05", "26000"}
_POOLER_HINT = (
    "A pooler such as pgbouncer, if it lends a server per transaction or statement, mixes up "
    "the prepared statements of its clients. Pass statement_cache_size=0 to connect() or "
    "create_pool(), or let the pooler track the statements (pgbouncer's max_prepared_statements)."
)
# Libraries look for this text to tell a broken connection from other errors.
_BROKEN_OFF = "connection was closed in the middle of operation"


def error_class(sqlstate: str) -> type[PostgresError]:
    """The class of a SQLSTATE: its own, else its two-character class's, else unknown."""
    exact = _ERRORS.get(sqlstate)
    if exact is not None:
        return exact
    return _ERRORS.get(sqlstate[:2] + "000", UnknownPostgresError)


def from_fields(fields: Mapping[str, str], query: str | None = None) -> PostgresError:
    """The exception for the fields of an ErrorResponse, keyed by their protocol letters."""
    sqlstate = fields.get("C", "")
    if sqlstate == "0A000" and fields.get("R") == _PLAN_CHECK:
        error: PostgresError = InvalidCachedStatementError(_PLAN_IS_INVALID)
    else:
        error = error_class(sqlstate)(fields.get("M", ""))
    assign_fields(error, fields, query)
    if error.hint is None and sqlstate in _POOLER_SQLSTATES:
        error.hint = _POOLER_HINT
    return error


def closed_by_server(fields: Mapping[str, str]) -> PostgresError:
    """The exception for a FATAL report that ends a connection, with the report as its cause.

    Every connection that breaks in the middle of a call raises this class, so one ``except`` clause
    covers a server that gives a reason and one that does not.
    """
    cause = from_fields(fields)
    error = _sqlstate.ConnectionDoesNotExistError(f"{_BROKEN_OFF}: {cause.message or cause}")
    error.__cause__ = cause
    return error


def log_message_from_fields(
    fields: Mapping[str, str], query: str | None = None
) -> PostgresLogMessage:
    """The message for the fields of a NoticeResponse, keyed by their protocol letters.

    Warnings, by their code or by their severity, become ``PostgresWarning`` or one of its
    subclasses, everything else stays a plain ``PostgresLogMessage``.
    """
    sqlstate = fields.get("C", "")
    cls = _LOG_MESSAGES.get(sqlstate)
    if cls is None:
        is_warning = sqlstate.startswith(("01", "02")) or fields.get("V") == "WARNING"
        cls = _sqlstate.PostgresWarning if is_warning else PostgresLogMessage
    message = cls(fields.get("M", ""))
    assign_fields(message, fields, query)
    return message
