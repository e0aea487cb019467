"""Errors before the answer begins, as a status and a problem document (RFC 9457)."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import NamedTuple

from colonnade import errors
from colonnade.formats.format import UnsuitableFormatError

MEDIA_TYPE = "application/problem+json"
#: The seconds that a client waits before it tries again, where nothing better is known.
_RETRY_SECONDS = 1

#: The server's errors of a value that the caller sent. Others of class 22, such as an overflow, are
#: more often of the data; but the value of these may be of the data too, so it is not repeated.
_OF_VALUES = (
    errors.InvalidTextRepresentationError,
    errors.InvalidBinaryRepresentationError,
    errors.InvalidDatetimeFormatError,
    errors.DatetimeFieldOverflowError,
    errors.InvalidParameterValueError,
    errors.CharacterNotInRepertoireError,
    errors.UntranslatableCharacterError,
)
_OF_TIME = (TimeoutError, errors.QueryCanceledError)
#: The database cannot be reached, or refuses further work.
_OF_LOAD = (
    errors.TooManyConnectionsError,
    errors.CannotConnectNowError,
    errors.AdminShutdownError,
    errors.CrashShutdownError,
    errors.PoolExhaustedError,
    OSError,
)


class TooManyRows(Exception):
    """A result has more rows than a format that needs all of them in memory may have."""

    def __init__(self, rows_max: int) -> None:
        super().__init__(f"the table has more than {rows_max} rows, the most in this format")


class Problem(NamedTuple):
    """A refusal with its reason."""

    status: HTTPStatus
    detail: str
    retry_seconds: int | None = None

    @property
    def body(self) -> bytes:
        """The problem document."""
        members = {
            "type": "about:blank",
            "title": self.status.phrase,
            "status": self.status.value,
            "detail": self.detail,
        }
        return json.dumps(members).encode()

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """The headers that belong to it."""
        headers = [(b"content-type", MEDIA_TYPE.encode())]
        if self.retry_seconds is not None:
            headers.append((b"retry-after", b"%d" % self.retry_seconds))
        return headers


def problem_of(error: Exception) -> Problem | None:
    """Return the problem that a client can be told; None for a mistake of the application.

    The text of a mistake may tell a stranger about the database, so the web server handles it.
    """
    if isinstance(error, TooManyRows):
        return Problem(HTTPStatus.NOT_ACCEPTABLE, f"{error}: ask for another one")
    if isinstance(error, UnsuitableFormatError):
        return Problem(HTTPStatus.NOT_ACCEPTABLE, f"{error.args[0]}; ask for another format")
    if isinstance(error, _OF_TIME):
        return Problem(HTTPStatus.GATEWAY_TIMEOUT, "the database did not answer in time")
    if isinstance(error, errors.EncodeError):
        return Problem(HTTPStatus.BAD_REQUEST, str(error.args[0]) if error.args else "")
    if isinstance(error, _OF_VALUES):
        text = f"the database refused a value (SQLSTATE {error.sqlstate})"
        return Problem(HTTPStatus.BAD_REQUEST, text)
    if isinstance(error, _OF_LOAD):
        text = "the database cannot answer now"
        return Problem(HTTPStatus.SERVICE_UNAVAILABLE, text, _RETRY_SECONDS)
    return None
