"""The blocking transport: `recv_into` in a loop, with deadlines.

Offers the names of the asyncio transport, without `await`. It reads only while a caller waits for
an event, so a slow consumer makes the server wait.
"""

from __future__ import annotations

import contextlib
import inspect
import logging
import math
import select
import socket
import ssl
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Self, TypeVar

from colonnade import _core
from colonnade._driver.transport.announcements import hand_out
from colonnade._driver.transport.callers import is_beneath, is_ours
from colonnade._driver.transport.closed_error import closed_error, read_last_words
from colonnade._driver.transport.forks import tell_in_child
from colonnade._driver.transport.low_water import TICK_S, LowWaterMark
from colonnade._driver.transport.opening import open_socket
from colonnade._driver.transport.read_pauses import ReadPauses
from colonnade._words.shown import shown
from colonnade.errors import InterfaceTypeError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, TracebackType

    from colonnade._driver.transport.address import Address
    from colonnade._driver.transport.announcements import Listener
    from colonnade._driver.transport.event import Event
    from colonnade._driver.transport.tls import TlsPolicy

_log = logging.getLogger("colonnade")

# After a cancelled query, the connection must be ready again, or closed, within this time.
RECOVERY_TIMEOUT_S = 10.0

# A cancel request that arrives before its query has no effect: without an answer it is sent again
# after this time, and then after twice the time.
CANCEL_AGAIN_S = 0.05

# The time for attempts to cancel the query of a connection that cannot go on.
_DOUBT_S = 1.0

# The number of consecutive reads of available bytes: a server that never stops sending must not
# block the caller.
_READS_AT_ONCE_MAX = 8

# The socket would block.
_NOT_READY = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


mutex = threading.Lock

_Block = TypeVar("_Block")


class _Clock(threading.local):
    """The nearest deadline of this thread."""

    at: float | None = None
    """On the monotonic clock; None without a deadline."""
    setter: deadline | None = None
    """The frame that has set it; None if it is certain to be reset."""


_clock = _Clock()


def _nearest() -> float | None:
    """The nearest deadline, ignoring one that a call could not reset because of Ctrl-C."""
    while (setter := _clock.setter) is not None and not setter.is_in_force():
        _clock.at, _clock.setter = setter.outer
    return _clock.at


def remaining() -> float | None:
    """Seconds until the nearest deadline, as `socket.settimeout` takes them."""
    nearest = _nearest()
    if nearest is None:
        return None
    remaining = nearest - time.monotonic()
    if remaining <= 0:
        raise TimeoutError
    return remaining


def least(limit_s: float, other_s: float | None) -> float:
    """The smaller of two limits; the second may be None."""
    return limit_s if other_s is None else min(limit_s, other_s)


class deadline:  # noqa: N801 - stands where the other transport has asyncio.timeout
    """A block whose waits must end within `timeout` seconds; None sets no limit.

    Deadlines nest, and the nearest one counts. A wait that would exceed it raises TimeoutError.
    """

    def __init__(self, timeout: float | None) -> None:
        self._timeout = timeout
        self._own: float | None = None
        self._call: FrameType | None = None
        self.outer: tuple[float | None, deadline | None] = (None, None)

    def expired(self) -> bool:
        """Whether this deadline itself, not only an outer one, has passed."""
        return self._own is not None and time.monotonic() >= self._own

    def is_in_force(self) -> bool:
        """Whether the call that has begun the block is still running."""
        frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - there is no other name for it
        while frame is not None and frame is not self._call:
            frame = frame.f_back
        return frame is not None

    def __enter__(self) -> Self:
        """Start the clock."""
        outer = _nearest()
        self.outer = outer, _clock.setter
        if self._timeout is not None:
            own = self._own = time.monotonic() + self._timeout
            call = sys._getframe(1)  # noqa: SLF001
            while call.f_back is not None and is_ours(call.f_back):
                call = call.f_back
            self._call = call
            _clock.at, _clock.setter = own if outer is None else min(own, outer), self
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Go back to the deadline around this one."""
        _clock.at, _clock.setter = self.outer
        self._call = None


def whole_block(block: type[_Block]) -> type[_Block]:
    """Complete both ends of the class's `with` blocks, wherever Ctrl-C interrupts them.

    `_abandon(error)` ends all that an interrupted end has left open.
    """
    for name in ("__enter__", "__exit__"):
        setattr(block, name, _core.BlockEnd(getattr(block, name)))
    return block


class MessageSignal:
    """The waiting thread reads, and holds the connection meanwhile."""

    def __init__(self, conversation: Any) -> None:
        self._conversation = conversation

    def notify(self) -> None:
        """A message has arrived: the reader itself has read it."""

    def wait(self) -> None:
        """Wait until bytes arrive, and read them."""
        with self._conversation.operation(None):
            self._conversation.transport.take_in()


class Transport:
    """One blocking socket, which moves bytes between the server and a session."""

    rolls_back = False
    """Whether a transaction ends with an abandoned exchange: never, as no recovery goes on."""

    def __init__(
        self, session: _core.Session, address: Address, tls: TlsPolicy, sock: socket.socket
    ) -> None:
        self._session = session
        self.address = address
        self._tls = tls
        self._socket = sock
        self.listener: Listener | None = None
        """Receives the notices and notifications as they arrive."""
        self.closed_listener: Callable[[], None] | None = None
        """Called once, when the socket is closed."""
        self._low_water = LowWaterMark.of(sock)
        self._read_pauses = ReadPauses.of(sock)
        # Waiting and moving bytes are two steps, so that Ctrl-C while waiting loses nothing.
        sock.setblocking(False)
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)
        self._polled = select.POLLIN
        self._unsent: memoryview[int] = memoryview(b"")
        # True while bytes move between socket and session: after an interruption here (a signal
        # handler runs when a call returns) it is unknown whether they were moved.
        self._is_in_doubt = False
        self._is_polling = False
        tell_in_child(self)

    @property
    def origin(self) -> str:
        """An empty text, where asyncio's debug mode has a stack; here use `tracemalloc`."""
        return ""

    @property
    def is_tls(self) -> bool:
        """Whether the connection uses TLS."""
        return isinstance(self._socket, ssl.SSLSocket)

    def tls_server_end_point(self) -> bytes | None:
        """The channel-binding data of the server's certificate; None without TLS."""
        if not isinstance(self._socket, ssl.SSLSocket):
            return None
        certificate = self._socket.getpeercert(binary_form=True)
        if certificate is None:
            return None
        # Few connections need it.
        from colonnade._driver.transport.channel_binding import server_end_point

        return server_end_point(certificate)

    def ask(
        self, begin: Callable[..., bool], arguments: tuple[Any, ...], limit: float | None
    ) -> Event | None:
        """Begin a query by `begin(*arguments)`, send it, and wait for the event that answers it.

        None where `begin` has begun nothing, and where the session is closed. Raises what the
        exchange failed with, and TimeoutError after `limit` seconds.
        """
        if self._session.is_closed or not begin(*arguments):
            return None
        if limit is None:
            return self.next_event()
        # Not a `with` block: if Ctrl-C interrupted its end, the limit would stay.
        nearest, own = _nearest(), time.monotonic() + limit
        outer = _clock.at, _clock.setter
        try:
            _clock.at, _clock.setter = own if nearest is None else min(own, nearest), None
            return self.next_event()
        finally:
            _clock.at, _clock.setter = outer

    def next_event(self) -> Event:
        """Send the pending bytes, and wait for the session's next event.

        Raises the error of the exchange.
        """
        session = self._session
        while (event := session.next_event()) is None:
            if session.is_closed:
                raise closed_error(session)
            self._send()
            self._receive()
        return event

    def flush(self) -> None:
        """Send the pending bytes."""
        self._send()

    def give_turn(self) -> None:
        """Read the available bytes: no other task waits for this thread."""
        # A warning may come before the end of the connection: a read brings one or the other.
        for _ in range(_READS_AT_ONCE_MAX):
            if self._session.is_closed or not self._is_ready(select.POLLIN, 0):
                return
            self._read()

    def take_in(self) -> None:
        """Wait for any message, while no exchange is in progress."""
        self._send()
        self._receive()

    def off_loop(self, function: Callable[..., Any], *args: object) -> Any:
        """Call a function that may block: here no other task waits."""
        return function(*args)

    def abandon(self, limit_s: float | None = None) -> None:
        """Abandon the exchange in progress, if there is one.

        Cancels the query and reads on until the server is ready. If that does not succeed in time,
        or within `limit_s` seconds if that is less, the connection is closed.
        """
        if self._session.is_inherited:
            return
        # Even if the exchange has ended: the next one must not get its unread events.
        self._session.abandon()
        is_in_doubt, self._is_in_doubt = self._is_in_doubt, False
        self._is_polling = False
        if self._session.is_closed:
            # At interpreter shutdown the connection may be freed first, and `socket` with it.
            if self._socket.fileno() >= 0:
                self.abort()
            return
        if self._session.is_idle and not is_in_doubt:
            return
        if self._session.is_idle or self._session.process_id is None:
            self.abort()
            return
        outer = _clock.at, _clock.setter
        _clock.at = _clock.setter = None
        try:
            with deadline(least(RECOVERY_TIMEOUT_S, limit_s)):
                if is_in_doubt:
                    self._end_in_doubt()
                else:
                    self._recover()
        except OSError:
            self.abort()
        except BaseException:
            self.abort()
            raise
        finally:
            _clock.at, _clock.setter = outer

    def roll_back_after_recovery(self) -> bool:
        """Have a recovery roll back: none is ever under way, because `abandon` waits for it."""
        return False

    def _recover(self) -> None:
        pause_s = CANCEL_AGAIN_S
        self._cancel_on_server()
        while not self._has_ended():
            self._send()
            try:
                with deadline(pause_s):
                    self._receive()
            except TimeoutError:
                remaining()  # raises if the whole time is over
                pause_s *= 2
                self._cancel_on_server()

    def _end_in_doubt(self) -> None:
        """Cancel the query, and close the connection: nobody knows how much was sent or read.

        A request that overtakes the query has no effect, so it is sent again until the server says
        something, for a moment.
        """
        pause_s = CANCEL_AGAIN_S
        with contextlib.suppress(OSError), deadline(_DOUBT_S):
            self._cancel_on_server()
            while not self._is_ready(select.POLLIN, pause_s):
                pause_s *= 2
                self._cancel_on_server()
        self.abort()

    def has_left(self, thread: int) -> bool:
        """Whether a thread's operation has ended without a trace.

        It has if the thread itself asks, unless it asks from within: from a source of rows, or from
        another user function that the operation calls.
        """
        return thread == threading.get_ident() and not is_beneath(self)

    def break_off(self, thread: int, cancel_request: bytes | None) -> bool:
        """Close the socket during a thread's operation; return whether one was in progress.

        The operation is another thread's, or this thread's, if its signal handler, source or
        callback closes the connection. The server gets a cancel request.
        """
        if self.has_left(thread):
            return False
        self.abort()
        if cancel_request is not None:
            with contextlib.suppress(OSError), deadline(RECOVERY_TIMEOUT_S):
                self.send_cancel(cancel_request)
        return True

    is_settled = True
    """Abandoned exchanges end in `abandon`."""

    def settled(self) -> None:
        """Nothing to wait for: abandoned exchanges end in `abandon`."""

    def check_callback(self, callback: object) -> None:
        """Refuse coroutine functions, and objects that cannot be called."""
        if not callable(callback) or inspect.iscoroutinefunction(callback):
            msg = f"expected a function that is not a coroutine function, not {shown(callback)}"
            raise InterfaceTypeError(msg)

    def tell(self, callback: Callable[..., object], *args: object) -> None:
        """Call a user's function; its exceptions are logged."""
        try:
            callback(*args)
        except Exception:  # noqa: BLE001 - whatever a callback does wrong
            _log.exception("a callback of a connection failed: %r", callback)

    def close(self) -> None:
        """Send Terminate to the server, and close the socket."""
        remaining()  # raises if the caller's time is already over
        self._session.terminate()
        with contextlib.suppress(OSError), deadline(RECOVERY_TIMEOUT_S):
            self._send()
        self._socket.close()
        self._say_closed()

    def abort(self) -> None:
        """Close the socket at once; a call in progress wakes up and fails."""
        if self._session.is_inherited:
            return
        try:
            # First: Ctrl-C may interrupt between the two, and an open session must have a socket.
            self._session.cut_off()
        finally:
            try:
                # The plain class's method: TLS does not matter here.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
            except OSError:
                pass
            finally:
                # A call that uses the socket now would continue with the next file of its number.
                # It finds the session closed, and closes the socket itself.
                if not (self._is_in_doubt or self._is_polling):
                    self._socket.close()
        self._say_closed()

    def leave_to_parent(self) -> None:
        """Close this process's copy of the socket; the connection stays open."""
        self._session.leave_to_parent()
        self.listener = self.closed_listener = self._low_water = self._read_pauses = None
        self._unsent = memoryview(b"")
        self._socket.close()

    def _say_closed(self) -> None:
        listener, self.closed_listener = self.closed_listener, None
        if listener is not None:
            listener()

    def _has_ended(self) -> bool:
        return self._session.is_idle or self._session.is_closed

    def _send(self) -> None:
        while self._unsent or self._has_more_to_send():
            try:
                self._is_in_doubt = True
                sent = self._socket.send(self._unsent)
                self._unsent = self._unsent[sent:]
                self._is_in_doubt = False
            except _NOT_READY as error:
                self._is_in_doubt = False
                self._wait_to_send(_event(error, select.POLLOUT))
            except OSError as error:
                self._is_in_doubt = False
                self._lost(error)
                return

    def _wait_to_send(self, event: int) -> None:
        """Wait until the socket is ready, and read what arrives meanwhile.

        A server that waits until its answers are read does not read either.
        """
        if self._session.is_closed:
            self._wait(event)
            return
        self._wait(event | select.POLLIN)
        if self._is_ready(select.POLLIN, 0):
            self._read()

    def _has_more_to_send(self) -> bool:
        self._is_in_doubt = True
        self._unsent = memoryview(self._session.data_to_send())
        self._is_in_doubt = False
        return bool(self._unsent)

    def _receive(self) -> None:
        if self._read_pauses is not None and self._read_pauses.is_due:
            time.sleep(self._read_pauses.pause_us / 1_000_000)
        if not self.is_tls:
            # Not before: a read takes the available bytes, and the low-water mark waits for more.
            self._wait(select.POLLIN)
        while (blocked := self._read()) is not None:
            self._wait(_event(blocked, select.POLLIN))

    def _read(self) -> OSError | None:
        """Read the available bytes; without any, return the event that the socket waits for."""
        window: Any = self._session.receive_buffer()
        try:
            self._is_in_doubt = True
            length = self._socket.recv_into(window)
            self._is_in_doubt = False
        except _NOT_READY as error:
            self._is_in_doubt = False
            return error
        except OSError as error:
            self._is_in_doubt = False
            self._lost(error)
            return None
        if not length:
            self._lost(None)
            return None
        self._session.receive_data(length)
        hand_out(self._session, self.listener)
        if self._low_water is not None:
            if self._session.is_idle:
                self._low_water.rest()
            else:
                self._low_water.received(length)
        if self._read_pauses is not None:
            if self._session.is_idle:
                self._read_pauses.rest()
            else:
                self._read_pauses.received(length, len(window))
        if self._session.is_closed:
            # The server ended the connection, or broke the protocol: later bytes cannot be
            # interpreted.
            self._socket.close()
            self._say_closed()
        return None

    def _wait(self, event: int) -> None:
        """Wait until the socket is ready; an interruption loses nothing."""
        mark = self._low_water
        while mark is not None and mark.is_set:
            if self._is_ready(event, TICK_S):
                return
            mark.is_flowing()
        if not self._is_ready(event, None):
            raise TimeoutError

    def _is_ready(self, event: int, limit_s: float | None) -> bool:
        left_s = remaining()
        if limit_s is None or (left_s is not None and left_s < limit_s):
            limit_s = left_s
        try:
            self._is_polling = True
            if self._socket.fileno() < 0:
                # Closed meanwhile: the next read or write says so.
                return True
            if event != self._polled:
                self._poll.modify(self._socket, event)
                self._polled = event
            # A fraction of a millisecond must not become zero.
            return bool(self._poll.poll(None if limit_s is None else math.ceil(limit_s * 1000)))
        finally:
            self._is_polling = False

    def _lost(self, cause: OSError | None) -> None:
        """The socket is closed: the session tells the waiting callers."""
        if cause is not None:
            # The server's reason may lie in the socket: a write fails before it is read.
            read_last_words(self._session, self._socket)
        is_said = self._session.is_closed
        if not is_said:
            self._session.receive_eof()
        self._socket.close()
        self._say_closed()
        if cause is not None and not is_said:
            try:
                self._session.next_event()
            except Exception as error:
                raise error from cause

    def _cancel_on_server(self) -> None:
        request = self._session.cancel_request()
        if request is not None:
            self.send_cancel(request)

    def send_cancel(self, request: bytes) -> None:
        """Open a second connection, and send a cancel request for the query of the first."""
        with contextlib.closing(open_socket(self.address, self._tls, remaining)) as link:
            link.settimeout(remaining())
            link.sendall(request)
            # The server closes the connection after it has sent the signal.
            with contextlib.suppress(ConnectionError):
                link.recv(1)


def _event(error: OSError, usual: int) -> int:
    """The event to wait for: TLS may have to write before it can read, and vice versa."""
    if isinstance(error, ssl.SSLWantReadError):
        return select.POLLIN
    return select.POLLOUT if isinstance(error, ssl.SSLWantWriteError) else usual


def connect(session: _core.Session, address: Address, tls: TlsPolicy) -> Transport:
    """Open a socket to one address, with TLS if the policy requires it.

    Raises OSError if the address cannot be reached or refuses required TLS.
    """
    return Transport(session, address, tls, open_socket(address, tls, remaining))
