"""Tracing: a span for each query, with OpenTelemetry's attribute names for databases; pool events.

    colonnade.tracing.set_tracer(colonnade.tracing.OpenTelemetryTracer())

Any object with the two methods of `Tracer` is a tracer, and there may be several: `set_tracer` sets
the application's own, `add_tracer` adds others. Nothing is wrapped or replaced: each query looks
for the tracers, and without one that look is the only cost.
"""

from __future__ import annotations

import contextlib
import importlib
import threading
import time
from typing import TYPE_CHECKING, Any, Literal, Protocol

from colonnade._words.outside_gc import OutsideGc

if TYPE_CHECKING:
    from collections.abc import Mapping

    Attribute = str | int | float | bool
    PoolEvent = Literal["created", "acquired", "released", "timed_out"]

__all__ = [
    "OpenTelemetryTracer",
    "PoolObserver",
    "Tracer",
    "add_pool_observer",
    "add_tracer",
    "remove_pool_observer",
    "remove_tracer",
    "set_tracer",
]


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
        `colonnade.server_wait`, `colonnade.transfer`, `colonnade.decode`, `colonnade.loop_delay`.
        """


class PoolObserver(Protocol):
    """An object that is told of events of the connections of pools.

    An exception that it raises is logged, and changes nothing for the pool and its caller.
    """

    def pool_event(self, pool: Any, event: PoolEvent, seconds: float) -> None:
        """Note an event of a pool (`colonnade.Pool` or `colonnade.sync.Pool`).

        `created`: a connection was opened, with the pool's `init`; `seconds` is how long that took.
        `acquired`: a caller got a connection, for one query or with `acquire`, after `seconds` of
        waiting; called in the caller's context. `released`: the pool has the connection again, or
        it was closed; the caller and the reset had it for `seconds`. `timed_out`: no connection was
        free within the `timeout` of an `acquire`, which is `seconds`.

        In a blocking pool, a connection that is dropped without being released is not told of.
        """


active: Tracer | None = None
"""The tracer of every query: the only one, or one that calls them all; None without tracing."""

pool_observers: tuple[PoolObserver, ...] = ()
"""The observers that every pool calls, in the order in which they were added."""

_lock = threading.Lock()
_own: Tracer | None = None
_added: tuple[Tracer, ...] = ()


def set_tracer(tracer: Tracer | None) -> None:
    """Use this tracer for all later queries of the process instead of the one set before.

    None ends its tracing. Tracers that were added with `add_tracer` stay.
    """
    global _own  # noqa: PLW0603 - one such tracer per process, as in OpenTelemetry
    with _lock:
        _own = tracer
        _choose()


def add_tracer(tracer: Tracer) -> None:
    """Call this tracer, too, for all later queries of the process.

    The tracers of a query start in the order in which they were added, after the one of
    `set_tracer`, and end in the opposite order. Raises ValueError if the tracer is there already.
    """
    global _added  # noqa: PLW0603 - the tracers of a process are one list
    with _lock:
        if any(present is tracer for present in _added):
            raise ValueError("this tracer was added before; remove_tracer() removes it")
        _added = (*_added, tracer)
        _choose()


def remove_tracer(tracer: Tracer) -> None:
    """Stop calling a tracer that `add_tracer` added; queries that have begun still end with it.

    Raises ValueError if it is not there.
    """
    global _added  # noqa: PLW0603 - see add_tracer
    with _lock:
        rest = tuple(present for present in _added if present is not tracer)
        if len(rest) == len(_added):
            raise ValueError("this tracer is not there: it was never added, or was removed before")
        _added = rest
        _choose()


def add_pool_observer(observer: PoolObserver) -> None:
    """Tell this observer of all later events of all pools of the process.

    Raises ValueError if it is there already.
    """
    global pool_observers  # noqa: PLW0603 - see add_tracer
    with _lock:
        if any(present is observer for present in pool_observers):
            raise ValueError("this observer was added before; remove_pool_observer() removes it")
        pool_observers = (*pool_observers, observer)


def remove_pool_observer(observer: PoolObserver) -> None:
    """Stop telling an observer that `add_pool_observer` added.

    Raises ValueError if it is not there.
    """
    global pool_observers  # noqa: PLW0603 - see add_tracer
    with _lock:
        rest = tuple(present for present in pool_observers if present is not observer)
        if len(rest) == len(pool_observers):
            raise ValueError(
                "this observer is not there: it was never added, or was removed before"
            )
        pool_observers = rest


def _choose() -> None:
    global active  # noqa: PLW0603 - see set_tracer
    tracers = _added if _own is None else (_own, *_added)
    active = tracers[0] if len(tracers) == 1 else _Several(tracers) if tracers else None


class _Several:
    """Several tracers as one: each gets its own span of every query."""

    def __init__(self, tracers: tuple[Tracer, ...]) -> None:
        self._tracers = tracers

    def query_started(self, name: str, attributes: Mapping[str, Attribute]) -> Any:
        """Begin a span with each; if one raises, those that have begun end with its error."""
        spans: list[tuple[Tracer, Any]] = []
        try:
            for tracer in self._tracers:
                span = tracer.query_started(name, dict(attributes))
                spans.append((tracer, span))
        except BaseException as error:
            self.query_ended(spans, {}, error)
            raise
        return spans

    def query_ended(
        self, span: Any, attributes: Mapping[str, Attribute], error: BaseException | None
    ) -> None:
        """End every span, the last first, also where a tracer raises; its error is raised then."""
        with contextlib.ExitStack() as ends:
            for tracer, own_span in span:
                ends.callback(tracer.query_ended, own_span, dict(attributes), error)


class OpenTelemetryTracer:
    """Makes spans with `opentelemetry-api`; a query's span is a child of the current span.

    Raises ImportError if `opentelemetry-api` is not installed.
    """

    def __init__(self, tracer_provider: Any = None) -> None:
        trace: Any = importlib.import_module("opentelemetry.trace")
        self._trace = trace
        self._tracer = trace.get_tracer("colonnade", tracer_provider=tracer_provider)
        self._calls = OutsideGc()

    def query_started(self, name: str, attributes: Mapping[str, Attribute]) -> Any:
        """Start the span of a query."""
        kind = self._trace.SpanKind.CLIENT
        return self._tracer.start_span(name, kind=kind, attributes=dict(attributes))

    def query_ended(
        self, span: Any, attributes: Mapping[str, Attribute], error: BaseException | None
    ) -> None:
        """End the span of a query."""
        ended_ns = time.time_ns()
        status = None if error is None else str(error)

        def end() -> None:
            span.set_attributes(dict(attributes))
            if status is not None:
                span.set_status(self._trace.StatusCode.ERROR, status)
            span.end(ended_ns)

        # The collector may end a stream while this thread holds a lock of the SDK.
        self._calls.call(end)
