"""A second floor: the drain, woken only when a whole buffer is available."""

from __future__ import annotations

from benches import drain_program

TITLE = "drain, low-water mark"
KIND = "floor"
REQUIRES = ()

LOW_WATER_BYTES = 128 * 1024


def unavailable() -> str | None:
    """Say how to build the program if it is missing."""
    return drain_program.unavailable()


def command(dsn: str, sql: str) -> list[str]:
    """Return the program and its arguments."""
    return [*drain_program.command(dsn, sql), "--recv-low-water", str(LOW_WATER_BYTES)]
