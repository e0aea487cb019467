"""Tracing: a span for each query, with the names that OpenTelemetry gives to databases.

    colonnade.tracing.set_tracer(colonnade.tracing.OpenTelemetryTracer())

A tracer of one's own has the two methods of `Tracer`. Nothing is wrapped or replaced: connections
ask for the tracer at each query, and without one they ask for nothing else.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    Attribute = str | int | float | bool

__all__ = ["OpenTelemetryTracer", "Tracer", "set_tracer"]


class Tracer(Protocol):
    """Is told of each query.

    The query raises every exception of its methods: a tracer should not raise.
    """

    def query_started(self, name: str, attributes: Mapping[str, Attribute]) -> Any:
        """A query begins; the returned object comes back at its end.

        `name` is that of OpenTelemetry's span: the operation and the database. The attributes are
        `db.system.name`, `db.namespace`, `db.query.text` (without the parameters' values),
        `db.operation.name`, `server.address` and `server.port`.
        """

    def query_ended(
        self, span: Any, attributes: Mapping[str, Attribute], error: BaseException | None
    ) -> None:
        """The query has ended, with an error or well.

        The attributes are `db.response.returned_rows`, `error.type` and
        `db.response.status_code` (the SQLSTATE) where there is an error, and the phases of
        `QueryTiming` in seconds: `colonnade.pool_wait`, `colonnade.prepare`, `colonnade.send`,
        `colonnade.server_wait`, `colonnade.transfer`, `colonnade.decode`.
        """


active: Tracer | None = None
"""The tracer that `set_tracer` has set."""


def set_tracer(tracer: Tracer | None) -> None:
    """Tell this tracer of every query of the process from now on; None ends tracing."""
    global active  # noqa: PLW0603 - one tracer a process, as in OpenTelemetry
    active = tracer


class OpenTelemetryTracer:
    """Makes spans with `opentelemetry-api`; a query's span is a child of the current one."""

    def __init__(self, tracer_provider: Any = None) -> None:
        trace: Any = importlib.import_module("opentelemetry.trace")
        self._trace = trace
        self._tracer = trace.get_tracer("colonnade", tracer_provider=tracer_provider)

    def query_started(self, name: str, attributes: Mapping[str, Attribute]) -> Any:
        """Start the span of a query."""
        kind = self._trace.SpanKind.CLIENT
        return self._tracer.start_span(name, kind=kind, attributes=dict(attributes))

    def query_ended(
        self, span: Any, attributes: Mapping[str, Attribute], error: BaseException | None
    ) -> None:
        """End the span of a query."""
        span.set_attributes(dict(attributes))
        if error is not None:
            span.set_status(self._trace.StatusCode.ERROR, str(error))
        span.end()
