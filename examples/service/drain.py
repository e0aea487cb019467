"""The end of a process: its steps between SIGTERM and its exit, within its grace.

The web server stops accepting connections, and waits for requests. It does not know the database,
nor the jobs, and asks nobody how long a request may take; so the drain is ours:

    at SIGTERM             no longer ready; takes no more jobs; each answer closes its connection
    half of the grace      what still arrives on old connections is refused
    eight tenths of it     requests that still run are cancelled, and their queries at the server
    then                   jobs are given back, the pool is closed: by `running`, in its order
"""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from examples.service.account import App, Message, Receive, Send

#: Parts of the grace.
REFUSE_AFTER = 0.5
CANCEL_AFTER = 0.8
_log = logging.getLogger("service.drain")


class Drain:
    """ASGI middleware outside of all others: knows the requests under way, and ends them in time.

    A request that is cancelled before its answer began is answered 503; one amid its answer breaks
    the connection, so that nobody takes it for a whole one.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        self._under_way: set[asyncio.Task[Any]] = set()
        self._at_begin: list[Callable[[], object]] = []
        self._at_refuse: list[Callable[[], object]] = []
        self._cancelled: set[asyncio.Task[Any]] = set()
        self.is_draining = False

    def on_begin(self, do: Callable[[], object]) -> None:
        """Call a function when the drain begins."""
        self._at_begin.append(do)

    def on_refuse(self, do: Callable[[], object]) -> None:
        """Call a function when what arrives is to be refused."""
        self._at_refuse.append(do)

    def begin(self, grace: float) -> None:
        """Begin to drain; the second time, do nothing. In the loop's thread."""
        if self.is_draining:
            return
        self.is_draining = True
        _log.info("draining", extra={"fields": {"under_way": len(self._under_way)}})
        loop = asyncio.get_running_loop()
        for do in self._at_begin:
            do()
        for do in self._at_refuse:
            loop.call_later(grace * REFUSE_AFTER, do)
        loop.call_later(grace * CANCEL_AFTER, self._cancel)

    def _cancel(self) -> None:
        left = {task for task in self._under_way if not task.done()}
        if left:
            _log.warning(
                "cancelled at the end of the grace", extra={"fields": {"tasks": len(left)}}
            )
        self._cancelled |= left
        for task in left:
            task.cancel()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _ClosingAnswer(self, send)
        # A task of our own: the server's may be none that can be cancelled.
        task = asyncio.ensure_future(self._app(scope, receive, answer.send))
        self._under_way.add(task)
        try:
            await _finished(task)
        except asyncio.CancelledError:
            if task not in self._cancelled:
                raise
            if answer.has_begun:
                raise ConnectionAbortedError("the process ended amid this answer") from None
            await _say_too_late(send)
        finally:
            self._under_way.discard(task)
            self._cancelled.discard(task)


async def _finished(task: asyncio.Future[Any]) -> None:
    """Wait for a task; if the waiting one is cancelled, so is the task, and its end is awaited."""
    try:
        await task
    except asyncio.CancelledError:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
        raise


class _ClosingAnswer:
    """Passes messages on; while the process drains, the answer closes its connection."""

    def __init__(self, drain: Drain, send: Send) -> None:
        self._drain = drain
        self._send = send
        self.has_begun = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_begun = True
            if self._drain.is_draining:
                names = {bytes(name).lower() for name, _ in message.get("headers", ())}
                if b"connection" not in names:
                    headers = [*message.get("headers", ()), (b"connection", b"close")]
                    message = {**message, "headers": headers}
        await self._send(message)


async def _say_too_late(send: Send) -> None:
    body = b'{"type":"about:blank","title":"The process ends","status":503}'
    headers = [
        (b"content-type", b"application/problem+json"),
        (b"content-length", str(len(body)).encode()),
        (b"retry-after", b"1"),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def begin_at_sigterm(drain: Drain, grace: float) -> None:
    """Begin the drain at SIGTERM, and let the server's own handler do the rest.

    Servers set their handlers before an application starts. asyncio's and uvloop's handlers are
    told of a signal by a descriptor, whatever Python's own handler is. Without a handler of the
    server's, the signal ends the process as it always did.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    loop = asyncio.get_running_loop()
    previous = signal.getsignal(signal.SIGTERM)
    if not callable(previous):
        return

    def handle(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(drain.begin, grace)
        previous(number, frame)

    signal.signal(signal.SIGTERM, handle)
