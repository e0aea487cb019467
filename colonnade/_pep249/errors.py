"""PEP 249's exceptions, and which of the driver's become which."""

from __future__ import annotations

from typing import Any

from colonnade import errors

__all__ = [
    "DataError",
    "DatabaseError",
    "Diagnostic",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Warning",
    "translated",
]


class Diagnostic:
    """The server's report of an error, field by field; None is an absent field.

    The names are psycopg's.
    """

    _FIELDS = (
        ("severity", "severity"),
        ("severity_nonlocalized", "severity_en"),
        ("sqlstate", "sqlstate"),
        ("message_primary", "message"),
        ("message_detail", "detail"),
        ("message_hint", "hint"),
        ("statement_position", "position"),
        ("internal_position", "internal_position"),
        ("internal_query", "internal_query"),
        ("context", "context"),
        ("schema_name", "schema_name"),
        ("table_name", "table_name"),
        ("column_name", "column_name"),
        ("datatype_name", "data_type_name"),
        ("constraint_name", "constraint_name"),
        ("source_file", "server_source_filename"),
        ("source_line", "server_source_line"),
        ("source_function", "server_source_function"),
    )

    severity: str | None
    severity_nonlocalized: str | None
    sqlstate: str | None
    message_primary: str | None
    message_detail: str | None
    message_hint: str | None
    statement_position: str | None
    internal_position: str | None
    internal_query: str | None
    context: str | None
    schema_name: str | None
    table_name: str | None
    column_name: str | None
    datatype_name: str | None
    constraint_name: str | None
    source_file: str | None
    source_line: str | None
    source_function: str | None

    def __init__(self, message: errors.PostgresMessage | None = None) -> None:
        for name, field in self._FIELDS:
            setattr(self, name, getattr(message, field, None))

    def __repr__(self) -> str:
        """The fields that were sent."""
        said = {name: getattr(self, name) for name, _field in self._FIELDS}
        words = (f"{name}={value!r}" for name, value in said.items() if value is not None)
        return f"<Diagnostic {' '.join(words)}>"


class Warning(Exception):  # noqa: A001 - PEP 249's name
    """An important warning. Nothing here raises it: the server's warnings are notices."""


class Error(Exception):
    """The base of all errors of this module.

    The driver's own exception is the cause (`__cause__`).
    """

    sqlstate: str | None = None
    """The server's five-character code; None where the error is not the server's."""
    diag: Diagnostic = Diagnostic()
    """The server's report, field by field."""

    @property
    def pgcode(self) -> str | None:
        """The `sqlstate`, under psycopg2's name and that of SQLAlchemy's asyncpg dialect."""
        return self.sqlstate

    @property
    def pgerror(self) -> str | None:
        """The server's message under psycopg2's name, after its severity."""
        return None if self.diag.severity is None else f"{self.diag.severity}:  {self}\n"


class InterfaceError(Error):
    """The module was used in a way in which it cannot be."""


class DatabaseError(Error):
    """The server's errors, and those of talking to it."""


class DataError(DatabaseError):
    """A value is out of range or of the wrong form."""


class OperationalError(DatabaseError):
    """Something happened to the server or on the way to it."""


class IntegrityError(DatabaseError):
    """A constraint was violated."""


class InternalError(DatabaseError):
    """The server's state does not allow it, such as that of a failed transaction."""


class ProgrammingError(DatabaseError):
    """The query is wrong, or names a missing object."""


class NotSupportedError(DatabaseError):
    """The server, or the driver, cannot do that."""


# Tracebacks, pickles and SQLAlchemy's messages name the public path, whichever room is imported.
for _class in (
    Diagnostic,
    Warning,
    Error,
    *Error.__subclasses__(),
    *DatabaseError.__subclasses__(),
):
    _class.__module__ = "colonnade.dbapi"

# By the first two characters of the SQLSTATE; of every other one it is a DatabaseError.
_BY_STATE: dict[str, type[DatabaseError]] = {
    "08": OperationalError,
    "0A": NotSupportedError,
    "10": ProgrammingError,
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

# Errors that are not the server's; the first class that fits counts.
_BY_CLASS: tuple[tuple[type[BaseException], type[Error]], ...] = (
    (errors.DecodeError, DataError),
    (errors.EncodeError, DataError),
    (errors.SchemaError, ProgrammingError),
    (errors.ClientConfigurationError, ProgrammingError),
    (errors.UnsupportedClientFeatureError, NotSupportedError),
    (errors.UnsupportedServerFeatureError, NotSupportedError),
    (errors.AuthenticationError, OperationalError),
    (errors.TargetServerAttributeNotMatched, OperationalError),
    (errors.ProtocolError, OperationalError),
    (errors.InterfaceError, InterfaceError),
    (errors.InternalClientError, InternalError),
    (OSError, OperationalError),
)


def translated(error: BaseException) -> Error | None:
    """The error as one of this module; None for one that is no business of it.

    Such are errors of this module already, Ctrl-C, and mistakes of Python's (TypeError, ...).
    The notes of the driver's error are notes of this one, too.
    """
    made = _made(error)
    if made is not None:
        for note in getattr(error, "__notes__", ()):
            made.add_note(note)
    return made


def _made(error: BaseException) -> Error | None:
    for kind, target in _BY_CLASS:
        if isinstance(error, kind):
            # Not its first argument alone, which of an OSError is a number.
            return target(str(error))
    if not isinstance(error, errors.PostgresError):
        return None
    state = error.sqlstate or ""
    made: Any = _BY_STATE.get(state[:2], DatabaseError)(str(error))
    made.sqlstate = error.sqlstate
    made.diag = Diagnostic(error)
    return made  # type: ignore[no-any-return]
