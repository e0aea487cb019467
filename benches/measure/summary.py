"""Summaries of several runs: medians, minima, and ratios between peers."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from benches.measure.measurement import Failure, Measurement

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from benches.measure.peer import Peer
    from benches.measure.runner import Run

Statistic = Literal["median", "minimum"]
#: The figures of a run that are summarised.
FIGURES = (
    "wall_s",
    "cpu_s",
    "peak_memory_bytes",
    "memory_ratio",
    "result_bytes",
    "wire_bytes",
    "loop_gap_s",
    "loop_burst_s",
    "idle_gap_s",
)
#: The figures that are compared between peers.
COMPARED = ("wall_s", "cpu_s", "peak_memory_bytes")


@dataclass
class Summary:
    """The runs of one peer on one shape."""

    peer: Peer
    runs: list[Measurement] = field(default_factory=list)
    failure: str | None = None

    def figure(self, name: str, statistic: Statistic = "median") -> float | None:
        """Summarise one figure; `None` if no run has it."""
        values = [value for run in self.runs if (value := getattr(run, name)) is not None]
        if not values:
            return None
        return float(statistics.median(values) if statistic == "median" else min(values))

    def ratio(self, base: Summary, name: str, statistic: Statistic = "median") -> float | None:
        """Return one figure's ratio to the same figure of another peer."""
        own, other = self.figure(name, statistic), base.figure(name, statistic)
        if own is None or not other:
            return None
        return own / other

    def to_dict(self, others: Iterable[Summary]) -> dict[str, Any]:
        """Return runs, summaries and the ratios to every other peer for JSON."""
        answer: dict[str, Any] = {"title": self.peer.title, "kind": self.peer.kind}
        if self.failure is not None:
            answer["failure"] = self.failure
        if not self.runs:
            return answer
        statistic: Statistic
        for statistic in ("median", "minimum"):
            answer[statistic] = {name: self.figure(name, statistic) for name in FIGURES}
        answer["ratios"] = {
            other.peer.name: {
                name: {
                    "median": self.ratio(other, name),
                    "minimum": self.ratio(other, name, "minimum"),
                }
                for name in COMPARED
            }
            for other in others
            if other.runs
        }
        answer["runs"] = [run.to_dict() for run in self.runs]
        return answer


class Summaries:
    """The runs of all peers on one shape, in the order of the peers."""

    def __init__(self, peers: Iterable[Peer]) -> None:
        self._by_name = {peer.name: Summary(peer) for peer in peers}

    def __iter__(self) -> Iterator[Summary]:
        return iter(self._by_name.values())

    def add(self, run: Run, outcome: Measurement | Failure) -> None:
        """Add the result of one run."""
        summary = self._by_name[run.peer.name]
        if isinstance(outcome, Failure):
            summary.failure = outcome.reason
        else:
            summary.runs.append(outcome)

    def base(self, name: str) -> Summary | None:
        """Return the peer that others are compared with, if it ran."""
        summary = self._by_name.get(name)
        return summary if summary is not None and summary.runs else None

    def to_dict(self) -> dict[str, Any]:
        """Return all peers for JSON."""
        return {summary.peer.name: summary.to_dict(self) for summary in self}
