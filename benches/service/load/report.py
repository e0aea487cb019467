"""The figures of a load test, as tables in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from benches.service.load.contest import Result
    from benches.service.load.exports import Exports
    from benches.service.load.workloads import Workload


def contest_lines(workload: Workload, results: Iterable[Result]) -> Iterator[str]:
    """The rate of each, and its limit."""
    yield f"{workload.title} (p99 within {workload.deadline * 1e3:g} ms)"
    yield ""
    yield "| variant | requests/s | p50 ms | p99 ms | CPU ms/request | errors | others' share |"
    yield "|---|---|---|---|---|---|---|"
    limits = []
    for result in results:
        best = result.best
        if best is None:
            yield f"| {result.contestant.title} | none | | | | | |"
        else:
            told = best.outcome
            errors = sum(told.errors().values())
            yield (
                f"| {result.contestant.title} | {told.planned:,.0f}"
                f" | {told.percentile(50) * 1e3:.1f} | {told.percentile(99) * 1e3:.1f}"
                f" | {best.cpu_ms:.2f} | {errors} of {told.sent:,} | {best.usage.others:.0%} |"
            )
        if result.first_failed is not None:
            rate = result.first_failed.outcome.planned
            limits.append(
                f"- {result.contestant.title} at {rate:,.0f}/s: {result.first_failed.limit()}"
            )
    yield ""
    yield from limits
    yield ""


def export_lines(results: Iterable[Exports]) -> Iterator[str]:
    """The exports of each, and the times of the pings."""
    yield "Exports of 300,000 rows, back to back, with 50 pings a second beside them"
    yield ""
    yield "| variant | readers | exports/s | CPU s/export | ping p99 idle | beside | failed |"
    yield "|---|---|---|---|---|---|---|"
    for result in results:
        yield (
            f"| {result.title} | {result.readers} | {result.median('each_second'):.2f}"
            f" | {result.median('cpu_seconds'):.2f} | {result.median('idle_p99') * 1e3:.1f} ms"
            f" | {result.median('busy_p99') * 1e3:.1f} ms | {result.failed} |"
        )
    yield ""
    for result in results:
        yield f"- {result.title} with {result.readers}: {result.limits[-1]}"
    yield ""
