"""The methods that a queue needs to be measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

TEXT = "a subject line of an ordinary length"


class Rival(Protocol):
    """A queue with one worker. Its jobs have a number and a text."""

    name: str
    jobs_most: int
    """More jobs than these would take too long."""

    async def open(self, dsn: str) -> None:
        """Make an empty queue, and connect."""

    async def close(self) -> None:
        """Disconnect."""

    async def add(self, count: int) -> None:
        """Add this many jobs in the fastest way that the library has."""

    async def work_off(self, batch: int) -> None:
        """Get and acknowledge jobs until none is left, `batch` at a time if the library can."""

    async def add_one(self, number: int) -> None:
        """Add one job, and wake the worker."""

    async def serve(self, arrived: Callable[[int], None]) -> None:
        """Work until cancelled; call `arrived` with the number of each job."""
