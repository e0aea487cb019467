"""The blocking transport: `recv_into` in a loop, with deadlines.

Offers the names of the asyncio transport, without `await`. Reading happens only when somebody
waits for an event, so a slow consumer holds the server back by itself.
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
from colonnade._shown import shown
from colonnade._transport.address import UnixAddress
from colonnade._transport.announcements import hand_out
from colonnade._transport.callers import is_beneath, is_ours
from colonnade._transport.farewell import closed_error
from colonnade._transport.forks import tell_in_child
from colonnade._transport.low_water import TICK_S, LowWaterMark
from colonnade._transport.read_pauses import ReadPauses
from colonnade._transport.tls import server_end_point
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, TracebackType

    from colonnade._transport.address import Address
    from colonnade._transport.announcements import Listener
    from colonnade._transport.event import Event
    from colonnade._transport.tls import TlsPolicy

_log = logging.getLogger("colonnade")

# A cancelled query must give the connection back, or lose it, within this time.
RECOVERY_TIMEOUT_S = 10.0

# A request to cancel that overtakes its query finds nothing to cancel: it is sent again after this
# time without an answer, and then after twice the time.
CANCEL_AGAIN_S = 0.05

# Room for more than the one byte that answers the request for TLS.
_ANSWER_BYTES_MAX = 16

# Reads in a row of what has come: a server that never stops sending holds nobody up.
_READS_AT_ONCE_MAX = 8

# The socket cannot go on at the moment.
_NOT_READY = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


mutex = threading.Lock

_Block = TypeVar("_Block")


class _Clock(threading.local):
    """The nearest deadline of this thread."""

    at: float | None = None
    """On the monotonic clock; None where there is none."""
    setter: deadline | None = None
    """Who has set it; None where it is taken back for certain."""


_clock = _Clock()


def _nearest() -> float | None:
    """The nearest deadline, without one that Ctrl-C kept a call from taking back."""
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
    """The smaller of two limits, of which the second may be none."""
    return limit_s if other_s is None else min(limit_s, other_s)


class deadline:  # noqa: N801 - stands where the other transport has asyncio.timeout
    """A block whose waits must end within `timeout` seconds; None sets no limit.

    Deadlines nest, and the nearest one counts. A wait that would go past it raises TimeoutError.
    """

    def __init__(self, timeout: float | None) -> None:
        self._timeout = timeout
        self._own: float | None = None
        self._call: FrameType | None = None
        self.outer: tuple[float | None, deadline | None] = (None, None)

    def expired(self) -> bool:
        """Whether this deadline, and not just one around it, has passed."""
        return self._own is not None and time.monotonic() >= self._own

    def is_in_force(self) -> bool:
        """Whether the call that has begun the block is still under way."""
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
    """Have both ends of the class's `with` blocks made, wherever Ctrl-C strikes in them.

    What an end that was struck has left open is ended by `_abandon(error)`.
    """
    for name in ("__enter__", "__exit__"):
        setattr(block, name, _core.BlockEnd(getattr(block, name)))
    return block


class Bell:
    """Whoever waits for what comes reads it, which takes the connection as long as it lasts."""

    def __init__(self, conversation: Any) -> None:
        self._conversation = conversation

    def ring(self) -> None:
        """Something has come: the reader itself has read it."""

    def rung(self) -> None:
        """Wait until something comes, and take it in."""
        with self._conversation.operation(None):
            self._conversation.transport.take_in()


class BlockingTransport:
    """One blocking socket, pumping bytes between the server and a session."""

    def __init__(
        self, session: _core.Session, address: Address, tls: TlsPolicy, sock: socket.socket
    ) -> None:
        self._session = session
        self.address = address
        self._tls = tls
        self._socket = sock
        self.listener: Listener | None = None
        """Gets the notices and notifications, as they come."""
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
        # Bytes are between socket and session: an interruption just here (a signal's handler runs
        # when a call returns) leaves it unknown whether they were moved.
        self._is_in_doubt = False
        self._is_polling = False
        tell_in_child(self)

    @property
    def origin(self) -> str:
        """Nothing, where asyncio's debug mode has a stack: `tracemalloc` has it here."""
        return ""

    @property
    def is_tls(self) -> bool:
        """Whether the bytes travel under TLS."""
        return isinstance(self._socket, ssl.SSLSocket)

    def tls_server_end_point(self) -> bytes | None:
        """The channel-binding data of the server's certificate; None without TLS."""
        if not isinstance(self._socket, ssl.SSLSocket):
            return None
        certificate = self._socket.getpeercert(binary_form=True)
        return None if certificate is None else server_end_point(certificate)

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
        # Not by a `with`, whose end Ctrl-C may strike: the limit would stay.
        nearest, own = _nearest(), time.monotonic() + limit
        outer = _clock.at, _clock.setter
        try:
            _clock.at, _clock.setter = own if nearest is None else min(own, nearest), None
            return self.next_event()
        finally:
            _clock.at, _clock.setter = outer

    def next_event(self) -> Event:
        """Send what must be sent, and wait for the session's next event.

        Raises what the exchange failed with.
        """
        session = self._session
        while (event := session.next_event()) is None:
            if session.is_closed:
                raise closed_error(session)
            self._send()
            self._receive()
        return event

    def flush(self) -> None:
        """Send what must be sent."""
        self._send()

    def give_turn(self) -> None:
        """Take in what has come: nothing else waits for this thread."""
        # A warning may stand in front of the end: a read brings the one or the other.
        for _ in range(_READS_AT_ONCE_MAX):
            if self._session.is_closed or not self._is_ready(select.POLLIN, 0):
                return
            self._read()

    def take_in(self) -> None:
        """Wait for whatever comes, while no exchange is under way."""
        self._send()
        self._receive()

    def off_loop(self, function: Callable[..., Any], *args: object) -> Any:
        """Call what may block: here nothing else waits."""
        return function(*args)

    def abandon(self, limit_s: float | None = None) -> None:
        """Give up the exchange under way, if there is one.

        Cancels the query and reads on until the server is ready. Where that fails within its
        time, or within `limit_s` seconds if that is less, the connection is closed.
        """
        if self._session.is_inherited:
            return
        # Also where the exchange has ended: events that nobody took are not the next one's.
        self._session.abandon()
        is_in_doubt, self._is_in_doubt = self._is_in_doubt, False
        self._is_polling = False
        if self._session.is_closed:
            # At the end of a program the connection may have gone first, and `socket` with it.
            if self._socket.fileno() >= 0:
                self.abort()
            return
        if self._session.is_idle and not is_in_doubt:
            return
        if self._session.process_id is None or is_in_doubt:
            self.abort()
            return
        outer = _clock.at, _clock.setter
        _clock.at = _clock.setter = None
        try:
            with deadline(least(RECOVERY_TIMEOUT_S, limit_s)):
                self._recover()
        except OSError:
            self.abort()
        except BaseException:
            self.abort()
            raise
        finally:
            _clock.at, _clock.setter = outer

    def _recover(self) -> None:
        pause_s = CANCEL_AGAIN_S
        self._cancel_on_server()
        while not self._has_ended():
            self._send()
            try:
                with deadline(pause_s):
                    self._receive()
            except TimeoutError:
                remaining()  # raises where the whole time is up
                pause_s *= 2
                self._cancel_on_server()

    def has_left(self, thread: int) -> bool:
        """Whether a thread's operation is over without having said so.

        It is when the thread itself asks, unless it asks from within: from a source of rows, or
        from another function of the user's that the operation calls.
        """
        return thread == threading.get_ident() and not is_beneath(self)

    def break_off(self, thread: int, cancel_request: bytes | None) -> bool:
        """Close the socket under the operation of a thread, and say whether it was under way.

        It is another thread's, or one of this thread whose signal handler, source or callback
        closes the connection. The server is asked to end what it runs.
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
        """Refuse what cannot be called, and what nobody would wait for."""
        if not callable(callback) or inspect.iscoroutinefunction(callback):
            msg = f"expected a function that is not a coroutine function, not {shown(callback)}"
            raise InterfaceError(msg)

    def tell(self, callback: Callable[..., object], *args: object) -> None:
        """Call a user's function; what it raises is logged."""
        try:
            callback(*args)
        except Exception:  # noqa: BLE001 - whatever a callback does wrong
            _log.exception("a callback of a connection failed: %r", callback)

    def close(self) -> None:
        """Say good-bye to the server, and close the socket."""
        remaining()  # raises where the caller's time is up already
        self._session.terminate()
        with contextlib.suppress(OSError), deadline(RECOVERY_TIMEOUT_S):
            self._send()
        self._socket.close()
        self._say_closed()

    def abort(self) -> None:
        """Close the socket at once; a call that is under way wakes up, and fails."""
        if self._session.is_inherited:
            return
        try:
            # First: Ctrl-C may strike in between, and a session that is open has a socket.
            self._session.cut_off()
        finally:
            try:
                # Of the plain class: TLS has no say in this.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
            except OSError:
                pass
            finally:
                # A call that is at the socket now would go on with whatever gets its number next:
                # it closes the socket itself, for it finds that the session is closed.
                if not (self._is_in_doubt or self._is_polling):
                    self._socket.close()
        self._say_closed()

    def leave_to_parent(self) -> None:
        """Close this process's copy of the socket, which leaves the connection open."""
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
        """Wait until the socket is ready for it, and take in what comes meanwhile.

        A server that waits until its answers are read reads nothing itself.
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
            # Not before: a read takes what is there, and the low-water mark asks for more.
            self._wait(select.POLLIN)
        while (blocked := self._read()) is not None:
            self._wait(_event(blocked, select.POLLIN))

    def _read(self) -> OSError | None:
        """Take in what is there; where nothing is, the answer says what the socket waits for."""
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
            # The server said farewell, or made no sense: nothing that follows has a meaning.
            self._socket.close()
            self._say_closed()
        return None

    def _wait(self, event: int) -> None:
        """Wait until the socket is ready for it; nothing is lost by an interruption."""
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
            # A fraction of a millisecond must not become none.
            return bool(self._poll.poll(None if limit_s is None else math.ceil(limit_s * 1000)))
        finally:
            self._is_polling = False

    def _lost(self, cause: OSError | None) -> None:
        """The socket is gone: the session says so to whoever waits."""
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
        """Open a second connection, and ask the server on it to cancel what the first one runs."""
        with contextlib.closing(_open(self.address, self._tls)) as link:
            link.settimeout(remaining())
            link.sendall(request)
            # The server closes the connection when it has sent the signal.
            with contextlib.suppress(ConnectionError):
                link.recv(1)


def _event(error: OSError, usual: int) -> int:
    """What to wait for: TLS may have to write before it can read, and the other way round."""
    if isinstance(error, ssl.SSLWantReadError):
        return select.POLLIN
    return select.POLLOUT if isinstance(error, ssl.SSLWantWriteError) else usual


def connect(session: _core.Session, address: Address, tls: TlsPolicy) -> BlockingTransport:
    """Open a socket to one address, under TLS where the policy asks for it.

    Raises OSError where the address cannot be reached or refuses TLS that is required.
    """
    return BlockingTransport(session, address, tls, _open(address, tls))


def _open(address: Address, tls: TlsPolicy) -> socket.socket:
    if isinstance(address, UnixAddress):
        return _open_unix(address)
    link = socket.create_connection(address.target, timeout=remaining())
    try:
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if tls.context is None:
            return link
        if not tls.is_direct:
            link.sendall(_core.ssl_request())
            link.settimeout(remaining())
            # Exactly one byte may come before the handshake; what stands behind it was not sent by
            # the server, and is refused as it is by the other transport.
            if not tls.accepts(link.recv(_ANSWER_BYTES_MAX)):
                return link
        link.settimeout(remaining())
        # Takes the socket over; what fails from here on closes it.
        context: Any = tls.context
        secured: ssl.SSLSocket = context.wrap_socket(
            link, server_hostname=tls.server_hostname(address.host)
        )
        link = secured
        tls.check_protocol(secured.selected_alpn_protocol())
    except BaseException:
        link.close()
        raise
    return secured


def _open_unix(address: UnixAddress) -> socket.socket:
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        link.settimeout(remaining())
        link.connect(address.path)
    except BaseException:
        link.close()
        raise
    return link
