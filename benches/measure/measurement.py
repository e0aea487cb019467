"""What one run of one peer cost."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any, NamedTuple


class Fetched(NamedTuple):
    """A fetched result, as a peer hands it over."""

    #: The result itself: it has to live until memory has been read.
    result: object
    rows: int
    #: Bytes of the finished columns; `None` for rows, whose size nobody counts.
    result_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """The cost of one fetch; `None` where a question does not apply to the peer."""

    rows: int | None
    wall_s: float
    cpu_user_s: float
    cpu_system_s: float
    #: Growth of the resident memory above the idle, connected process, at its highest.
    peak_memory_bytes: int | None = None
    result_bytes: int | None = None
    wire_bytes: int | None = None
    #: Longest time for which the event loop answered nobody, beyond the ticker's own interval.
    loop_gap_s: float | None = None
    #: Longest processor time of the loop's thread between two ticks: other load is not in it.
    loop_burst_s: float | None = None
    #: The gap of the same loop with nothing to do: the machine's own noise.
    idle_gap_s: float | None = None

    @property
    def cpu_s(self) -> float:
        """Processor time of the client, user and system, all threads."""
        return self.cpu_user_s + self.cpu_system_s

    @property
    def memory_ratio(self) -> float | None:
        """Peak memory as a multiple of the finished columns."""
        if self.peak_memory_bytes is None or not self.result_bytes:
            return None
        return self.peak_memory_bytes / self.result_bytes

    def to_dict(self) -> dict[str, Any]:
        """Give the fields as they stand in JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, line: str) -> Measurement:
        """Read the line of a child; fields that only one program reports are left out."""
        known = {field.name for field in dataclasses.fields(cls)}
        return cls(**{name: value for name, value in json.loads(line).items() if name in known})


@dataclass(frozen=True)
class Failure:
    """A run that gave no measurement, and why."""

    reason: str
