"""How long an answer waits for a reader that takes nothing."""

from __future__ import annotations

import asyncio
import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import TracebackType

#: A reader that takes a piece of 256 KiB in this time reads 9 kB a second.
STALL_TIMEOUT_S = 30.0
_log = logging.getLogger("colonnade.serve")


class StallLimit:
    """Breaks off an answer whose reader takes nothing for this many seconds; None: never.

    An asynchronous context manager, for the task that sends. That task ends as a cancelled one
    does, and not by an exception of its own: middleware that answers for a failed application, such
    as Starlette's BaseHTTPMiddleware, would end the answer as if it were complete.
    """

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._timeout = asyncio.timeout(None)

    async def __aenter__(self) -> Self:
        await self._timeout.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            await self._timeout.__aexit__(kind, error, traceback)
        except TimeoutError:
            _log.warning("%s: its answer was broken off", self.reason)
            raise asyncio.CancelledError(self.reason) from None

    @property
    def reason(self) -> str:
        """Why an answer is broken off."""
        return f"a reader took nothing for {self._seconds:g} s"

    def begin(self) -> None:
        """Something waits for the reader from now on."""
        if self._seconds is not None:
            self._timeout.reschedule(asyncio.get_running_loop().time() + self._seconds)

    def end(self) -> None:
        """The reader has taken it."""
        if not self._timeout.expired():
            self._timeout.reschedule(None)

    @contextmanager
    def waiting(self) -> Generator[None]:
        """Wait for the reader in this block."""
        self.begin()
        try:
            yield
        finally:
            self.end()
