"""Fewer, larger reads while a large result arrives.

A server sends 8 KiB at a time, and each piece wakes the client: for a large result most of a
client's processor time is wake-ups. With `SO_RCVLOWAT` the kernel wakes it only when a good part of
a receive buffer is available (Linux's epoll honours it for TCP since 4.18), which takes about a
sixth of the time.

The danger is to wait for bytes that never arrive: the last piece of a result is small. So the mark
is set only while a result is known to be large, and a timer watches it: if between two ticks
nothing was read and the kernel's queue has not grown, the mark is removed, which wakes the reader
at once. The end of a large result waits for two ticks at most.
"""

from __future__ import annotations

import contextlib
import socket
import sys
from array import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

# Three quarters of a receive buffer: the rest is room for bytes that arrive while the loop is busy.
MARK_BYTES = 192 * 1024

# A result of this size is large: at wire speed it takes several times as long as the ticks for
# which its end may wait.
LARGE_BYTES = 4 * 1024 * 1024

# After a pause, a large result counts as flowing again when this much more has arrived.
RESUMED_BYTES = 2 * MARK_BYTES

# Twice the shortest time that event loops can wait: each tick is a wake-up, too.
TICK_S = 0.002

IS_SUPPORTED = sys.platform == "linux"


class LowWaterMark:
    """The low-water mark of one TCP socket; the reader of the socket calls the ticks."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self.is_set = False
        """While it is, `is_flowing` must be asked at every tick."""
        # Bytes of the exchange in progress, and the count above which the mark is set.
        self._received_bytes = 0
        self._worth_from_bytes = LARGE_BYTES
        # The state at the last tick: bytes read until then, and bytes waiting in the kernel.
        self._seen_bytes = 0
        self._queued_bytes = 0

    @classmethod
    def of(cls, sock: socket.socket | None) -> LowWaterMark | None:
        """The mark of a socket that has one: a TCP socket on Linux."""
        if sock is None or not IS_SUPPORTED:
            return None
        if sock.family not in {socket.AF_INET, socket.AF_INET6}:
            return None
        return cls(sock)

    def received(self, nbytes: int) -> None:
        """Count bytes of a result that has not ended; a large one sets the mark."""
        self._received_bytes += nbytes
        if self._received_bytes >= self._worth_from_bytes and not self.is_set:
            self.is_set = True
            self._set(MARK_BYTES)
            self._look()

    def rest(self) -> None:
        """The result has ended: every byte wakes the reader again."""
        self._received_bytes = 0
        self._worth_from_bytes = LARGE_BYTES
        if self.is_set:
            self._take_away()

    def is_flowing(self) -> bool:
        """At a tick: whether the result is still arriving. If not, the mark is removed."""
        if self._received_bytes != self._seen_bytes or _queued(self._socket) > self._queued_bytes:
            self._look()
            return True
        self._take_away()
        self._worth_from_bytes = self._received_bytes + RESUMED_BYTES
        return False

    def _look(self) -> None:
        self._seen_bytes = self._received_bytes
        self._queued_bytes = _queued(self._socket)

    def _take_away(self) -> None:
        self.is_set = False
        self._set(1)

    def _set(self, nbytes: int) -> None:
        # A socket that was closed meanwhile has nothing to wait for.
        with contextlib.suppress(OSError):
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, nbytes)


class TickingLowWaterMark:
    """A low-water mark that an event loop's timer watches over."""

    def __init__(self, mark: LowWaterMark, loop: asyncio.AbstractEventLoop) -> None:
        self._mark = mark
        self._loop = loop
        self._tick: asyncio.TimerHandle | None = None

    def received(self, nbytes: int, window_bytes: int) -> None:
        """As `LowWaterMark.received`; the room of the read does not matter here."""
        del window_bytes
        self._mark.received(nbytes)
        if self._mark.is_set and self._tick is None:
            self._tick = self._loop.call_later(TICK_S, self._look)

    def rest(self) -> None:
        """As `LowWaterMark.rest`."""
        self._mark.rest()
        if self._tick is not None:
            self._tick.cancel()
            self._tick = None

    def _look(self) -> None:
        self._tick = None
        if self._mark.is_flowing():
            self._tick = self._loop.call_later(TICK_S, self._look)


def _queued(sock: socket.socket) -> int:
    """Bytes that the kernel holds for a socket; 0 if it is closed."""
    import fcntl
    import termios

    count = array("i", [0])
    try:
        fcntl.ioctl(sock.fileno(), termios.FIONREAD, count)
    except (OSError, ValueError):
        return 0
    return count[0]
