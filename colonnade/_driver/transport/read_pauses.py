"""Fewer, larger reads of a Unix socket while a large result arrives.

A server writes 8 KiB at a time, and a Unix socket wakes its reader for each piece: the low-water
mark of `low_water` works for TCP only. So, while a result is known to be large, a reader that has
read everything available waits for more before it reads again.

The kernel keeps 13 pieces for a reader, then the server waits. So pauses become shorter if nearly
as many arrived during one, and longer if few did. If the server is too fast for the shortest pause,
or so slow that nothing arrives during a pause and it only costs a wake-up, there is no pause until
a good part of a result has arrived again.
"""

from __future__ import annotations

import socket
import sys
from typing import TYPE_CHECKING

from colonnade import _core
from colonnade._driver.transport.low_water import LARGE_BYTES, RESUMED_BYTES

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

# The longest pause, for which the end of a result may wait.
PAUSE_MAX_US = 200

# A shorter one would cost more than it saves.
PAUSE_MIN_US = 25

# The pieces that should arrive during a pause: two are hardly worth it; with 13 the server has
# waited.
GATHERED_BYTES_MIN = 16 * 1024
GATHERED_BYTES_FEW = 72 * 1024
GATHERED_BYTES_MAX = 104 * 1024

# After this many bytes, pauses are tried again with a server that was too fast.
TOO_FAST_BYTES = 4 * 1024 * 1024

IS_SUPPORTED = sys.platform == "linux"


class ReadPauses:
    """The pauses between reads of one Unix socket."""

    def __init__(self) -> None:
        self.is_due = False
        """Whether to pause before the next read."""
        self.pause_us = PAUSE_MAX_US // 2
        """The length of the pause, in microseconds."""
        # Bytes of the exchange in progress, and the count above which pauses begin.
        self._received_bytes = 0
        self._worth_from_bytes = LARGE_BYTES

    @classmethod
    def of(cls, sock: socket.socket | None) -> ReadPauses | None:
        """The pauses for a socket that benefits from them: a Unix socket on Linux."""
        if sock is None or not IS_SUPPORTED or sock.family != socket.AF_UNIX:
            return None
        return cls()

    def received(self, nbytes: int, window_bytes: int) -> None:
        """Count a read of an unfinished result, and the room that was available for it."""
        self._received_bytes += nbytes
        is_emptied = nbytes < window_bytes
        if self.is_due and is_emptied:
            self._learn(nbytes)
        self.is_due = is_emptied and self._received_bytes >= self._worth_from_bytes

    def _learn(self, gathered_bytes: int) -> None:
        if gathered_bytes >= GATHERED_BYTES_MAX:
            self.pause_us //= 2
            if self.pause_us < PAUSE_MIN_US:
                self.pause_us = 2 * PAUSE_MIN_US
                self._worth_from_bytes = self._received_bytes + TOO_FAST_BYTES
        elif gathered_bytes < GATHERED_BYTES_MIN:
            self._worth_from_bytes = self._received_bytes + RESUMED_BYTES
        elif gathered_bytes < GATHERED_BYTES_FEW:
            self.pause_us = min(self.pause_us * 5 // 4, PAUSE_MAX_US)

    def rest(self) -> None:
        """The result has ended: every byte is read as it arrives."""
        self.is_due = False
        self._received_bytes = 0
        self._worth_from_bytes = LARGE_BYTES


class TimedReadPauses:
    """Pauses in an event loop: they stop only the reading of one socket.

    The timers of loops are rounded up to a millisecond, during which the server would have to wait.
    """

    def __init__(
        self,
        pauses: ReadPauses,
        loop: asyncio.AbstractEventLoop,
        pause_reading: Callable[[], None],
        resume_reading: Callable[[], None],
    ) -> None:
        self._pauses = pauses
        self._loop = loop
        self._pause_reading = pause_reading
        self._resume_reading = resume_reading
        self._timer: _core.PauseTimer | None = None

    def received(self, nbytes: int, window_bytes: int) -> None:
        """As `ReadPauses.received`; begins the pause that is due."""
        self._pauses.received(nbytes, window_bytes)
        if not self._pauses.is_due:
            return
        timer = self._timer = self._timer or self._watched_timer()
        if timer is not None:
            self._pause_reading()
            timer.start(self._pauses.pause_us)

    def rest(self) -> None:
        """As `ReadPauses.rest`."""
        self._pauses.rest()
        if self._timer is not None:
            self._loop.remove_reader(self._timer.fileno())
            self._timer = None

    def _watched_timer(self) -> _core.PauseTimer | None:
        """A timer, or None, which means no pauses, if the system or the loop refuses it.

        The process may be out of file descriptors, and not every loop can watch files other than
        its own sockets.
        """
        try:
            timer = _core.PauseTimer()
            self._loop.add_reader(timer.fileno(), self._end)
        except (NotImplementedError, OSError):
            return None
        return timer

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.acknowledge()
            self._resume_reading()
