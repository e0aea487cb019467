"""Plain ASGI middleware that asks the gate before any work is done for a request."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from examples.service.admission.admitted import Admitted, admitted
from examples.service.admission.refusals import body_of, headers_of

if TYPE_CHECKING:
    from examples.service.account import App, Message, Receive, Send
    from examples.service.admission.gate import Gate, Refusal

#: How long a client will wait for the answer, in milliseconds: `X-Deadline-Ms: 500`.
_DEADLINE = b"x-deadline-ms"

#: Work is begun within this part of the time: it takes some, and so does the answer's way.
_BEGUN_BY = 0.9


class Admission:
    """Answers 503 with `Retry-After` and `X-Shed` (the cause) for what the gate refuses.

    Routes without a rule, such as those of health, always pass. The gate is set when the process
    has what it looks at; until then, everything passes.
    """

    def __init__(self, app: App, gate: Gate | None = None) -> None:
        self._app = app
        self.gate = gate

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        gate = self.gate
        if scope["type"] != "http" or gate is None:
            await self._app(scope, receive, send)
            return
        route = scope["path"]
        patience = _patience(dict(scope["headers"]).get(_DEADLINE))
        now = time.monotonic()
        refusal = gate.enter(route, now, seconds_max=patience)
        if refusal is not None:
            await _refuse(send, refusal)
            return
        until = now + _BEGUN_BY * min(patience, gate.seconds_max(route))
        request = Admitted(gate, route, now, until)
        before = admitted.set(request)
        try:
            await self._app(scope, receive, send)
        finally:
            admitted.reset(before)
            request.leave()


def _patience(text: bytes | None) -> float:
    """The seconds of the header; a text that is no number counts as none."""
    return int(text) / 1e3 if text is not None and text.isdigit() and len(text) < 9 else math.inf


async def _refuse(send: Send, refusal: Refusal) -> None:
    content = body_of(refusal)
    headers = [
        (b"content-type", b"application/problem+json"),
        (b"content-length", str(len(content)).encode()),
        *((name.encode(), value.encode()) for name, value in headers_of(refusal).items()),
    ]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": content})
