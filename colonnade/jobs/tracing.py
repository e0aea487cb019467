"""The trace context of a job: where the work that added it stands in a distributed trace."""

from __future__ import annotations


def current_trace() -> str | None:
    """Return OpenTelemetry's current span as a `traceparent`, for `add(trace=)`.

    None without a current span, or where OpenTelemetry is not installed. The worker finds it in
    `batch.columns["job_trace"]`, and links its own span to it; `colonnade docs jobs` shows how.
    """
    try:
        from opentelemetry.trace.propagation import tracecontext
    except ImportError:
        return None
    carrier: dict[str, str] = {}
    tracecontext.TraceContextTextMapPropagator().inject(carrier)
    return carrier.get("traceparent")
