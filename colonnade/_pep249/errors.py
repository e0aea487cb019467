"""PEP 249's exceptions, and the translation of the driver's exceptions to them."""

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
    """The fields of the server's error or notice; None for a field that was not sent.

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
    """PEP 249's warning. Colonnade never raises it: the server's warnings arrive as notices."""


class Error(Exception):
    """The base class of all errors of this module.

    `__cause__` is the driver's own exception.
    """

    sqlstate: str | None = None
    """The server's five-character SQLSTATE; None if the error is not the server's."""
    diag: Diagnostic = Diagnostic()
    """The fields of the server's error; all None if the error is not the server's."""

    @property
    def pgcode(self) -> str | None:
        """The `sqlstate`, under the name that psycopg2 and SQLAlchemy's asyncpg dialect use."""
        return self.sqlstate

    @property
    def pgerror(self) -> str | None:
        """The severity and the message, under psycopg2's name; None if not the server's error."""
        return None if self.diag.severity is None else f"{self.diag.severity}:  {self}\n"


class InterfaceError(Error):
    """The module was used wrongly, for example a closed cursor."""


class DatabaseError(Error):
    """The base class of errors of the server and of the communication with it."""


class DataError(DatabaseError):
    """A value is out of range or malformed."""


class OperationalError(DatabaseError):
    """The server or the connection failed, or the server ran out of a resource."""


class IntegrityError(DatabaseError):
    """A constraint was violated."""


class InternalError(DatabaseError):
    """The server's state does not allow the command, as in a failed transaction."""


class ProgrammingError(DatabaseError):
    """The query is wrong, or names a missing object."""


class NotSupportedError(DatabaseError):
    """The server or the driver does not support the operation."""


# Make tracebacks, pickles and SQLAlchemy's messages name the public module.
for _class in (
    Diagnostic,
    Warning,
    Error,
    *Error.__subclasses__(),
    *DatabaseError.__subclasses__(),
):
    _class.__module__ = "colonnade.dbapi"

# The exception of each SQLSTATE class (its first two characters); DatabaseError for all others.
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

# Errors that are not the server's; the first matching class decides.
_BY_CLASS: tuple[tuple[type[BaseException], type[Error]], ...] = (
    (errors.DecodeError, DataError),
    (errors.EncodeError, DataError),
    (errors.SchemaError, ProgrammingError),
    (errors.ClientConfigurationError, ProgrammingError),
    (errors.UnsupportedClientFeatureError, NotSupportedError),
    (errors.UnsupportedServerFeatureError, NotSupportedError),
    (errors.AuthenticationError, OperationalError),
    (errors.TargetServerAttributeNotMatched, OperationalError),
    (errors.PoolExhaustedError, OperationalError),
    (errors.ProtocolError, OperationalError),
    (errors.InterfaceError, InterfaceError),
    (errors.InternalClientError, InternalError),
)


def translated(error: BaseException) -> Error | None:
    """Translate a driver's error to one of this module; None for any other exception.

    None means that the caller raises the exception unchanged: an error of this module, Ctrl-C, or
    a Python error such as TypeError. The notes of the driver's error are copied. Those of an
    OSError are in the text: they have the server's address, and SQLAlchemy shows only the text.
    """
    notes = getattr(error, "__notes__", ())
    if isinstance(error, OSError):
        text = str(error)
        places = [note for note in notes if note.removeprefix("while connecting to ") not in text]
        return OperationalError("; ".join([text, *places]))
    made = _made(error)
    if made is not None:
        for note in notes:
            made.add_note(note)
    return made


def _made(error: BaseException) -> Error | None:
    for kind, target in _BY_CLASS:
        if isinstance(error, kind):
            return target(str(error))
    if not isinstance(error, errors.PostgresError):
        return None
    said: errors.PostgresError = error
    if isinstance(error, errors.ConnectionDoesNotExistError):
        # As in psycopg, the server's own reason counts, such as 57P01 for a shutdown.
        cause = error.__cause__
        said = cause if isinstance(cause, errors.PostgresError) else error
    state = said.sqlstate or ""
    made: Any = _BY_STATE.get(state[:2], DatabaseError)(str(error))
    made.sqlstate = said.sqlstate
    made.diag = Diagnostic(said)
    return made  # type: ignore[no-any-return]
