"""Errors that the client itself raises.

Three families, never mixed:

- the caller did something wrong: ``InterfaceError``;
- the server, or something between it and us, did something wrong, or our own state is out of date:
  ``InternalClientError``;
- a value does not fit the type it shall have: ``DataError``, the class of SQLSTATE 22000 that the
  server raises for the same mistake, so that one ``except`` clause covers both sides.
"""

from __future__ import annotations

from typing import Any

from colonnade.errors._base import with_detail_and_hint
from colonnade.errors._sqlstate import DataError, FeatureNotSupportedError


class _InterfaceMessage:
    """A text with optional detail and hint, printed the way the server's errors are."""

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
    """A decimal became a float64 that does not hold it, in columns of pandas.

    The decimal is neither the shortest one that reads back as the float nor exactly the float.
    ``decimals=`` of ``to_pandas`` and ``read_sql`` keeps decimals; ``decimals="float64"``, or
    ``schema={"x": "float64"}`` for one column, says that floats are meant, and nothing warns.
    """


class ClientConfigurationError(InterfaceError, ValueError):
    """Connection options are wrong, contradict each other, or name files that cannot be used."""


class SchemaError(InterfaceError, ValueError):
    """A requested column schema does not fit the result: an unknown name or an impossible cast."""


class DTypeError(SchemaError):
    """The dtype of a query does not match its result: see ``colonnade.rkt``."""


class LocalProtocolError(InterfaceError):
    """The caller asked for something the protocol does not allow, or not at this moment."""


class AuthenticationError(InterfaceError):
    """The client refused to authenticate.

    The server asked for a method that the caller's options forbid or that is not supported, no
    password was given where one is needed (``MissingPasswordError``), or the server failed to prove
    who it is. A server that
    refuses the client raises ``InvalidPasswordError`` or
    ``InvalidAuthorizationSpecificationError`` instead.
    """


class UnsupportedClientFeatureError(InterfaceError):
    """The client does not support what was asked for."""


class UnsupportedServerFeatureError(InterfaceError):
    """The server does not support what was asked for."""


class InternalClientError(Exception):
    """The connection got into a state that the caller did not bring about."""

    safe_to_retry: bool = False
    """Whether the same call may be made again, unchanged."""


class ProtocolError(InternalClientError):
    """The conversation with the server went wrong."""


class RemoteProtocolError(ProtocolError):
    """The peer sent bytes that the protocol does not allow; the connection is closed."""


class OutdatedSchemaCacheError(InternalClientError):
    """A type changed on the server after the client had read its definition.

    The statement may have taken effect, so it is not run again by itself; the cached definitions
    are dropped, and the next call sees the new ones.
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
    """No host was of the kind that ``target_session_attrs`` asks for."""

    # Nothing was run, and a failover may give a host the wanted role at any time.
    safe_to_retry = True


class InvalidCachedStatementError(FeatureNotSupportedError):
    """A prepared statement no longer fits the tables it reads: its result changed shape.

    The server reports it before anything runs, under the SQLSTATE of unsupported features.
    """

    @property
    def safe_to_retry(self) -> bool:
        """True: preparing the statement again is all that is needed."""
        return True


class DecodeError(DataError):
    """A value sent by the server cannot be given as what the column shall be.

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
    """A value that came in pieces has a type that was altered since the catalogs were asked for it.

    The next query of its type asks them again.
    """

    # The statement has run.
    safe_to_retry: bool = False  # pyright: ignore[reportIncompatibleMethodOverride]


class EncodeError(DataError):
    """An argument cannot be sent as the type that the statement expects; nothing was sent."""
