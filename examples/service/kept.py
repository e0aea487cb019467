"""Answers of the cache, given before any other work: one costs no more than a refusal would.

So an overload of new searches never takes away what is known already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from examples.service.account import App, Message, Receive, Send
    from examples.service.answers import Answer
    from examples.service.drain import Drain

_SEARCH = ("GET", "/search")


class KeptAnswers:
    """ASGI middleware that answers a search from the cache, and passes all others on."""

    def __init__(self, app: App, drain: Drain) -> None:
        self._app = app
        self._drain = drain
        self.look: Callable[[bytes], Answer | None] | None = None
        """Finds the answer to a query string; set when the process has a cache."""

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve a request."""
        answer = None
        is_search = scope["type"] == "http" and (scope["method"], scope["path"]) == _SEARCH
        # While the process drains, each answer closes its connection, which is not done here.
        if is_search and self.look is not None and not self._drain.is_draining:
            answer = self.look(scope["query_string"])
        if answer is None:
            await self._app(scope, receive, send)
            return
        headers = [
            (b"content-type", answer.content_type.encode()),
            (b"content-length", b"%d" % len(answer.body)),
            *((name.encode(), value.encode()) for name, value in answer.headers.items()),
        ]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})
