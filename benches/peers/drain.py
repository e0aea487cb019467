"""The floor: reads the socket and throws the bytes away."""

from __future__ import annotations

from benches import drain_program

TITLE = "drain"
KIND = "floor"
REQUIRES = ()


def unavailable() -> str | None:
    """Say how to build the program if it is missing."""
    return drain_program.unavailable()


def command(dsn: str, sql: str) -> list[str]:
    """Return the program and its arguments."""
    return drain_program.command(dsn, sql)
