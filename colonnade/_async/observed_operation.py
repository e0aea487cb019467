"""A query of which somebody is told: query loggers, and the tracer of the process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade._async.observation import Observation
from colonnade._async.operation import Operation

if TYPE_CHECKING:
    from types import TracebackType

    from colonnade._async.connection import Connection


class ObservedOperation(Operation):
    """An operation that tells the query loggers and the tracer how it went."""

    def __init__(
        self, connection: Connection, timeout: float | None, query: str, args: Any
    ) -> None:
        super().__init__(connection, timeout, query)
        self._observed = query, args, timeout

    async def __aenter__(self) -> None:
        """Take the connection, and begin the span."""
        self._observation = Observation(self._connection, *self._observed)
        try:
            await super().__aenter__()
        except BaseException as error:
            self._observation.refused(error)
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Give the connection back, and tell how it went."""
        failure = error
        try:
            await super().__aexit__(kind, error, traceback)
        except BaseException as raised:
            # A deadline makes a TimeoutError of what was raised.
            failure = raised
            raise
        finally:
            self._observation.ended(failure)
