"""An application in a real web server, and clients of it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import TYPE_CHECKING, Any

import httpx2
import uvicorn

from tests.support.until import until
from tests.support.unused_tls import UNUSED_TLS

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


@contextlib.asynccontextmanager
async def serving(app: Any) -> AsyncGenerator[str]:
    """Serve an ASGI application on the running loop; the value is its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_level="critical", lifespan="off")
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve([listener]))
    try:
        await until(lambda: server.started or task.done())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task


@contextlib.asynccontextmanager
async def client_of(app: Any) -> AsyncGenerator[httpx2.AsyncClient]:
    """A client of the application in a web server."""
    async with (
        serving(app) as address,
        httpx2.AsyncClient(base_url=address, timeout=60, verify=UNUSED_TLS) as client,
    ):
        yield client
