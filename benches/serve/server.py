"""A web server with two routes on one loop: `/ping`, and `/export` in one of the ways.

python -m benches.serve.server WAY asyncio|uvloop DSN
"""

from __future__ import annotations

import asyncio
import socket
import sys
from typing import Any

import uvicorn

from benches.serve.exports import WAYS


async def _serve(way: str, dsn: str) -> None:
    async with WAYS[way][1](dsn) as export:

        async def app(scope: Any, receive: Any, send: Any) -> None:
            if scope["path"] == "/export":
                await export(scope, receive, send)
                return
            headers = [(b"content-length", b"4")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": b"pong"})

        # With the protocol named: asyncio sets TCP_NODELAY only then, and an answer in two writes
        # would wait 40 ms for the client's acknowledgement of the first.
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        print(listener.getsockname()[1], flush=True)
        config = uvicorn.Config(app, log_level="critical", lifespan="off", access_log=False)
        await uvicorn.Server(config).serve([listener])


if __name__ == "__main__":
    way, loop, dsn = sys.argv[1:]
    if loop == "uvloop":
        import uvloop

        uvloop.run(_serve(way, dsn))
    else:
        asyncio.run(_serve(way, dsn))
