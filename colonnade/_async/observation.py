"""What is told of a query, to query loggers and to the tracer of the process."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from colonnade import tracing
from colonnade._sql_text import operation_name
from colonnade.errors import PostgresError

if TYPE_CHECKING:
    from colonnade._async.connection import Connection
    from colonnade._core import QueryTiming
    from colonnade.tracing import Attribute

_PHASES = ("pool_wait", "prepare", "send", "server_wait", "transfer", "decode")


class Observation:
    """One query, from its start to its end; the span of it begins at once.

    Made where somebody is to be told, and nowhere else.
    """

    def __init__(
        self, connection: Connection, query: str, args: Any, timeout: float | None
    ) -> None:
        self._connection = connection
        self._query = query
        self._args = args
        self._timeout = timeout
        self._tracer = tracing.active
        self._span: Any = None
        self._started = time.perf_counter()
        if self._tracer is not None:
            operation = operation_name(query)
            database = connection._database  # noqa: SLF001 - part of its connection, as below
            attributes = _attributes(connection, query, operation)
            self._span = self._tracer.query_started(f"{operation} {database}", attributes)

    def refused(self, error: BaseException) -> None:
        """The query was never begun: only the span ends."""
        if self._tracer is not None:
            self._tracer.query_ended(self._span, _outcome(None, error), error)

    def ended(self, error: BaseException | None) -> None:
        """The query has ended, with an error or well."""
        elapsed = time.perf_counter() - self._started
        connection = self._connection
        told = (self._query, self._args, self._timeout, elapsed, error)
        connection._queried(*told)  # noqa: SLF001
        if self._tracer is not None:
            outcome = _outcome(connection.last_timing, error)
            self._tracer.query_ended(self._span, outcome, error)


def _attributes(connection: Connection, query: str, operation: str) -> dict[str, Attribute]:
    place = connection._addr  # noqa: SLF001
    attributes: dict[str, Attribute] = {
        "db.system.name": "postgresql",
        "db.namespace": connection._database,  # noqa: SLF001
        "db.query.text": query,
        "db.operation.name": operation,
    }
    if isinstance(place, str):
        attributes["server.address"] = place
    else:
        attributes["server.address"], attributes["server.port"] = place
    return attributes


def _outcome(timing: QueryTiming | None, error: BaseException | None) -> dict[str, Attribute]:
    attributes: dict[str, Attribute] = {}
    if timing is not None:
        attributes |= {f"colonnade.{phase}": getattr(timing, phase) for phase in _PHASES}
        attributes["db.response.returned_rows"] = timing.rows
    if error is not None:
        kind = type(error)
        attributes["error.type"] = f"{kind.__module__}.{kind.__qualname__}"
        if isinstance(error, PostgresError) and error.sqlstate:
            attributes["db.response.status_code"] = error.sqlstate
    return attributes
