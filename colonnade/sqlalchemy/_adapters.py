"""The objects that SQLAlchemy uses as PEP 249 modules; their paramstyle is `$1`, `$2`, ..."""

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
    """The PEP 249 module of the blocking dialect."""

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
        """Connect; `connect_args` of the engine are arguments of `colonnade.sync.connect`."""
        try:
            return AdaptedConnection(colonnade.sync.connect(**arguments))
        except Exception as error:  # noqa: BLE001 - each becomes one of PEP 249's
            raise_translated(error)


class AsyncioAdapter(BlockingAdapter):
    """The PEP 249 module of the asyncio dialect."""

    def connect(self, **arguments: Any) -> AdaptedConnection:
        """Connect by `colonnade.connect`, or by the coroutine function `async_creator_fn`."""
        create = arguments.pop("async_creator_fn", colonnade.connect)
        try:
            return AsyncAdaptedConnection(await_only(create(**arguments)))
        except Exception as error:  # noqa: BLE001 - each becomes one of PEP 249's
            raise_translated(error)
