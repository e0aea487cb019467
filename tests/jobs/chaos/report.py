"""The table at the end of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.jobs.chaos.verdict import judge

if TYPE_CHECKING:
    from tests.jobs.chaos.conductor import Report


def lines(report: Report) -> tuple[list[str], bool]:
    """The lines for a person to read, and whether the queue has kept its promises."""
    verdict = judge(report.evidence)
    failures = report.failures + verdict.failures
    plan = report.evidence.plan
    workers = len({event.worker for event in report.evidence.events})
    speed = plan.jobs / report.seconds
    told = [
        f"{plan.jobs} jobs, {plan.mode}, layout {plan.layout}: {report.seconds:.1f} s",
        f"{speed:,.0f} jobs/s among all faults",
        f"{workers} processes of workers, {len(report.evidence.killed)} of them killed",
        f"{report.repeated_adds} adds repeated, because their answers were lost",
        "injected:",
    ]
    told += [f"  {times:6}  {each.value}" for each, times in report.injected.most_common()]
    told += [f"{count:8}  {name}" for name, count in sorted(verdict.counts.items())]
    if verdict.duplicates:
        told.append("done again, because:")
        told += [f"  {times:6}  {cause}" for cause, times in verdict.duplicates.most_common()]
    told += [f"FAILURE: {failure}" for failure in failures]
    told.append(f"verdict: {'BROKEN' if failures else 'kept'}")
    return told, not failures
