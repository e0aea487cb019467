"""The cost of one run of one peer."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any, NamedTuple


class Fetched(NamedTuple):
    """A fetched result, as a peer returns it."""

    #: The result itself, which must stay alive until memory has been read.
    result: object
    rows: int
    #: Bytes of the finished columns; `None` for rows, whose size is not counted.
    result_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """The cost of one fetch; `None` where a figure does not apply to the peer."""

    rows: int | None
    wall_s: float
    cpu_user_s: float
    cpu_system_s: float
    #: The highest growth of resident memory above that of the idle, connected process.
    peak_memory_bytes: int | None = None
    result_bytes: int | None = None
    wire_bytes: int | None = None
    #: The longest time for which the event loop was blocked, less the ticker's interval.
    loop_gap_s: float | None = None
    #: The longest processor time of the loop's thread between two ticks, without other load.
    loop_burst_s: float | None = None
    #: The same gap on an idle loop: the machine's own noise.
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
        """Return the fields for JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, line: str) -> Measurement:
        """Read the line of a child; ignore fields that only one program reports."""
        known = {field.name for field in dataclasses.fields(cls)}
        return cls(**{name: value for name, value in json.loads(line).items() if name in known})


@dataclass(frozen=True)
class Failure:
    """A failed run, with the reason."""

    reason: str
