"""A call whose threads wait for the server, and which another thread can end."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

    from colonnade import sync

# The interval for repeating cancel requests: a query may have begun since the last one.
TELL_AGAIN_SECONDS = 0.05

_CANCEL_SECONDS_MAX = 5.0


class Stopped(Exception):
    """`Call.end` was called."""


class Call:
    """The connections at work for one call."""

    def __init__(self) -> None:
        self.is_stopped = threading.Event()
        self.has_ended = threading.Event()
        # The connection of each thread.
        self._at_work: dict[int, sync.Connection] = {}

    def end(self) -> None:
        """End it from another thread, and wait: it raises `Stopped`, or its query's end."""
        self.is_stopped.set()
        self.cancel()
        while not self.has_ended.wait(TELL_AGAIN_SECONDS):
            self.cancel()

    def cancel(self) -> None:
        """Cancel the running queries, even if the server has no free connection."""
        for connection in tuple(self._at_work.values()):
            # A failed request is repeated.
            with contextlib.suppress(OSError):
                connection.cancel(timeout=_CANCEL_SECONDS_MAX)

    @contextlib.contextmanager
    def working(self, connection: sync.Connection) -> Generator[None, None, None]:
        """A block in which this thread uses a connection, which can be cancelled."""
        thread = threading.get_ident()
        self._at_work[thread] = connection
        try:
            yield
        finally:
            del self._at_work[thread]
