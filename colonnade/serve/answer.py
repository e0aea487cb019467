"""`Answer`: the status, headers and body of a response."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeAlias

from colonnade.serve.body import Body
from colonnade.serve.stall_limit import STALL_TIMEOUT_S, StallLimit

Message: TypeAlias = MutableMapping[str, Any]
Send: TypeAlias = Callable[[Message], Awaitable[None]]


@dataclass(frozen=True)
class Answer:
    """A response that has begun: a stream that is not sent must be closed."""

    status: HTTPStatus
    headers: list[tuple[bytes, bytes]]
    body: Body | bytes | None = None
    """None if the status or the method allows no body."""
    stall_timeout: float | None = STALL_TIMEOUT_S
    """After how many seconds a reader that takes nothing is cut off; None: never."""

    async def send(self, send: Send) -> None:
        """Send it as ASGI messages. An error leaves the response unfinished.

        Raises CancelledError if the reader took nothing for `stall_timeout` seconds.
        """
        async with StallLimit(self.stall_timeout) as stall_limit:

            async def send_in_time(message: Message) -> None:
                with stall_limit.waiting():
                    await send(message)

            try:
                await self._send(send_in_time)
            finally:
                await self.aclose()

    async def _send(self, send: Send) -> None:
        body = self.body
        headers = list(self.headers)
        if isinstance(body, bytes):
            headers.append((b"content-length", b"%d" % len(body)))
        await send({"type": "http.response.start", "status": int(self.status), "headers": headers})
        if isinstance(body, Body):
            await _send_pieces(body, send)
            body = None
        await send({"type": "http.response.body", "body": body or b"", "more_body": False})

    async def aclose(self) -> None:
        """End a stream early; the query is cancelled."""
        if isinstance(self.body, Body):
            await self.body.aclose()


async def _send_pieces(body: Body, send: Send) -> None:
    try:
        async for piece in body:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    except Exception:
        # Some middleware, such as Starlette's BaseHTTPMiddleware, ends the response of a failed
        # application as if it were complete. It fails as well at a message that ASGI does not have.
        with suppress(Exception):
            await send({"type": "http.response.failed", "more_body": True})
        raise
