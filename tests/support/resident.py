"""The peak memory of a piece of work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

_RESET_PEAK = "5"


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text("ascii").splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    msg = f"no {field} in the kernel's status of a process"
    raise AssertionError(msg)


class PeakMemory:
    """Measures while its block runs; `grown_bytes` is the peak above the resident memory before."""

    grown_bytes: int

    def __enter__(self) -> Self:
        Path("/proc/self/clear_refs").write_text(_RESET_PEAK, "ascii")
        self._before = _status("VmRSS")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.grown_bytes = max(0, _status("VmHWM") - self._before)
