"""Peak memory of this process above a point in time."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

_STATUS = Path("/proc/self/status")
_CLEAR_REFS = Path("/proc/self/clear_refs")
#: Written to clear_refs, this resets the kernel's peak to the present value.
_RESET_PEAK = "5"


class PeakMemory:
    """Watches the resident memory from its creation on.

    On Linux, a process can reset its own peak, so an earlier peak (imports, connecting) does not
    count. Elsewhere only the peak since the start of the process is known. The difference between
    its values before and after the fetch can be too small, never too large.
    """

    def __init__(self) -> None:
        self._resettable = _reset_peak()
        self._idle_bytes = _resident_bytes() if self._resettable else _record_bytes()

    def growth_bytes(self) -> int:
        """Return the highest growth since."""
        peak = _status_bytes("VmHWM") if self._resettable else _record_bytes()
        return max(0, peak - self._idle_bytes)


def _reset_peak() -> bool:
    try:
        _CLEAR_REFS.write_text(_RESET_PEAK)
    except OSError:
        return False
    return True


def _resident_bytes() -> int:
    return _status_bytes("VmRSS")


def _status_bytes(field: str) -> int:
    for line in _STATUS.read_text().splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return int(value.split()[0]) * 1024
    raise LookupError(f"{_STATUS} has no field {field}")


def _record_bytes() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
