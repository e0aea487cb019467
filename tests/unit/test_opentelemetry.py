"""Spans of queries, recorded by OpenTelemetry's own library."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

import colonnade
from colonnade import tracing

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def exporter() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracing.set_tracer(tracing.OpenTelemetryTracer(provider))
    try:
        yield exporter
    finally:
        tracing.set_tracer(None)


def test_a_query_is_a_client_span(dsn: str, exporter: InMemorySpanExporter) -> None:
    with colonnade.sync.connect(dsn) as connection:
        connection.fetch("SELECT generate_series(1, $1::int)", 3)
    (span,) = exporter.get_finished_spans()
    assert span.name.startswith("SELECT ")
    assert span.kind is SpanKind.CLIENT
    assert span.status.status_code is StatusCode.UNSET
    assert span.attributes is not None
    assert span.attributes["db.system.name"] == "postgresql"
    assert span.attributes["db.query.text"] == "SELECT generate_series(1, $1::int)"
    assert span.attributes["db.response.returned_rows"] == 3


def test_a_failed_query_is_a_failed_span(dsn: str, exporter: InMemorySpanExporter) -> None:
    with (
        colonnade.sync.connect(dsn) as connection,
        pytest.raises(colonnade.DivisionByZeroError),
    ):
        connection.execute("SELECT 1 / 0")
    (span,) = exporter.get_finished_spans()
    assert span.status.status_code is StatusCode.ERROR
    assert span.status.description == "division by zero"
    assert span.attributes is not None
    assert span.attributes["db.response.status_code"] == "22012"


def test_a_stream_that_the_collector_ends_is_told_later(
    dsn: str, exporter: InMemorySpanExporter
) -> None:
    """The library has locks, and the collector may strike while its thread holds one."""

    class Cycle:
        def __init__(self, stream: object) -> None:
            self.itself = self
            self.stream = stream

    with colonnade.sync.connect(dsn) as connection:
        gc.disable()
        try:
            stream = connection.iter_columns("SELECT generate_series(1, 1000000)")
            next(iter(stream))
            cycle = Cycle(stream)
            del stream, cycle
            gc.collect()
        finally:
            gc.enable()
        assert not exporter.get_finished_spans()
        connection.fetchval("SELECT 1")
    assert len(exporter.get_finished_spans()) == 2
