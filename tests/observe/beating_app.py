"""An ASGI application that beats: in `BEAT_PATH`, and on the route of its health."""

from __future__ import annotations

import os
import time
from typing import Any

from colonnade import observe

beat = observe.Beat(os.environ.get("BEAT_PATH", "-"), interval=0.05)


async def app(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        await _live(receive, send)
        return
    if scope["path"] == "/hang":
        while True:
            time.sleep(60)  # noqa: ASYNC251 - the fault to be seen
    body = f"{os.getpid()} {beat.is_alive(max_age=60)}".encode()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


async def _live(receive: Any, send: Any) -> None:
    await receive()
    async with beat:
        await send({"type": "lifespan.startup.complete"})
        await receive()
    await send({"type": "lifespan.shutdown.complete"})
