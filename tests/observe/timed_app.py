"""An ASGI application whose answers tell their queries, and servers for it."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
from typing import TYPE_CHECKING, Any, NamedTuple

import hypercorn.asyncio
import hypercorn.config
import uvicorn

from tests.support.until import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import colonnade

SERVERS = ("uvicorn", "hypercorn")
PAGE = b"""<!doctype html><pre id="seen"></pre><script>
const seen = performance.getEntriesByType("navigation")[0].serverTiming;
document.getElementById("seen").textContent = JSON.stringify(seen);
</script>"""


class Metric(NamedTuple):
    """A metric of a Server-Timing header."""

    milliseconds: float
    description: str


def metrics_of(header: str) -> dict[str, Metric]:
    """Read a header by its grammar; whatever does not follow it is an error."""
    token = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
    quoted = r'"(?:[\t !#-\[\]-~]|\\[\t -~])*"'
    metric = rf"({token})(?:;dur=([0-9.]+))?(?:;desc=({quoted}))?"
    assert re.fullmatch(rf"{metric}(?:, {metric})*", header), header
    found = re.findall(metric + r"(?:, |$)", header)
    return {
        name: Metric(float(dur or 0), re.sub(r"\\(.)", r"\1", desc[1:-1]))
        for name, dur, desc in found
    }


class TimedApp:
    """Each path runs other queries; the pool has few connections."""

    def __init__(self, pool: colonnade.Pool) -> None:
        self._pool = pool

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        name, _, argument = scope["path"][1:].partition("/")
        await getattr(self, name)(argument, send)

    async def page(self, _: str, send: Any) -> None:
        await self._pool.fetchval("SELECT count(*) FROM pg_class")
        await answer(send, PAGE, (b"content-type", b"text/html"))

    async def none(self, _: str, send: Any) -> None:
        await answer(send, b"nothing was asked", (b"server-timing", b'cache;dur=1.5;desc="hit"'))

    async def queries(self, count: str, send: Any) -> None:
        """One after the other; the number is in the name of the view."""
        for _ in range(int(count)):
            await self._pool.fetch(f"SELECT * FROM t{count}")
        await answer(send, b"done")

    async def tasks(self, count: str, send: Any) -> None:
        """In tasks that compete for connections."""
        async with asyncio.TaskGroup() as group:
            for _ in range(int(count)):
                group.create_task(self._pool.fetchval("SELECT pg_sleep(0.01) FROM pg_database"))
        await answer(send, b"done")

    async def fail(self, _: str, send: Any) -> None:
        with contextlib.suppress(Exception):
            await self._pool.fetchval("SELECT * FROM missing")
        await answer(send, b"failed")

    async def stream(self, _: str, send: Any) -> None:
        """A query before the first byte, and one before the last."""
        await self._pool.fetchval("SELECT 1 FROM pg_class")
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"first,", "more_body": True})
        await self._pool.fetchval("SELECT 2 FROM pg_type")
        await send({"type": "http.response.body", "body": b"last", "more_body": False})


async def answer(send: Any, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    """Answer with a whole body."""
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": 200, "headers": [length, *headers]})
    await send({"type": "http.response.body", "body": body})


@contextlib.asynccontextmanager
async def serving(server: str, app: Any) -> AsyncIterator[int]:
    """Serve an application on the running loop; the value is the port."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    async with (
        serving_uvicorn(app, listener) if server == "uvicorn" else serving_hypercorn(app, listener)
    ):
        yield port


@contextlib.asynccontextmanager
async def serving_uvicorn(app: Any, listener: socket.socket) -> AsyncIterator[None]:
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="on"))
    task = asyncio.create_task(server.serve([listener]))
    try:
        await until(lambda: server.started or task.done())
        yield
    finally:
        server.should_exit = True
        await task


@contextlib.asynccontextmanager
async def serving_hypercorn(app: Any, listener: socket.socket) -> AsyncIterator[None]:
    config = hypercorn.config.Config()
    config.bind = [f"fd://{listener.detach()}"]
    config.loglevel = "WARNING"
    stop = asyncio.Event()
    serve: Any = hypercorn.asyncio.serve
    task = asyncio.create_task(serve(app, config, shutdown_trigger=stop.wait))
    try:
        # The socket listens already, so callers wait in its queue until it is served.
        yield
    finally:
        stop.set()
        await task
