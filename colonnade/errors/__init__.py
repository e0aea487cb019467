"""Every exception that Colonnade raises, and the messages that servers send without an error.

Errors of the server are subclasses of ``PostgresError``, one per SQLSTATE, each under the class of
its first two characters: ``UniqueViolationError`` (23505) is an
``IntegrityConstraintViolationError`` (23000). An unknown SQLSTATE becomes the class of its first
two characters, or ``UnknownPostgresError``; ``sqlstate`` is always the code that the server sent.
Errors of the client are in ``colonnade.errors._client`` and explained there.

Every error has ``safe_to_retry``. Timeouts are Python's own ``TimeoutError``, failures to reach the
server are ``OSError``.
"""

from __future__ import annotations

from colonnade._words.arguments import ArgumentTypeError
from colonnade.errors import _sqlstate
from colonnade.errors._base import (
    FIELD_NAMES,
    RETRYABLE_SQLSTATES,
    FatalPostgresError,
    PostgresError,
    PostgresLogMessage,
    PostgresMessage,
    UnknownPostgresError,
)
from colonnade.errors._client import (
    AuthenticationError,
    ClientConfigurationError,
    ConfigurationTypeError,
    DeadlineError,
    DecodeError,
    DTypeError,
    EncodeError,
    FaultyTableError,
    IncompleteTableError,
    InexactDecimalWarning,
    InterfaceError,
    InterfaceTypeError,
    InterfaceValueError,
    InterfaceWarning,
    InternalClientError,
    InvalidCachedStatementError,
    LocalProtocolError,
    OutdatedSchemaCacheError,
    OutdatedTypeError,
    PoolExhaustedError,
    ProtocolError,
    RemoteProtocolError,
    SchemaError,
    StructError,
    TargetServerAttributeNotMatched,
    UnsupportedClientFeatureError,
    UnsupportedServerFeatureError,
)
from colonnade.errors._from_fields import (
    closed_by_server as closed_by_server,
    error_class as error_class,
    from_fields as from_fields,
    log_message_from_fields as log_message_from_fields,
)
from colonnade.errors._password import MissingPasswordError
from colonnade.errors._sqlstate import *  # noqa: F403

# Without the functions that make exceptions: `import *` brings those to the public name.
__all__ = [
    "FIELD_NAMES",
    "RETRYABLE_SQLSTATES",
    "ArgumentTypeError",
    "AuthenticationError",
    "ClientConfigurationError",
    "ConfigurationTypeError",
    "DTypeError",
    "DeadlineError",
    "DecodeError",
    "EncodeError",
    "FatalPostgresError",
    "FaultyTableError",
    "IncompleteTableError",
    "InexactDecimalWarning",
    "InterfaceError",
    "InterfaceTypeError",
    "InterfaceValueError",
    "InterfaceWarning",
    "InternalClientError",
    "InvalidCachedStatementError",
    "LocalProtocolError",
    "MissingPasswordError",
    "OutdatedSchemaCacheError",
    "OutdatedTypeError",
    "PoolExhaustedError",
    "PostgresError",
    "PostgresLogMessage",
    "PostgresMessage",
    "ProtocolError",
    "RemoteProtocolError",
    "SchemaError",
    "StructError",
    "TargetServerAttributeNotMatched",
    "UnknownPostgresError",
    "UnsupportedClientFeatureError",
    "UnsupportedServerFeatureError",
]
__all__ += _sqlstate.__all__

# Tracebacks and pickles name the public path, which stays when the private modules move.
for _item in [globals()[_name] for _name in __all__]:
    if isinstance(_item, type):
        _item.__module__ = __name__
