"""The cost of processes, from `/proc`: processors, by role and by thread, and memory."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def with_children(pid: int) -> list[int]:
    """A process, and all that it has started."""
    found = [pid]
    for one in found:
        for path in Path(f"/proc/{one}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                found += map(int, path.read_text("ascii").split())
    return found


def children_with(word: str) -> list[int]:
    """The processes that this one has started whose command has a word in it."""
    found = []
    for pid in with_children(os.getpid())[1:]:
        with contextlib.suppress(OSError):
            if word in Path(f"/proc/{pid}/cmdline").read_text("utf-8", "replace"):
                found.append(pid)
    return found


def resident_bytes(pids: Iterable[int]) -> int:
    """The resident memory of processes; of one that has ended, none."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            total += int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]) * _PAGE
    return total


@dataclass(frozen=True)
class Usage:
    """The seconds of processors between two looks."""

    seconds: float
    """How long it was."""
    processors: int
    by_role: Mapping[str, float]
    busiest: Mapping[str, float]
    """Of each role, the seconds of its busiest thread."""
    machine: float
    """All that ran on the machine."""

    @property
    def others(self) -> float:
        """The share of the machine that others had."""
        total = self.seconds * self.processors
        return max(0.0, self.machine - sum(self.by_role.values())) / total

    @property
    def busy(self) -> float:
        """The share of the machine that was used."""
        return self.machine / (self.seconds * self.processors)

    def share(self, role: str) -> float:
        """How much of one processor the role had."""
        return self.by_role[role] / self.seconds


class Meter:
    """Looks at the processes of some roles when it is made, and when it is read."""

    def __init__(self, roles: Mapping[str, Iterable[int]]) -> None:
        self._roles = {role: list(pids) for role, pids in roles.items()}
        self._began = time.monotonic()
        self._machine = _machine()
        self._threads = {role: _threads(pids) for role, pids in self._roles.items()}

    def read(self) -> Usage:
        """The usage since the beginning."""
        seconds = time.monotonic() - self._began
        machine = _machine() - self._machine
        by_role, busiest = {}, {}
        for role, pids in self._roles.items():
            before = self._threads[role]
            used = [now - before.get(one, 0.0) for one, now in _threads(pids).items()]
            by_role[role], busiest[role] = sum(used), max(used, default=0.0)
        return Usage(seconds, os.cpu_count() or 1, by_role, busiest, machine)


def _threads(pids: Iterable[int]) -> dict[str, float]:
    """The seconds of each thread."""
    found = {}
    for pid in pids:
        for path in Path(f"/proc/{pid}/task").glob("*/stat"):
            with contextlib.suppress(OSError):
                fields = path.read_text("ascii", "replace").rpartition(")")[2].split()
                found[path.parent.name] = (int(fields[11]) + int(fields[12])) / _TICKS
    return found


def _machine() -> float:
    """All but the time that processors were idle."""
    fields = Path("/proc/stat").read_text("ascii").split("\n", 1)[0].split()[1:9]
    return (sum(map(int, fields)) - int(fields[3]) - int(fields[4])) / _TICKS
