"""Clocks that step, by libfaketime: those of a process, or those of a server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

_LIBRARIES = (
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/faketime/libfaketimeMT.so.1",
)
_STEPS_S = (-86_400, -3_600, -60, -1, 0, 1, 60, 3_600, 86_400)


def library() -> str | None:
    """The path of libfaketime, which Debian's package `faketime` installs."""
    return next((path for path in _LIBRARIES if Path(path).exists()), None)


class Clock:
    """The wall clock of the processes that have its environment."""

    def __init__(self, directory: Path) -> None:
        self._file = directory / "clock"
        self.set(0)

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a process that has this clock. Its monotonic clock stays true."""
        found = library()
        assert found is not None, "libfaketime is not installed (Debian's package is faketime)"
        return {
            "LD_PRELOAD": found,
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }

    def set(self, offset: float) -> None:
        """Step the clock this many seconds away from the true time."""
        written = self._file.with_suffix(".new")
        written.write_text(f"{offset:+g}")
        written.chmod(0o644)
        written.replace(self._file)

    def step(self, random: Random) -> int:
        """Step it by chance; return its distance from the true time."""
        offset = random.choice(_STEPS_S)
        self.set(offset)
        return offset
