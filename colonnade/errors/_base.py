"""The fields that all messages of the server share, as an exception or as a log message.

A server reports an error or a notice as a set of fields, each under a one-letter key. The classes
here name the fields; ``_from_fields`` chooses the class of a report.
"""

from __future__ import annotations

from collections.abc import Mapping

# The protocol's one-letter field keys and the attributes they become.
FIELD_NAMES: Mapping[str, str] = {
    "S": "severity",
    "V": "severity_en",
    "C": "sqlstate",
    "M": "message",
    "D": "detail",
    "H": "hint",
    "P": "position",
    "p": "internal_position",
    "q": "internal_query",
    "W": "context",
    "s": "schema_name",
    "t": "table_name",
    "c": "column_name",
    "d": "data_type_name",
    "n": "constraint_name",
    "F": "server_source_filename",
    "L": "server_source_line",
    "R": "server_source_function",
}

# The fields shown in ``repr``: short, and never values of a row, which ``detail`` may contain.
_REPR_FIELDS = ("sqlstate", "schema_name", "table_name", "column_name", "constraint_name")

# SQLSTATEs after which the same work may be run again as it was. For each of them both halves hold:
# the server guarantees that nothing of the failed transaction took effect, and the cause is a
# passing state of the server, not the statement. Deliberately absent: 57P01 and 57P02 (shutdown,
# crash) and 08xxx (connection lost) may arrive after a COMMIT took effect; 57014 (cancelled) was
# requested; 53100 and 53200 (disk full, out of memory) seldom pass by themselves.
RETRYABLE_SQLSTATES = frozenset(
    {
        "40001",  # serialization_failure
        "40P01",  # deadlock_detected
        "53300",  # too_many_connections: refused before any statement
        "55P03",  # lock_not_available: NOWAIT or lock_timeout
        "57P03",  # cannot_connect_now: the server starts up or shuts down
        "57P05",  # idle_session_timeout: sent only while idle outside a transaction
    }
)

# connection_does_not_exist; the server may have said why.
_CONNECTION_BROKEN = "08003"


def with_detail_and_hint(text: str, detail: str | None, hint: str | None) -> str:
    """``text`` followed by its DETAIL and HINT lines, if any, in psql's layout."""
    lines = [text]
    if detail:
        lines.append(f"DETAIL:  {detail}")
    if hint:
        lines.append(f"HINT:  {hint}")
    return "\n".join(lines)


class PostgresMessage:
    """The fields of a report sent by the server; each is a string, or None when it was not sent."""

    severity: str | None = None
    """ERROR, FATAL, PANIC, WARNING, NOTICE, DEBUG, INFO or LOG, in the server's language."""
    severity_en: str | None = None
    """The same, never translated."""
    sqlstate: str | None = None
    """The five-character code; the class has it too, except for classes of no single code."""
    message: str | None = None
    """The primary text, usually one line."""
    detail: str | None = None
    """More about the problem; may quote values of the row concerned."""
    hint: str | None = None
    """A suggested remedy."""
    position: str | None = None
    """The position of the error in the statement: a 1-based index in characters."""
    internal_position: str | None = None
    """The same within ``internal_query``."""
    internal_query: str | None = None
    """The failed statement if it was not the client's, such as one in a function."""
    context: str | None = None
    """The call stack of functions and internal statements, one per line."""
    schema_name: str | None = None
    """The schema of the object concerned."""
    table_name: str | None = None
    """The table concerned."""
    column_name: str | None = None
    """The column concerned."""
    data_type_name: str | None = None
    """The data type concerned."""
    constraint_name: str | None = None
    """The constraint concerned; indexes count as constraints."""
    server_source_filename: str | None = None
    """The file of the server's source code that reported it."""
    server_source_line: str | None = None
    """The line in that file."""
    server_source_function: str | None = None
    """The function in that file."""
    query: str | None = None
    """The statement that was running, if the client knows it."""

    def as_dict(self) -> dict[str, str]:
        """The fields that the server sent, by attribute name."""
        present = {name: getattr(self, name) for name in FIELD_NAMES.values()}
        return {name: value for name, value in present.items() if value is not None}

    def _describe(self) -> str:
        """The constructor-like text behind ``repr``."""
        known = [repr(self.message)] if self.message is not None else []
        for name in _REPR_FIELDS:
            value = getattr(self, name)
            if value is not None:
                known.append(f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(known)})"


def assign_fields(message: PostgresMessage, fields: Mapping[str, str], query: str | None) -> None:
    """Turn one-letter keys into attributes; unknown keys of a later protocol are ignored."""
    message.query = query
    for key, value in fields.items():
        name = FIELD_NAMES.get(key)
        if name is not None:
            setattr(message, name, value)


class PostgresError(PostgresMessage, Exception):
    """An error reported by the server; the base of one class per SQLSTATE."""

    is_outdated: bool = False
    """Whether the statement was refused before it ran because of its description, which may have
    been out of date: it is described anew the next time."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        if args:
            self.message = str(args[0])

    def __str__(self) -> str:
        return with_detail_and_hint(super().__str__(), self.detail, self.hint)

    def __repr__(self) -> str:
        return self._describe()

    @property
    def safe_to_retry(self) -> bool:
        """Whether the same transaction may be run again from its start, unchanged.

        True when the server guarantees that nothing took effect and the cause is likely to pass.
        Inside a transaction that means all of the transaction, not the failed statement alone.
        """
        if self.sqlstate == _CONNECTION_BROKEN and isinstance(self.__cause__, PostgresError):
            return self.__cause__.safe_to_retry
        return self.sqlstate in RETRYABLE_SQLSTATES


class PostgresLogMessage(PostgresMessage):
    """A notice, warning or log line sent by the server; handed to log listeners, never raised."""

    def __init__(self, *args: object) -> None:
        super().__init__()
        self.args = args
        if args:
            self.message = str(args[0])

    def __str__(self) -> str:
        severity = self.severity_en or self.severity or "NOTICE"
        return f"{severity}: {with_detail_and_hint(self.message or '', self.detail, self.hint)}"

    def __repr__(self) -> str:
        return self._describe()


class FatalPostgresError(PostgresError):
    """An error after which the connection can no longer be used."""


class UnknownPostgresError(FatalPostgresError):
    """An error whose SQLSTATE, and SQLSTATE class, this version does not know."""
