# Generated from colonnade/_driver/_async/observation.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""Reports on queries to query loggers and to the process's tracer."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from colonnade import tracing
from colonnade._driver.logged_query import LoggedQuery
from colonnade._driver.sql.sql_text import operation_name
from colonnade.errors import PostgresError

if TYPE_CHECKING:
    from collections.abc import Callable

    from colonnade._core import QueryTiming
    from colonnade._driver._sync.callbacks import Callbacks
    from colonnade._driver._sync.login import Login
    from colonnade.tracing import Attribute

_PHASES = ("pool_wait", "prepare", "send", "server_wait", "transfer", "decode", "loop_delay")


class Observers:
    """The observers of a connection's queries: its loggers, and the process's tracer."""

    def __init__(
        self, login: Login, callbacks: Callbacks, timing: Callable[[], QueryTiming | None]
    ) -> None:
        self.login = login
        self.timing = timing
        self._callbacks = callbacks
        self._loggers = callbacks.query_loggers

    def are_there(self) -> bool:
        """Whether there are any observers."""
        return bool(self._loggers) or tracing.active is not None

    def begin(self, query: str, args: Any, timeout: float | None) -> Observation:
        """Begin to observe a query; its span begins at once."""
        return Observation(self, query, args, timeout)

    def tell(
        self,
        query: str,
        args: Any,
        timeout: float | None,
        elapsed: float,
        failure: BaseException | None,
    ) -> None:
        """Report a query that has ended to the loggers."""
        where, who = self.login.place, self.login.parameters
        record = LoggedQuery(query, args, timeout, elapsed, failure, where, who, self.timing())
        self._callbacks.tell(self._loggers, record)


class Observation:
    """One query, from its start to its end; its span begins immediately.

    Made only if there are observers.
    """

    def __init__(self, observers: Observers, query: str, args: Any, timeout: float | None) -> None:
        self._observers = observers
        self._query = query
        self._args = args
        self._timeout = timeout
        self._tracer = tracing.active
        self._span: Any = None
        self._started = time.perf_counter()
        if self._tracer is not None:
            operation = operation_name(query)
            attributes = _attributes(observers.login, query, operation)
            name = f"{operation} {observers.login.database}"
            self._span = self._tracer.query_started(name, attributes)

    def refused(self, error: BaseException) -> None:
        """The query was never begun: end only the span."""
        if self._tracer is not None:
            self._tracer.query_ended(self._span, _outcome(None, error), error)

    def ended(self, error: BaseException | None) -> None:
        """The query has ended, with an error or successfully."""
        elapsed = time.perf_counter() - self._started
        self._observers.tell(self._query, self._args, self._timeout, elapsed, error)
        if self._tracer is not None:
            outcome = _outcome(self._observers.timing(), error)
            self._tracer.query_ended(self._span, outcome, error)


def _attributes(login: Login, query: str, operation: str) -> dict[str, Attribute]:
    place = login.place
    attributes: dict[str, Attribute] = {
        "db.system.name": "postgresql",
        "db.namespace": login.database,
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
