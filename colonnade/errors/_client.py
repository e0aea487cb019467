"""Errors that the client itself raises.

Three families, never mixed:

- the caller did something wrong: ``InterfaceError``, or for an argument ``TypeError`` and
  ``ValueError``, by the rule of ``colonnade._words.arguments``;
- the server, or something between it and the client, did something wrong, or the client's state is
  outdated: ``InternalClientError``;
- a value does not fit its type: ``DataError``, the class of SQLSTATE 22000 that the server raises
  for the same mistake, so that one ``except`` clause covers both sides.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from colonnade._words.shown import shown
from colonnade.errors._base import with_detail_and_hint
from colonnade.errors._sqlstate import DataError, FeatureNotSupportedError

# How far a query has come.
Phase: TypeAlias = Literal["waiting", "running", "arriving"]


class _InterfaceMessage:
    """A text with optional detail and hint, printed like the server's errors."""

    detail: str | None
    hint: str | None
    args: tuple[Any, ...]

    def __init__(self, msg: str, *, detail: str | None = None, hint: str | None = None) -> None:
        super().__init__(msg)  # type: ignore[call-arg]  # the exception class comes after this one
        self.detail = detail
        self.hint = hint

    def __str__(self) -> str:
        text = str(self.args[0]) if self.args else ""
        return with_detail_and_hint(text, self.detail, self.hint)


class InterfaceError(_InterfaceMessage, Exception):
    """The caller used the client in a way that cannot work."""

    safe_to_retry: bool = False
    """Whether the same call may be made again, unchanged."""

    def with_msg(self, msg: str) -> InterfaceError:
        """The same error, of the same class and cause, with another text."""
        copy = type(self)(msg, detail=self.detail, hint=self.hint)
        copy.__cause__ = self.__cause__
        copy.__context__ = self.__context__
        copy.__suppress_context__ = self.__suppress_context__
        return copy


class InterfaceWarning(_InterfaceMessage, UserWarning):
    """The caller used the client in a way that works, but probably not as intended."""


class InexactDecimalWarning(InterfaceWarning):
    """A decimal became a float64 that cannot hold it, in a pandas column.

    The decimal is neither the shortest one that reads back as the float nor exactly the float.
    ``decimals=`` of ``to_pandas`` and ``read_sql`` keeps decimals; ``decimals="float64"``, or
    ``schema={"x": "float64"}`` for one column, asks for floats without this warning.
    """


class InterfaceTypeError(InterfaceError, TypeError):
    """An argument of the wrong type, for which asyncpg or version 0.1 raises InterfaceError."""


class InterfaceValueError(InterfaceError, ValueError):
    """An argument with a wrong value, for which asyncpg or version 0.1 raises InterfaceError."""


class ClientConfigurationError(InterfaceError, ValueError):
    """Connection options are wrong, contradict each other, or name files that cannot be used."""


class ConfigurationTypeError(ClientConfigurationError, TypeError):
    """An option of ``connect`` is of the wrong type."""


class SchemaError(InterfaceError, ValueError):
    """A requested column schema does not fit the result: an unknown name or an impossible cast."""


class StructError(InterfaceError, ValueError):
    """Bytes are not the struct that they are read as, or a value does not fit its field.

    ``field`` is the field's name, and ``row`` counts from 0 among the rows of a column; None where
    there is none.
    """

    field: str | None = None
    row: int | None = None


class DTypeError(SchemaError):
    """The dtype of a query does not match its result: see ``colonnade.rkt``."""


class DeadlineError(TimeoutError):
    """The deadline of a `Pool.gather` came before a query's result."""

    safe_to_retry: bool = False
    """The query may have run, and even have committed."""

    def __init__(self, name: str, phase: Phase, seconds: float) -> None:
        super().__init__(name, phase, seconds)
        self.name = name
        """The name of the query."""
        self.phase = phase
        """The phase that the query had reached: "waiting" for a connection; "running" on the
        server, or on its way there; "arriving", if a part of the result was there."""
        self.seconds = seconds
        """The time that the gather had."""

    def __str__(self) -> str:
        doing = {
            "waiting": "was still waiting for a connection",
            "running": "was still running",
            "arriving": "had begun to answer, and its result was still arriving",
        }[self.phase]
        return f"the query {shown(self.name)} {doing} after {self.seconds:g} s"


class LocalProtocolError(InterfaceError):
    """The caller asked for something the protocol does not allow, or not at this moment."""


class AuthenticationError(InterfaceError):
    """The client refused to authenticate.

    The server asked for a method that is unsupported or forbidden by the caller's options, a
    required password is missing (``MissingPasswordError``), or the server could not prove its
    identity. If the server rejects the client, the error is ``InvalidPasswordError`` or
    ``InvalidAuthorizationSpecificationError``.
    """


class PoolExhaustedError(InterfaceError):
    """A pool has no free connection, and ``max_waiting`` callers wait for one.

    The caller was refused at once, or a caller of higher priority took its place. Nothing was sent.
    """

    # Nothing has run, and connections are given back all the time.
    safe_to_retry = True

    def __init__(
        self,
        msg: str,
        *,
        size: int = 0,
        busy: int = 0,
        waiting: int = 0,
        detail: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(msg, detail=detail, hint=hint)
        self.size = size
        """Open connections, when the caller was refused."""
        self.busy = busy
        """Connections that were lent or being reset."""
        self.waiting = waiting
        """Waiting callers."""

    def with_msg(self, msg: str) -> InterfaceError:
        """The same error, with another text."""
        copy = super().with_msg(msg)
        vars(copy).update(size=self.size, busy=self.busy, waiting=self.waiting)
        return copy


class UnsupportedClientFeatureError(InterfaceError):
    """The client does not support what was asked for."""


class UnsupportedServerFeatureError(InterfaceError):
    """The server does not support what was asked for."""


class InternalClientError(Exception):
    """The connection is in a state that the caller did not cause."""

    safe_to_retry: bool = False
    """Whether the same call may be made again, unchanged."""


class ProtocolError(InternalClientError):
    """The exchange of messages with the server failed."""


class RemoteProtocolError(ProtocolError):
    """The peer sent bytes that the protocol does not allow; the connection is closed."""


class OutdatedSchemaCacheError(InternalClientError):
    """A type changed on the server after the client had read its definition.

    The statement may have taken effect, so the driver does not repeat it. It drops the cached
    definitions, and the next call sees the new ones.
    """

    def __init__(
        self,
        msg: str,
        *,
        schema: str | None = None,
        data_type: str | None = None,
        position: str | None = None,
    ) -> None:
        super().__init__(msg)
        self.schema_name = schema
        self.data_type_name = data_type
        self.position = position


class TargetServerAttributeNotMatched(InternalClientError):
    """No host matched ``target_session_attrs``."""

    # Nothing has run, and a failover may give a host the required role at any time.
    safe_to_retry = True


class InvalidCachedStatementError(FeatureNotSupportedError):
    """A prepared statement no longer fits the tables it reads: its result changed shape.

    The server, or the driver, reports it before anything runs, under the SQLSTATE of unsupported
    features.
    """

    @property
    def safe_to_retry(self) -> bool:
        """True: it is enough to prepare the statement again."""
        return True


class DecodeError(DataError):
    """A value sent by the server does not fit the type of its column.

    ``row`` counts from 0 in the whole result. The statement itself has run.
    """

    def __init__(self, column: str, type_name: str, row: int, reason: str) -> None:
        super().__init__(f'column "{column}" ({type_name}), row {row}: {reason}')
        self.column = column
        self.column_name = column
        self.type_name = type_name
        self.data_type_name = type_name
        self.row = row
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.column, self.type_name, self.row, self.reason), self.__dict__


class OutdatedTypeError(DecodeError, OutdatedSchemaCacheError):
    """The type of a composite value was altered since the driver read the catalogs.

    The next query with this type reads them again.
    """

    # The statement has run.
    safe_to_retry: bool = False  # pyright: ignore[reportIncompatibleMethodOverride]


class EncodeError(DataError):
    """An argument cannot be sent as the type the statement expects; nothing was sent."""


class IncompleteTableError(InternalClientError):
    """A table that was read over HTTP is not complete: it was cut, or its server failed."""

    # Reading a table again changes nothing on the server.
    safe_to_retry = True


class FaultyTableError(InternalClientError):
    """The bytes of a table that was read over HTTP are not valid."""
