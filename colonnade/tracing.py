"""Tracing: a span for each query, with OpenTelemetry's attribute names for databases.

    colonnade.tracing.set_tracer(colonnade.tracing.OpenTelemetryTracer())

Any object with the two methods of `Tracer` is a tracer. Nothing is wrapped or replaced: each query
looks for the tracer, and without one that look is the only cost.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    Attribute = str | int | float | bool

__all__ = ["OpenTelemetryTracer", "Tracer", "set_tracer"]


class Tracer(Protocol):
    """An object that is called at the start and the end of each query.

    Its methods should not raise: an exception of theirs makes the query raise it.
    """

    def query_started(self, name: str, attributes: Mapping[str, Attribute]) -> Any:
        """Begin a span; the returned object is passed to `query_ended`.

        `name` is OpenTelemetry's name of the span: the operation and the database. The attributes
        are `db.system.name`, `db.namespace`, `db.query.text` (without the parameters' values),
        `db.operation.name`, `server.address` and `server.port`.
        """

    def query_ended(
        self, span: Any, attributes: Mapping[str, Attribute], error: BaseException | None
    ) -> None:
        """End a span; `error` is None if the query succeeded.

        The attributes are `db.response.returned_rows`; `error.type` and
        `db.response.status_code` (the SQLSTATE) for an error; and the phases of `QueryTiming` in
        seconds: `colonnade.pool_wait`, `colonnade.prepare`, `colonnade.send`,
        `colonnade.server_wait`, `colonnade.transfer`, `colonnade.decode`.
        """


active: Tracer | None = None
"""The current tracer; None without tracing."""


def set_tracer(tracer: Tracer | None) -> None:
    """Use this tracer for all later queries of the process; None ends tracing."""
    global active  # noqa: PLW0603 - one tracer per process, as in OpenTelemetry
    active = tracer


class OpenTelemetryTracer:
    """Makes spans with `opentelemetry-api`; a query's span is a child of the current span.

    Raises ImportError if `opentelemetry-api` is not installed.
    """

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
