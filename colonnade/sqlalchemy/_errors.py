"""PEP 249's exceptions, and which of them each of the driver's becomes."""

from __future__ import annotations

from colonnade import errors


class Warning(Exception):  # noqa: A001 - PEP 249's name
    """PEP 249's; never raised."""


class Error(Exception):
    """What went wrong; the driver's own exception is its cause."""

    @property
    def sqlstate(self) -> str | None:
        """The server's code, or None where the error is not the server's."""
        return getattr(self.__cause__, "sqlstate", None)


class InterfaceError(Error):
    """A mistake in using the driver."""


class DatabaseError(Error):
    """What the database, or the way to it, has refused."""


class DataError(DatabaseError):
    """A value that does not fit."""


class OperationalError(DatabaseError):
    """A connection, a lock, a limit: nothing that the statement could help."""


class IntegrityError(DatabaseError):
    """A constraint would have been violated."""


class InternalError(DatabaseError):
    """The database, or the driver, in a state that should not be."""


class ProgrammingError(DatabaseError):
    """A statement that cannot be run as it is."""


class NotSupportedError(DatabaseError):
    """What the server cannot do."""


# By the first two characters of the SQLSTATE.
_CLASSES: dict[str, type[Error]] = {
    "0A": NotSupportedError,
    "20": ProgrammingError,
    "21": ProgrammingError,
    "22": DataError,
    "23": IntegrityError,
    "24": InternalError,
    "25": InternalError,
    "26": ProgrammingError,
    "27": OperationalError,
    "28": OperationalError,
    "2B": InternalError,
    "2D": InternalError,
    "2F": OperationalError,
    "34": ProgrammingError,
    "38": OperationalError,
    "39": OperationalError,
    "3B": OperationalError,
    "3D": ProgrammingError,
    "3F": ProgrammingError,
    "40": OperationalError,
    "42": ProgrammingError,
    "44": ProgrammingError,
    "53": OperationalError,
    "54": OperationalError,
    "55": OperationalError,
    "57": OperationalError,
    "58": OperationalError,
    "F0": OperationalError,
    "HV": OperationalError,
    "P0": ProgrammingError,
    "XX": InternalError,
}


def translated(error: Exception) -> Exception:
    """PEP 249's exception for one of the driver's."""
    if isinstance(error, Error):
        return error
    return _class_of(error)(str(error))


def _class_of(error: Exception) -> type[Error]:
    if isinstance(error, errors.PostgresError):
        return _CLASSES.get((error.sqlstate or "")[:2], DatabaseError)
    if isinstance(error, errors.InterfaceError):
        return InterfaceError
    if isinstance(error, OSError | TimeoutError):
        return OperationalError
    return InternalError if isinstance(error, errors.InternalClientError) else InterfaceError
