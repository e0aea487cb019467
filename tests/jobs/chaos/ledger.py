"""The acts of each worker, in a file of its own that survives the worker's death.

An event is one line, written by one `write`: the kernel has it when the call returns, even if the
process dies, and neither PostgreSQL nor the queue is trusted with it. Only the last line of a
killed process can be torn; then the event did not happen. Times are the machine's monotonic clock,
which all processes share and no fault steps.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

# Kinds of events. A job's effect is WORKED; the last five are the ends of a lease. RELEASING is
# written before the server is asked: a worker may be killed before it knows the answer.
ASKED = "asked"
GOT = "got"
UNANSWERED = "unanswered"
WORKED = "worked"
EXTENDED = "extended"
RELEASING = "releasing"
TROUBLE = "trouble"
WRONG = "wrong"
STOPPED = "stopped"
ACKED = "acked"
LOST = "lost"
UNKNOWN = "unknown"
GIVEN_BACK = "given back"
ABANDONED = "abandoned"

ENDS = frozenset({ACKED, LOST, UNKNOWN, GIVEN_BACK, ABANDONED})


@dataclass
class Event:
    """A line of a ledger. `jobs` are the payloads' numbers, not the queue's ids."""

    kind: str
    worker: str = ""
    began: float = 0.0
    ended: float = 0.0
    token: int | None = None
    jobs: list[int] = field(default_factory=list)
    attempts: list[int] = field(default_factory=list)
    limit: int = 0
    note: str = ""


class Ledger:
    """Appends the events of one process; threads may share it."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def write(
        self,
        kind: str,
        *,
        began: float | None = None,
        token: int | None = None,
        jobs: Iterable[int] = (),
        attempts: Iterable[int] = (),
        limit: int = 0,
        note: str = "",
    ) -> None:
        """Write an event that ends now."""
        now = time.monotonic()
        line = json.dumps(
            {
                "kind": kind,
                "began": now if began is None else began,
                "ended": now,
                "token": token,
                "jobs": list(jobs),
                "attempts": list(attempts),
                "limit": limit,
                "note": note,
            },
            separators=(",", ":"),
        )
        data = line.encode() + b"\n"
        written = os.write(self._file, data)
        assert written == len(data), "the ledger's disk is full"


def read(path: Path) -> list[Event]:
    """Read a process's events, without a last line that its end has torn."""
    lines = path.read_bytes().split(b"\n")
    return [Event(worker=path.stem, **json.loads(line)) for line in lines[:-1]]
