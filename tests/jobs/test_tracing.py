"""A job carries the trace context of what added it, by the real OpenTelemetry."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

import colonnade
from colonnade import jobs
from colonnade.jobs.definition import LayoutName


@pytest.mark.parametrize("layout", ["rows", "segments"])
async def test_a_worker_links_its_span_to_what_added_the_job(dsn: str, layout: LayoutName) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("test")
    async with colonnade.create_pool(dsn, min_size=1, max_size=2) as pool:
        try:
            queue = await jobs.create_queue(pool, "work", {"a": "int8"}, layout=layout)
            with tracer.start_as_current_span("request"):
                await queue.add({"a": np.arange(3)}, trace=jobs.current_trace())
            await queue.add({"a": [3]}, trace=jobs.current_trace())

            async def handler(batch: jobs.Batch) -> None:
                sources = {text for text in batch.columns["job_trace"].tolist() if text}
                found = [
                    trace.get_current_span(
                        TraceContextTextMapPropagator().extract({"traceparent": text})
                    ).get_span_context()
                    for text in sources
                ]
                links = [trace.Link(context) for context in found]
                with tracer.start_as_current_span("work", links=links):
                    await batch.ack()

            await queue.consume(handler).drain()
        finally:
            await pool.execute("DROP SCHEMA IF EXISTS jobs CASCADE")
    spans = {span.name: span for span in exporter.get_finished_spans()}
    request = spans["request"].context
    (link,) = spans["work"].links
    assert request is not None
    assert (link.context.trace_id, link.context.span_id) == (request.trace_id, request.span_id)


def test_without_a_span_there_is_no_trace() -> None:
    assert jobs.current_trace() is None


def test_without_opentelemetry_there_is_no_trace() -> None:
    script = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "from colonnade import jobs; print(jobs.current_trace())"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert result.stdout == "None\n"
