"""An exception as an ADBC error."""

from __future__ import annotations

from colonnade import dbapi
from colonnade.errors import InterfaceError

__all__ = ["described"]

_UNKNOWN, _NOT_IMPLEMENTED, _NOT_FOUND, _ALREADY_EXISTS, _INVALID_ARGUMENT = range(1, 6)
_INVALID_STATE, _INVALID_DATA, _INTEGRITY, _INTERNAL, _IO = range(6, 11)
_CANCELLED, _TIMEOUT, _UNAUTHENTICATED, _UNAUTHORIZED = range(11, 15)

# By SQLSTATE or its class, the longer one first.
_STATES = {
    "42P01": _NOT_FOUND,
    "42P07": _ALREADY_EXISTS,
    "42501": _UNAUTHORIZED,
    "57014": _CANCELLED,
    "3D000": _NOT_FOUND,
    "3F000": _NOT_FOUND,
    "08": _IO,
    "0A": _NOT_IMPLEMENTED,
    "22": _INVALID_DATA,
    "23": _INTEGRITY,
    "25": _INVALID_STATE,
    "28": _UNAUTHENTICATED,
    "42": _INVALID_ARGUMENT,
}
_CLASSES: tuple[tuple[type[BaseException], int], ...] = (
    (dbapi.NotSupportedError, _NOT_IMPLEMENTED),
    (dbapi.ProgrammingError, _INVALID_ARGUMENT),
    (dbapi.DataError, _INVALID_DATA),
    (dbapi.OperationalError, _IO),
    (ValueError, _INVALID_ARGUMENT),
    (TypeError, _INVALID_ARGUMENT),
    (InterfaceError, _INVALID_STATE),
    (KeyError, _NOT_FOUND),
    (TimeoutError, _TIMEOUT),
    (OSError, _IO),
    (KeyboardInterrupt, _CANCELLED),
)


def described(error: BaseException) -> tuple[int, str, str]:
    """The number of the status, the SQLSTATE, which may be empty, and the text with its notes."""
    sqlstate = getattr(error, "sqlstate", None) or ""
    text = "\n".join([str(error), *getattr(error, "__notes__", ())])
    return _status(error, sqlstate), sqlstate, text


def _status(error: BaseException, sqlstate: str) -> int:
    for state in (sqlstate, sqlstate[:2]):
        if state in _STATES:
            return _STATES[state]
    if sqlstate:
        return _INTERNAL
    for kind, status in _CLASSES:
        if isinstance(error, kind):
            return status
    return _UNKNOWN
