"""The reports of the processes as tables, which the page reads as Arrow."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from examples.service.page.reports import has_ended

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import colonnade
    from examples.service.page.reports import Report

CAUSES = ("pool", "loop", "deadline", "draining")
_INT, _FLOAT, _TEXT = np.int32, np.float64, np.str_
_SECOND = {
    "answered": _INT,
    "failed": _INT,
    "utilization": _FLOAT,
    "lag_p50": _FLOAT,
    "lag_p99": _FLOAT,
    "stalled": _FLOAT,
    "stalls": _INT,
    "collected": _FLOAT,
    "tasks": _INT,
    "size": _INT,
    "busy": _INT,
    "waiting": _INT,
    "size_max": _INT,
    "waited": _INT,
    "wait_seconds": _FLOAT,
    "failures": _INT,
    "load": _FLOAT,
}


class Tables:
    """Makes tables of reports.

    Colonnade makes `Columns` of answers of a server only, and lets columns be added to them; so
    every table begins as rows of one that the process has.
    """

    def __init__(self, any_columns: colonnade.Columns) -> None:
        self._any = any_columns

    def processes(self, reports: Sequence[Report], since: int) -> colonnade.Columns:
        """A row for each process: its state, and whether it answers this request."""
        del since
        now = time.time()
        return self._made(
            {
                "process": (np.int32, [one.process for one in reports]),
                "started": (_FLOAT, [one.started for one in reports]),
                "state": (_TEXT, ["ended" if has_ended(one) else one.state for one in reports]),
                "silent": (_FLOAT, [max(0.0, now - one.written) for one in reports]),
                "answers": (np.bool_, [one.process == os.getpid() for one in reports]),
                "deadline": (_FLOAT, [one.deadline for one in reports]),
            }
        )

    def seconds(self, reports: Sequence[Report], since: int) -> colonnade.Columns:
        """A row for each process and second."""
        rows = list(_seconds(reports, since))
        columns: dict[str, tuple[Any, list[Any]]] = {
            "second": (_FLOAT, [row["second"] for _, row in rows]),
            "process": (_INT, [process for process, _ in rows]),
        }
        for name, kind in _SECOND.items():
            columns[name] = (kind, [row[name] for _, row in rows])
        for cause in CAUSES:
            columns[f"refused_{cause}"] = (_INT, [row["refused"].get(cause, 0) for _, row in rows])
        return self._made(columns)

    def latencies(self, reports: Sequence[Report], since: int) -> colonnade.Columns:
        """How many answers of all processes took how long, by second and bucket."""
        rows = [
            (row["second"], int(bucket), count)
            for _, row in _seconds(reports, since)
            for bucket, count in row["latencies"].items()
        ]
        table = self._made(
            {
                "second": (_FLOAT, [row[0] for row in rows]),
                "bucket": (_INT, [row[1] for row in rows]),
                "answers": (_FLOAT, [row[2] for row in rows]),
            }
        )
        return table.group_by("second", "bucket").aggregate(answers=("answers", "sum"))

    def stalls(self, reports: Sequence[Report], since: int) -> colonnade.Columns:
        """A row for each stall of an event loop."""
        del since
        rows = sorted(
            ((one.process, stall) for one in reports for stall in one.stalls),
            key=lambda row: row[1]["at"],
        )
        return self._made(
            {
                "process": (_INT, [process for process, _ in rows]),
                "at": (_FLOAT, [stall["at"] for _, stall in rows]),
                "cause": (_TEXT, [stall["cause"] for _, stall in rows]),
                "seconds": (_FLOAT, [stall["seconds"] for _, stall in rows]),
                "place": (_TEXT, [stall["place"] for _, stall in rows]),
            }
        )

    def lanes(self, reports: Sequence[Report], since: int) -> colonnade.Columns:
        """A row for each phase of the requests that were the slowest of their second."""
        del since
        rows = [
            (report.process, request, span)
            for report in reports
            for request in report.requests
            # A request without phases still has a lane.
            for span in request["spans"] or [(0, "", "", 0.0, 0.0)]
        ]
        spans = [span for _, _, span in rows]
        return self._made(
            {
                "process": (_INT, [process for process, _, _ in rows]),
                "id": (_TEXT, [request["id"] for _, request, _ in rows]),
                "route": (_TEXT, [request["route"] for _, request, _ in rows]),
                "status": (_INT, [request["status"] for _, request, _ in rows]),
                "ended": (_FLOAT, [request["ended"] for _, request, _ in rows]),
                "total": (_FLOAT, [request["seconds"] for _, request, _ in rows]),
                "lane": (_INT, [span[0] for span in spans]),
                "phase": (_TEXT, [span[1] for span in spans]),
                "name": (_TEXT, [span[2] for span in spans]),
                "start": (_FLOAT, [span[3] for span in spans]),
                "seconds": (_FLOAT, [span[4] for span in spans]),
            }
        )

    def _made(self, columns: Mapping[str, tuple[Any, list[Any]]]) -> colonnade.Columns:
        (_, first), *_ = columns.values()
        table = self._any.take(np.zeros(len(first), np.int64))
        arrays = {name: np.array(values, dtype=kind) for name, (kind, values) in columns.items()}
        return table.with_columns(arrays).select(*columns)


def _seconds(reports: Sequence[Report], since: int) -> list[tuple[int, dict[str, Any]]]:
    return [
        (report.process, row)
        for report in reports
        for row in report.seconds
        if row["second"] >= since
    ]


TABLES: Mapping[str, Callable[[Tables, Sequence[Report], int], colonnade.Columns]] = {
    "processes": Tables.processes,
    "seconds": Tables.seconds,
    "latencies": Tables.latencies,
    "stalls": Tables.stalls,
    "lanes": Tables.lanes,
}
