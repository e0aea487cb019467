"""The report of a process on its last two minutes, where all processes of the service find it.

Each process writes a file of its own. It stays when the process has ended, so a picture of the
service has no gap where a process was replaced.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterable

#: How much of the past is kept, in seconds.
KEPT_SECONDS = 120
_SHOWN_REQUESTS_SECONDS = 12
_FORGOTTEN_SECONDS = 2 * KEPT_SECONDS
_FILES_MAX = 200
_STALLS_MAX = 200


@dataclass(slots=True)
class Second:
    """A second of a process; durations are in seconds."""

    second: int
    """Since the epoch."""
    answered: int = 0
    """Requests with an answer of the service's own, refusals not counted."""
    failed: int = 0
    """Those of them with a status from 500, or without one."""
    refused: dict[str, int] = field(default_factory=dict)
    """By cause."""
    latencies: dict[str, int] = field(default_factory=dict)
    """How many answers took how long, by the number of the bucket."""
    utilization: float = 0.0
    lag_p50: float = 0.0
    lag_p99: float = 0.0
    stalled: float = 0.0
    """How long the loop has not answered at the end of the second."""
    stalls: int = 0
    collected: float = 0.0
    """The time of the garbage collector."""
    tasks: int = 0
    size: int = 0
    """The connections of the pool, and the next ones likewise."""
    busy: int = 0
    waiting: int = 0
    size_max: int = 0
    waited: int = 0
    wait_seconds: float = 0.0
    failures: int = 0
    """Connections that could not be opened, or were lost."""
    load: float = 0.0
    """The units under way at the gate."""


@dataclass(slots=True)
class Report:
    """The report of a process."""

    process: int
    started: float
    deadline: float
    state: str = "serving"
    """`serving`, `draining` or `ended`."""
    written: float = 0.0
    seconds: list[dict[str, Any]] = field(default_factory=list)
    stalls: list[dict[str, Any]] = field(default_factory=list)
    """Each with `at`, `cause`, `seconds`, `place`."""
    requests: list[dict[str, Any]] = field(default_factory=list)
    """The slowest of each second, with their `spans`."""

    def add(
        self, second: Second, stalls: Iterable[dict[str, Any]], requests: Iterable[dict[str, Any]]
    ) -> None:
        """Add a second, and forget the oldest."""
        self.seconds = [*self.seconds, asdict(second)][-KEPT_SECONDS:]
        oldest = second.second - KEPT_SECONDS
        self.stalls = [one for one in [*self.stalls, *stalls] if one["at"] > oldest][-_STALLS_MAX:]
        shown = second.second - _SHOWN_REQUESTS_SECONDS
        self.requests = [one for one in [*self.requests, *requests] if one["ended"] > shown]


class Reports:
    """The reports of all processes: files in a folder; without one, this process alone."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder) if folder else None
        self._own: Report | None = None
        self._read: dict[Path, tuple[int, Report]] = {}

    def write(self, report: Report) -> None:
        """Keep the report of this process, and show it to the others; OSError if that fails."""
        report.written = time.time()
        self._own = report
        if self._folder is None:
            return
        path = self._folder / f"{report.process}.json"
        new = path.with_suffix(".new")
        try:
            new.write_bytes(orjson.dumps(report))
            new.replace(path)
        except OSError:
            with contextlib.suppress(OSError):
                new.unlink()
            raise
        self._remove_old()

    def all(self) -> list[Report]:
        """The reports of this process and of the others, by process."""
        found = {} if self._own is None else {self._own.process: self._own}
        files = sorted(self._folder.glob("*.json"))[:_FILES_MAX] if self._folder else []
        kept = {}
        for path in files:
            with contextlib.suppress(OSError, ValueError, TypeError):
                kept[path] = self._read_again(path)
                report = kept[path][1]
                if time.time() - report.written < KEPT_SECONDS:
                    found.setdefault(report.process, report)
        self._read = kept
        return [found[process] for process in sorted(found)]

    def _read_again(self, path: Path) -> tuple[int, Report]:
        """A report, and the time of its file: most have not changed since the last look."""
        changed = path.stat().st_mtime_ns
        known = self._read.get(path)
        if known is not None and known[0] == changed:
            return known
        return changed, Report(**orjson.loads(path.read_bytes()))

    def _remove_old(self) -> None:
        assert self._folder is not None
        for path in self._folder.glob("*.json"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > _FORGOTTEN_SECONDS:
                    path.unlink()


def has_ended(report: Report) -> bool:
    """Whether the process of a report is gone, also one that could not say so."""
    if report.state == "ended":
        return True
    try:
        os.kill(report.process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
