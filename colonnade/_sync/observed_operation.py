# Generated from colonnade/_async/observed_operation.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""A query of which somebody is told: query loggers, and the tracer of the process."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

from colonnade._sync.operation import Operation
from colonnade.errors import PostgresError

if TYPE_CHECKING:
    from types import TracebackType

    from colonnade._core import QueryTiming
    from colonnade._sync.connection import Connection
    from colonnade.tracing import Attribute, Tracer

_FIRST_WORD = re.compile(r"\s*(?:--[^\n]*\n\s*|/\*.*?\*/\s*)*([A-Za-z]+)", re.DOTALL)
_PHASES = ("pool_wait", "prepare", "send", "server_wait", "transfer", "decode")


class ObservedOperation(Operation):
    """An operation that tells the query loggers and the tracer how it went."""

    def __init__(
        self,
        connection: Connection,
        timeout: float | None,
        query: str,
        args: tuple[object, ...],
        tracer: Tracer | None,
    ) -> None:
        super().__init__(connection, timeout, query)
        self._text = query
        self._args = args
        self._timeout = timeout
        self._tracer = tracer
        self._span: Any = None
        self._started = time.perf_counter()

    def __enter__(self) -> None:
        """Take the connection, and begin the span."""
        if self._tracer is None:
            super().__enter__()
            return
        operation = _operation_name(self._text)
        database = self._connection._database  # noqa: SLF001 - part of its connection, as below
        attributes = _attributes(self._connection, self._text, operation)
        self._span = self._tracer.query_started(f"{operation} {database}", attributes)
        try:
            super().__enter__()
        except BaseException as error:
            self._tracer.query_ended(self._span, _outcome(None, error), error)
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
            elapsed = time.perf_counter() - self._started
            connection = self._connection
            timing = connection.last_timing
            told = (self._text, self._args, self._timeout, elapsed, failure)
            connection._queried(*told)  # noqa: SLF001
            if self._tracer is not None:
                self._tracer.query_ended(self._span, _outcome(timing, failure), failure)


def _operation_name(query: str) -> str:
    """The command that a text begins with."""
    found = _FIRST_WORD.match(query)
    return found[1].upper() if found else "QUERY"


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
