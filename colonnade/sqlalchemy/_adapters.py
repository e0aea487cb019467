"""What stands for a module of PEP 249, whose parameters are PostgreSQL's own `$1`, `$2`, ..."""

from __future__ import annotations

from typing import Any

from sqlalchemy.util import await_only

import colonnade
import colonnade.sync
from colonnade._pep249 import errors
from colonnade.sqlalchemy._connection import (
    AdaptedConnection,
    AsyncAdaptedConnection,
    raise_translated,
)


class BlockingAdapter:
    """Colonnade's blocking connections."""

    apilevel = "2.0"
    threadsafety = 1
    paramstyle = "numeric_dollar"

    Warning = errors.Warning
    Error = errors.Error
    InterfaceError = errors.InterfaceError
    DatabaseError = errors.DatabaseError
    DataError = errors.DataError
    OperationalError = errors.OperationalError
    IntegrityError = errors.IntegrityError
    InternalError = errors.InternalError
    ProgrammingError = errors.ProgrammingError
    NotSupportedError = errors.NotSupportedError

    Binary = bytes

    @property
    def __version__(self) -> str:
        """Colonnade's version."""
        return colonnade.__version__

    def connect(self, **arguments: Any) -> AdaptedConnection:
        """A connection; `creator` and `connect_args` of the engine have the driver's words."""
        try:
            return AdaptedConnection(colonnade.sync.connect(**arguments))
        except Exception as error:  # noqa: BLE001 - each becomes one of PEP 249's
            raise_translated(error)


class AsyncioAdapter(BlockingAdapter):
    """Colonnade's asyncio connections."""

    def connect(self, **arguments: Any) -> AdaptedConnection:
        """A connection; with `async_creator_fn` one that this coroutine function gives."""
        create = arguments.pop("async_creator_fn", colonnade.connect)
        try:
            return AsyncAdaptedConnection(await_only(create(**arguments)))
        except Exception as error:  # noqa: BLE001 - each becomes one of PEP 249's
            raise_translated(error)
