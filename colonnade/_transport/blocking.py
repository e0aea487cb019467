"""The blocking transport: `recv_into` in a loop, with deadlines.

Offers the names of the asyncio transport, without `await`. Reading happens only when somebody
waits for an event, so a slow consumer holds the server back by itself.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from typing import TYPE_CHECKING, Any, Self

from colonnade import _core
from colonnade._transport.address import UnixAddress
from colonnade._transport.low_water import TICK_S, LowWaterMark
from colonnade._transport.tls import server_end_point
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from types import TracebackType

    from colonnade._transport.address import Address
    from colonnade._transport.event import Event
    from colonnade._transport.tls import TlsPolicy

# A cancelled query must give the connection back, or lose it, within this time.
RECOVERY_TIMEOUT_S = 10.0

# A request to cancel that overtakes its query finds nothing to cancel: it is sent again after this
# time without an answer, and then after twice the time.
CANCEL_AGAIN_S = 0.05

# Room for more than the one byte that answers the request for TLS.
_ANSWER_BYTES_MAX = 16


class _Clock(threading.local):
    """The nearest deadline of this thread, on the monotonic clock; None where there is none."""

    deadline: float | None = None


_clock = _Clock()


def _remaining() -> float | None:
    """Seconds until the nearest deadline, as `socket.settimeout` takes them."""
    if _clock.deadline is None:
        return None
    remaining = _clock.deadline - time.monotonic()
    if remaining <= 0:
        raise TimeoutError
    return remaining


class deadline:  # noqa: N801 - stands where the other transport has asyncio.timeout
    """A block whose waits must end within `timeout` seconds; None sets no limit.

    Deadlines nest, and the nearest one counts. A wait that would go past it raises TimeoutError.
    """

    def __init__(self, timeout: float | None) -> None:
        self._timeout = timeout
        self._own: float | None = None
        self._outer: float | None = None

    def expired(self) -> bool:
        """Whether this deadline, and not just one around it, has passed."""
        return self._own is not None and time.monotonic() >= self._own

    def __enter__(self) -> Self:
        """Start the clock."""
        outer = self._outer = _clock.deadline
        if self._timeout is not None:
            own = self._own = time.monotonic() + self._timeout
            _clock.deadline = own if outer is None else min(own, outer)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Go back to the deadline around this one."""
        _clock.deadline = self._outer


class BlockingTransport:
    """One blocking socket, pumping bytes between the server and a session."""

    def __init__(
        self, session: _core.Session, address: Address, tls: TlsPolicy, sock: socket.socket
    ) -> None:
        self._session = session
        self._address = address
        self._tls = tls
        self._socket = sock
        self._low_water = LowWaterMark.of(sock)
        # The socket's timeout, for to set it anew takes a system call.
        self._timeout = sock.gettimeout()

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

    def next_event(self) -> Event:
        """Send what must be sent, and wait for the session's next event.

        Raises what the exchange failed with.
        """
        session = self._session
        while (event := session.next_event()) is None:
            if session.is_closed:
                msg = "connection is closed"
                raise InterfaceError(msg)
            self._send()
            self._receive()
        return event

    def flush(self) -> None:
        """Send what must be sent."""
        self._send()

    def abandon(self) -> None:
        """Give up the exchange under way, if there is one.

        Cancels the query and reads on until the server is ready. Where that fails within its
        time, the connection is closed.
        """
        # Also where the exchange has ended: events that nobody took are not the next one's.
        self._session.abandon()
        if self._has_ended():
            return
        if self._session.process_id is None:
            self.abort()
            return
        outer, _clock.deadline = _clock.deadline, None
        try:
            with deadline(RECOVERY_TIMEOUT_S):
                self._recover()
        except OSError:
            self.abort()
        except BaseException:
            self.abort()
            raise
        finally:
            _clock.deadline = outer

    def _recover(self) -> None:
        pause_s = CANCEL_AGAIN_S
        self._cancel_on_server()
        while not self._has_ended():
            self._send()
            try:
                with deadline(pause_s):
                    self._receive()
            except TimeoutError:
                _remaining()  # raises where the whole time is up
                pause_s *= 2
                self._cancel_on_server()

    def settled(self) -> None:
        """Nothing to wait for: abandoned exchanges end in `abandon`."""

    def close(self) -> None:
        """Say good-bye to the server, and close the socket."""
        self._session.terminate()
        with contextlib.suppress(OSError):
            self._send()
        self._socket.close()

    def abort(self) -> None:
        """Close the socket at once."""
        self._socket.close()
        if not self._session.is_closed:
            self._session.receive_eof()

    def _has_ended(self) -> bool:
        return self._session.is_idle or self._session.is_closed

    def _send(self) -> None:
        data = self._session.data_to_send()
        if not data:
            return
        try:
            self._limit_waits(_remaining())
            self._socket.sendall(data)
        except TimeoutError:
            # Part of a message may be sent: nothing sensible can follow it.
            self.abort()
            raise
        except OSError as error:
            self._lost(error)

    def _receive(self) -> None:
        try:
            length = self._read()
        except TimeoutError:
            raise
        except OSError as error:
            self._lost(error)
            return
        if not length:
            self._lost(None)
            return
        self._session.receive_data(length)
        if self._low_water is not None:
            if self._session.is_idle:
                self._low_water.rest()
            else:
                self._low_water.received(length)
        if self._session.is_closed:
            # The server said farewell, or made no sense: nothing that follows has a meaning.
            self._socket.close()

    def _read(self) -> int:
        window = self._session.receive_buffer()
        mark = self._low_water
        while mark is not None and mark.is_set:
            self._limit_waits(TICK_S)
            try:
                return self._socket.recv_into(window)
            except TimeoutError:
                mark.is_flowing()
                _remaining()
        self._limit_waits(_remaining())
        return self._socket.recv_into(window)

    def _limit_waits(self, timeout: float | None) -> None:
        if timeout != self._timeout:
            self._socket.settimeout(timeout)
            self._timeout = timeout

    def _lost(self, cause: OSError | None) -> None:
        """The socket is gone: the session says so to whoever waits."""
        self._socket.close()
        if self._session.is_closed:
            return
        self._session.receive_eof()
        if cause is not None:
            try:
                self._session.next_event()
            except Exception as error:
                raise error from cause

    def _cancel_on_server(self) -> None:
        request = self._session.cancel_request()
        if request is None:
            return
        with contextlib.closing(_open(self._address, self._tls)) as link:
            link.settimeout(_remaining())
            link.sendall(request)
            # The server closes the connection when it has sent the signal.
            with contextlib.suppress(ConnectionError):
                link.recv(1)


def connect(session: _core.Session, address: Address, tls: TlsPolicy) -> BlockingTransport:
    """Open a socket to one address, under TLS where the policy asks for it.

    Raises OSError where the address cannot be reached or refuses TLS that is required.
    """
    return BlockingTransport(session, address, tls, _open(address, tls))


def _open(address: Address, tls: TlsPolicy) -> socket.socket:
    if isinstance(address, UnixAddress):
        return _open_unix(address)
    link = socket.create_connection(address.target, timeout=_remaining())
    try:
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if tls.context is None:
            return link
        if not tls.is_direct:
            link.sendall(_core.ssl_request())
            link.settimeout(_remaining())
            # Exactly one byte may come before the handshake; what stands behind it was not sent by
            # the server, and is refused as it is by the other transport.
            if not tls.accepts(link.recv(_ANSWER_BYTES_MAX)):
                return link
        link.settimeout(_remaining())
        context: Any = tls.context
        secured: socket.socket = context.wrap_socket(
            link, server_hostname=tls.server_hostname(address.host)
        )
    except BaseException:
        link.close()
        raise
    return secured


def _open_unix(address: UnixAddress) -> socket.socket:
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        link.settimeout(_remaining())
        link.connect(address.path)
    except BaseException:
        link.close()
        raise
    return link
