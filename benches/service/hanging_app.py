"""The service with a fault, to try a supervisor with: `/hang` never gives the loop back."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from examples.service.starlette_app import app as whole

if TYPE_CHECKING:
    from examples.service.account import Message, Receive, Send


async def app(scope: Message, receive: Receive, send: Send) -> None:
    """Serve a request, or hang."""
    if scope["type"] == "http" and scope["path"] == "/hang":
        time.sleep(3600)  # noqa: ASYNC251 - the fault
    await whole(scope, receive, send)
