"""The asyncio transport: a buffered protocol over memory that the Rust core owns.

Works with any event loop that follows asyncio's transports and protocols (asyncio's own, uvloop),
over TCP and Unix sockets, plain and under TLS.

Three rules keep the loop free while a large result arrives:

* one callback reads at most one receive buffer, which decodes in well under a millisecond;
* a loop that reads a ready socket several times per iteration must yield after two full buffers;
* if the session cannot take more (a stream's consumer is slow), reading pauses, and the full socket
  makes the server wait.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import socket
import traceback
from asyncio import _get_running_loop
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar, cast

from colonnade import _core
from colonnade._driver.transport.address import TcpAddress, UnixAddress
from colonnade._driver.transport.announcements import hand_out
from colonnade._driver.transport.closed_error import closed_error, read_last_words
from colonnade._driver.transport.forks import tell_in_child
from colonnade._driver.transport.loops import close_without_loop, of_another_loop
from colonnade._driver.transport.low_water import LowWaterMark, TickingLowWaterMark
from colonnade._driver.transport.one_event_protocols import TlsAnswer, UntilClosed
from colonnade._driver.transport.read_pauses import ReadPauses, TimedReadPauses
from colonnade._words.shown import shown
from colonnade.errors import InterfaceError, InterfaceTypeError, QueryCanceledError

if TYPE_CHECKING:
    from collections.abc import Callable

    from colonnade._driver.transport.address import Address
    from colonnade._driver.transport.announcements import Listener
    from colonnade._driver.transport.event import Event
    from colonnade._driver.transport.tls import TlsPolicy

# After a cancelled query, the connection must be ready again, or closed, within this time.
RECOVERY_TIMEOUT_S = 10.0

# A cancel request that arrives before its query has no effect: it is sent again after this time,
# and then after twice the time.
CANCEL_AGAIN_S = 0.05

# While the server still runs a script sent ahead of the query, the state is checked again after
# this time.
AHEAD_AGAIN_S = 0.001

# The number of full reads in one turn of the loop before it runs other tasks: uvloop reads a ready
# socket up to 32 times per turn as long as each read fills the buffer it was given. asyncio's own
# loop reads it once.
FULL_READS_MAX = 2

# Under TLS a loop decrypts a whole read and hands it over in one turn, so that a read of the usual
# size holds it for 1.6 ms.
TLS_READ_BYTES = 64 * 1024

_Block = TypeVar("_Block")

deadline = asyncio.timeout
mutex = asyncio.Lock


def whole_block(block: type[_Block]) -> type[_Block]:
    """The class unchanged: a task is cancelled only while it waits, never between two steps."""
    return block


class MessageSignal:
    """Tells one reader that a message has arrived; the loop reads by itself."""

    def __init__(self, conversation: object) -> None:
        del conversation
        self._reader: asyncio.Future[None] | None = None

    def notify(self) -> None:
        """A message has arrived."""
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    async def wait(self) -> None:
        """Wait until a message arrives."""
        if self._reader is not None:
            msg = "notifications are read by another task already"
            raise InterfaceError(msg)
        self._reader = asyncio.get_running_loop().create_future()
        try:
            await self._reader
        finally:
            self._reader = None


class Transport(  # pyright: ignore[reportIncompatibleMethodOverride]
    _core.TransportBase, asyncio.BufferedProtocol
):
    """One socket of a running loop, which moves bytes between the server and a session.

    `TransportBase` begins and sends queries, reads, and hands the event to the `waiter` where a
    read ends an exchange; `attend` sees to every other read.
    """

    def __init__(  # pyright: ignore[reportInconsistentConstructor]
        self, session: _core.Session, address: Address, tls: TlsPolicy
    ) -> None:
        self._session = session
        self.address = address
        self._tls = tls
        self.listener: Listener | None = None
        """Receives the notices and notifications as they arrive."""
        self.closed_listener: Callable[[], None] | None = None
        """Called once, when the socket is closed."""
        # A loop keeps tasks only weakly.
        self._telling: set[asyncio.Task[None]] = set()
        self._fewer_reads: TickingLowWaterMark | TimedReadPauses | None = None
        self._idle: asyncio.Future[None] | None = None
        self.rolls_back = False
        """Whether the open transaction was begun for an abandoned exchange, and ends with it."""
        self._writable: asyncio.Future[None] | None = None
        self._closed: asyncio.Future[None] = self.loop.create_future()
        self._full_reads = 0
        self._made_at = traceback.extract_stack() if self.loop.get_debug() else None
        tell_in_child(self)

    # For connections

    @property
    def origin(self) -> str:
        """The place where the connection was opened, to append to a warning about it."""
        if self._made_at is None:
            return "; run in asyncio debug mode to see where it was made"
        return "; created at:\n" + "".join(traceback.format_list(self._made_at))

    @property
    def is_tls(self) -> bool:
        """Whether the connection uses TLS."""
        return self.link is not None and self.link.get_extra_info("ssl_object") is not None

    def tls_server_end_point(self) -> bytes | None:
        """The channel-binding data of the server's certificate; None without TLS."""
        if self.link is None or not self.is_tls:
            return None
        try:
            certificate = self.link.get_extra_info("ssl_object").getpeercert(binary_form=True)
        except ValueError as error:
            # Bytes after the handshake have ended the connection, and the handshake with it.
            lost = "the server's side of the TLS handshake is invalid"
            raise ConnectionError(lost) from error
        if certificate is None:
            return None
        # Few connections need it.
        from colonnade._driver.transport.channel_binding import server_end_point

        return server_end_point(certificate)

    async def within(self, limit: float, answer: asyncio.Future[Event]) -> Event:
        """Wait for an answer for `limit` seconds at most; TimeoutError after that."""
        timer = self.loop.call_later(limit, _run_out, answer)
        try:
            return await answer
        finally:
            timer.cancel()

    async def next_event(self) -> Event:
        """Send the pending bytes, and wait for the session's next event.

        Raises the error of the exchange.
        """
        event: Event | None = self._session.next_event()
        if event is None:
            if self._session.is_closed:
                raise closed_error(self._session)
            event = await self.answer()
            self._session.resumed()
            return event
        if self.is_paused:
            self.resume()
        return event

    async def flush(self) -> None:
        """Send the pending bytes; wait while the socket is full."""
        self.send()
        if self._writable is not None:
            await self._writable

    async def give_turn(self) -> None:
        """Let the loop run other tasks, because sending to a socket that is never full does not."""
        await asyncio.sleep(0)

    async def off_loop(self, function: Callable[..., Any], *args: object) -> Any:
        """Call a blocking function, such as a method of a file, in the loop's executor."""
        return await self.loop.run_in_executor(None, function, *args)

    def abandon(self, limit_s: float | None = None) -> None:
        """Abandon the exchange in progress, if there is one.

        This does not wait, so `limit_s`, which the other transport needs, has no effect.

        A task in the background cancels the query and reads on until the server is ready; `settled`
        waits for it. If that does not succeed in time, the connection is closed. A caller that
        still waits for an event (because another task has closed the connection) gets an error.
        """
        del limit_s
        if self._session.is_inherited:
            return
        # Even if the exchange has ended: the next one must not get its unread events.
        self._session.abandon()
        if self._has_ended() or self.recovery is not None:
            return
        if self.waiter is not None and not self.waiter.done():
            self.waiter.set_exception(
                QueryCanceledError("canceling statement because its connection is being closed")
            )
        if self._session.process_id is None or self.loop.is_closed():
            self.abort()
            return
        self.send()
        self.resume()
        # Not by the loop's task factory: an eager task might end before it is stored here.
        self.recovery = asyncio.Task(self._recover(), loop=self.loop)

    def roll_back_after_recovery(self) -> bool:
        """Have the recovery of an abandoned exchange roll back; False if none is under way."""
        self.rolls_back = self.recovery is not None
        return self.rolls_back

    def has_left(self, thread: int) -> bool:
        """Whether a thread's operation has ended without a trace: never, in an event loop."""
        del thread
        return False

    def break_off(self, thread: int, cancel_request: bytes | None) -> bool:
        """Close the socket during a call: not needed here, because `abandon` ends its wait."""
        del thread, cancel_request
        return False

    async def settled(self) -> None:
        """Wait until an abandoned exchange has ended."""
        if _get_running_loop() is not self.loop:
            raise of_another_loop("connection", self.loop)
        if self.recovery is not None:
            # Cancelling the waiting task does not cancel the recovery, and vice versa.
            await asyncio.wait([self.recovery])

    def check_callback(self, callback: object) -> None:
        """Refuse an object that cannot be called."""
        if not callable(callback):
            msg = f"expected a function or coroutine function, not {shown(callback)}"
            raise InterfaceTypeError(msg)

    def tell(self, callback: Callable[..., object], *args: object) -> None:
        """Call a user's function in its own iteration of the loop; a coroutine becomes a task.

        Its exceptions go to the loop's exception handler.
        """
        if inspect.iscoroutinefunction(callback):
            self._call(callback, args)
        else:
            self.loop.call_soon(self._call, callback, args)

    def _call(self, callback: Callable[..., object], args: tuple[object, ...]) -> None:
        try:
            result = callback(*args)
        except Exception as error:  # noqa: BLE001 - whatever a callback does wrong
            self._report(callback, error)
            return
        if isinstance(result, Coroutine):
            task = self.loop.create_task(self._finish(callback, result))
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

    async def _finish(
        self, callback: Callable[..., object], coroutine: Coroutine[Any, Any, object]
    ) -> None:
        try:
            await coroutine
        except Exception as error:  # noqa: BLE001 - whatever a callback does wrong
            self._report(callback, error)

    def _report(self, callback: Callable[..., object], error: Exception) -> None:
        message = f"a callback of a connection failed: {shown(callback)}"
        self.loop.call_exception_handler({"message": message, "exception": error})

    async def close(self) -> None:
        """Send Terminate to the server, and wait until the socket is closed.

        The wait for a server that reads nothing is as long as for a cancelled query.
        """
        if self.loop.is_closed():
            self.abort()
            return
        try:
            async with asyncio.timeout(RECOVERY_TIMEOUT_S):
                await self.settled()
                self._session.terminate()
                self.send()
                if self.link is not None:
                    self.link.close()
                    await asyncio.shield(self._closed)
        except TimeoutError:
            self.abort()

    def abort(self) -> None:
        """Close the socket at once, and stop cancelling its query."""
        if self._session.is_inherited:
            return
        recovery, self.recovery = self.recovery, None
        if self.loop.is_closed():
            if self.link is not None:
                close_without_loop(self.link)
        else:
            if self.link is not None:
                self.link.abort()
            if recovery is not None:
                recovery.cancel()
        if not self._session.is_closed:
            self._session.receive_eof()
            self._deliver()

    def leave_to_parent(self) -> None:
        """Leave the parent's loop untouched: both watch the socket with one selector.

        The copy of the socket is closed with the copy of the loop's transport.
        """
        self._session.leave_to_parent()
        self.listener = self.closed_listener = self._fewer_reads = None
        self.recovery = self._idle = self._writable = None

    # Called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to use a socket, before or after its TLS handshake."""
        self.link = cast("asyncio.Transport", transport)
        if self.is_tls:
            self._session.limit_reads(TLS_READ_BYTES)
        sock = transport.get_extra_info("socket")
        if (mark := LowWaterMark.of(sock)) is not None:
            self._fewer_reads = TickingLowWaterMark(mark, self.loop)
        elif (pauses := ReadPauses.of(sock)) is not None:
            self._fewer_reads = TimedReadPauses(pauses, self.loop, self._pause, self.resume)

    def attend(self, nbytes: int) -> None:
        """Handle a read that brought more than the end of an exchange."""
        session = self._session
        hand_out(session, self.listener)
        self.send()
        self._deliver()
        if session.is_closed:
            # The server ended the connection, or broke the protocol: later bytes cannot be
            # interpreted.
            if self.link is not None and not self.link.is_closing():
                self.link.abort()
            return
        is_idle = session.is_idle
        # The bytes of a large result are counted to its end.
        self.attends_all = not is_idle
        if self._fewer_reads is not None:
            if is_idle:
                self._fewer_reads.rest()
            else:
                self._fewer_reads.received(nbytes, self.window_bytes)
        if nbytes >= self.window_bytes:
            self._count_full_read()

    def eof_received(self) -> bool:
        """The server has closed its side, and so does the loop."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is closed; waiting callers get the reason."""
        if exc is not None and self.link is not None and not self.is_tls:
            # The server's reason may lie in the socket: a write fails before it is read.
            number = self.link.get_extra_info("socket").fileno()
            with contextlib.suppress(OSError), socket.socket(fileno=os.dup(number)) as link:
                read_last_words(self._session, link)
        if not self._session.is_closed:
            self._session.receive_eof()
        listener, self.closed_listener = self.closed_listener, None
        if listener is not None:
            # Its callbacks run before the waiting caller continues.
            listener()
        self._deliver(exc)
        for future in (self._idle, self._writable):
            if future is not None and not future.done():
                future.set_result(None)
        if not self._closed.done():
            self._closed.set_result(None)
        if self._fewer_reads is not None:
            self._fewer_reads.rest()
            self._fewer_reads = None
        # asyncio's transports must not be aborted once the connection is lost.
        self.link = None

    def pause_writing(self) -> None:
        """The socket is full for now."""
        self._writable = self.loop.create_future()

    def resume_writing(self) -> None:
        """The socket can take bytes again."""
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
        self._writable = None

    # Inside

    def _has_ended(self) -> bool:
        return self._session.is_idle or self._session.is_closed

    def _deliver(self, cause: Exception | None = None) -> None:
        """Pass the next event to a waiting caller."""
        self.deliver(cause)
        if self._idle is not None and self._session.is_idle and not self._idle.done():
            self._idle.set_result(None)
        if not self._session.wants_read:
            self._pause()

    def _count_full_read(self) -> None:
        if self._full_reads == 0:
            self.loop.call_soon(self._begin_turn)
        self._full_reads += 1
        if self._full_reads == FULL_READS_MAX:
            self._pause()

    def _begin_turn(self) -> None:
        if self._full_reads >= FULL_READS_MAX:
            self.resume()
        self._full_reads = 0

    def _pause(self) -> None:
        if not self.is_paused and self.link is not None and not self.link.is_closing():
            self.link.pause_reading()
            self.is_paused = True

    def resume(self) -> None:
        if self.is_paused and self._session.wants_read and self.link is not None:
            self.is_paused = False
            if not self.link.is_closing():
                self.link.resume_reading()

    async def _recover(self) -> None:
        """Cancel the query on the server, and read until it is ready again."""
        try:
            async with asyncio.timeout(RECOVERY_TIMEOUT_S):
                pause_s = CANCEL_AGAIN_S
                while not self._has_ended():
                    if self._session.runs_ahead:
                        # The request would cancel the script sent ahead, which ends in a moment.
                        await asyncio.sleep(AHEAD_AGAIN_S)
                        continue
                    await self._cancel_on_server()
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(pause_s):
                            await self._ended()
                    pause_s *= 2
                if self.rolls_back:
                    await self._roll_back()
        except (OSError, TimeoutError):
            self.recovery = None
            self.abort()
        except asyncio.CancelledError:
            # The socket was closed, or the loop is shutting down: the rest cannot be read.
            self.recovery = None
            self.abort()
            raise
        finally:
            self._idle = None
            self.recovery = None
            self.rolls_back = False

    async def _roll_back(self) -> None:
        if not self._session.is_closed and self._session.transaction_status != "idle":
            self._session.script("ROLLBACK")
            self.attends_all = True
            self.send()
            await self._ended()
            # Nobody waits for its events.
            self._session.abandon()

    async def _ended(self) -> None:
        while not self._has_ended():
            self._idle = self.loop.create_future()
            await self._idle

    async def _cancel_on_server(self) -> None:
        request = self._session.cancel_request()
        if request is not None and not self._session.is_idle:
            await self.send_cancel(request)

    async def send_cancel(self, request: bytes) -> None:
        """Open a second connection, and send a cancel request for the query of the first."""
        ended = self.loop.create_future()
        link = await _open(self.address, self._tls, UntilClosed(ended))
        try:
            link.write(request)
            # The server closes the connection after it has sent the signal.
            await ended
        finally:
            # asyncio's transports must not be aborted once the connection is lost.
            if not ended.done():
                link.abort()


def _run_out(waiter: asyncio.Future[Event]) -> None:
    """The time for an answer has expired."""
    if not waiter.done():
        waiter.set_exception(TimeoutError())


async def connect(session: _core.Session, address: Address, tls: TlsPolicy) -> Transport:
    """Open a socket to one address, with TLS if the policy requires it.

    Raises OSError if the address cannot be reached or refuses required TLS.
    """
    transport = Transport(session, address, tls)
    await _open(address, tls, transport)
    return transport


async def _open(
    address: Address, tls: TlsPolicy, protocol: asyncio.BaseProtocol
) -> asyncio.Transport:
    loop = asyncio.get_running_loop()
    if isinstance(address, UnixAddress):
        link, _ = await loop.create_unix_connection(lambda: protocol, address.path)
        return link
    if tls.context is None:
        plain, _ = await loop.create_connection(lambda: protocol, *address.target)
        _keep_alive(plain)
        return plain
    if tls.is_direct:
        direct, _ = await loop.create_connection(
            lambda: protocol,
            *address.target,
            ssl=tls.context,
            server_hostname=tls.server_hostname(address.host),
        )
        try:
            tls.check_protocol(direct.get_extra_info("ssl_object").selected_alpn_protocol())
        except BaseException:
            direct.abort()
            raise
        _keep_alive(direct)
        return direct
    return await _open_after_request(address, tls, protocol)


async def _open_after_request(
    address: TcpAddress, tls: TlsPolicy, protocol: asyncio.BaseProtocol
) -> asyncio.Transport:
    loop = asyncio.get_running_loop()
    link, asking = await loop.create_connection(TlsAnswer, *address.target)
    try:
        _keep_alive(link)
        link.write(_core.ssl_request())
        if tls.accepts(await asking.answer):
            upgraded = await loop.start_tls(
                link,
                protocol,
                cast("Any", tls.context),
                server_hostname=tls.server_hostname(address.host),
            )
            secured = cast("asyncio.Transport", upgraded)
            protocol.connection_made(secured)
            return secured
    except BaseException:
        link.abort()
        raise
    link.set_protocol(protocol)
    protocol.connection_made(link)
    return link


def _keep_alive(link: asyncio.Transport) -> None:
    sock = link.get_extra_info("socket")
    with contextlib.suppress(OSError, AttributeError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
