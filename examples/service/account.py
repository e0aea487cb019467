"""ASGI middleware that gives each request an id, and keeps an account of it when it has ended."""

from __future__ import annotations

import logging
import re
import time
import uuid
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from examples.service import phases
from examples.service.logs import request_id
from examples.service.recent import RecentRequests, Request

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]

#: The paths of the service; an attacker's paths are all "other".
ROUTES = frozenset({"/search", "/analytics", "/export", "/livez", "/readyz", "/metrics"})
_log = logging.getLogger("service.requests")
# The ids that a client may send: they are written to logs and to a header.
_ID = re.compile(rb"[0-9A-Za-z_.-]{1,64}")


class Account:
    """Answers with the header ``X-Request-Id``, which is the client's own if it is a plain one."""

    def __init__(self, app: App, recent: RecentRequests) -> None:
        self._app = app
        self._recent = recent

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = dict(scope["headers"]).get(b"x-request-id", b"")
        name = given if _ID.fullmatch(given) else uuid.uuid4().hex.encode()
        token = request_id.set(name.decode())
        answer = _Answer(send, name)
        began, work = time.time(), phases.Work()
        noting = phases.current.set(work)
        try:
            await self._app(scope, receive, answer.send)
        finally:
            self._keep(scope["path"], answer, began, work)
            phases.current.reset(noting)
            request_id.reset(token)

    def _keep(self, path: str, answer: _Answer, began: float, work: phases.Work) -> None:
        seconds = time.perf_counter() - work.began
        route = path if path in ROUTES else "other"
        request = Request(
            began, seconds, route, answer.status, answer.phases, request_id.get(), answer.shed
        )
        self._recent.add(request, work)
        if _log.isEnabledFor(logging.INFO):
            fields = {"route": route, "status": answer.status, "ms": round(seconds * 1e3, 2)}
            _log.info("answered", extra={"fields": fields})


class _Answer:
    """Passes messages on, and notes the status."""

    def __init__(self, send: Send, name: bytes) -> None:
        self._send = send
        self._name = name
        self.status = 0
        self.phases = ""
        self.shed = ""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", ()))
            by_name = dict(headers)
            self.status = message["status"]
            self.phases = by_name.get(b"server-timing", b"").decode("latin-1")
            self.shed = by_name.get(b"x-shed", b"").decode("latin-1")
            message = {**message, "headers": [*headers, (b"x-request-id", self._name)]}
        await self._send(message)
