# Generated from colonnade/_async/observed_operation.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""A query of which somebody is told: query loggers, and the tracer of the process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade._sync.observation import Observation
from colonnade._sync.operation import Operation

if TYPE_CHECKING:
    from types import TracebackType

    from colonnade._sync.connection import Connection


class ObservedOperation(Operation):
    """An operation that tells the query loggers and the tracer how it went."""

    def __init__(
        self, connection: Connection, timeout: float | None, query: str, args: Any
    ) -> None:
        super().__init__(connection, timeout, query)
        self._observed = query, args, timeout

    def __enter__(self) -> None:
        """Take the connection, and begin the span."""
        self._observation = Observation(self._connection, *self._observed)
        try:
            super().__enter__()
        except BaseException as error:
            self._observation.refused(error)
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Give the connection back, and tell how it went."""
        failure = error
        try:
            super().__exit__(kind, error, traceback)
        except BaseException as raised:
            # A deadline makes a TimeoutError of what was raised.
            failure = raised
            raise
        finally:
            self._observation.ended(failure)
