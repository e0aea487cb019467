"""What stands for a module of PEP 249, whose parameters are PostgreSQL's own `$1`, `$2`, ..."""

from __future__ import annotations

from typing import Any

from sqlalchemy.util import await_only

import colonnade
import colonnade.sync
from colonnade.sqlalchemy import _errors
from colonnade.sqlalchemy._connection import AdaptedConnection, AsyncAdaptedConnection


class BlockingAdapter:
    """Colonnade's blocking connections."""

    apilevel = "2.0"
    threadsafety = 1
    paramstyle = "numeric_dollar"

    Warning = _errors.Warning
    Error = _errors.Error
    InterfaceError = _errors.InterfaceError
    DatabaseError = _errors.DatabaseError
    DataError = _errors.DataError
    OperationalError = _errors.OperationalError
    IntegrityError = _errors.IntegrityError
    InternalError = _errors.InternalError
    ProgrammingError = _errors.ProgrammingError
    NotSupportedError = _errors.NotSupportedError

    Binary = bytes

    @property
    def __version__(self) -> str:
        """Colonnade's version."""
        return colonnade.__version__

    def connect(self, **arguments: Any) -> AdaptedConnection:
        """A connection; `creator` and `connect_args` of the engine have the driver's words."""
        try:
            return AdaptedConnection(colonnade.sync.connect(**arguments))
        except Exception as error:
            raise _errors.translated(error) from error


class AsyncioAdapter(BlockingAdapter):
    """Colonnade's asyncio connections."""

    def connect(self, **arguments: Any) -> AdaptedConnection:
        """A connection; with `async_creator_fn` one that this coroutine function gives."""
        create = arguments.pop("async_creator_fn", colonnade.connect)
        try:
            return AsyncAdaptedConnection(await_only(create(**arguments)))
        except Exception as error:
            raise _errors.translated(error) from error
