"""A web server in a process of its own, whose memory a test reads."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ctypes
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import httpx
import uvicorn

import colonnade
from colonnade import serve
from tests.support.leftovers import ROOT

if TYPE_CHECKING:
    from collections.abc import MutableMapping

_C_LIBRARY = ctypes.CDLL(None)
BATCH_ROWS = 8192
#: A row has a number, a text of 1 KiB, and the offset of its end.
BATCH_BYTES = BATCH_ROWS * (8 + 1024 + 4)
SQL = "SELECT i AS number, repeat(md5(i::text), 32) AS text FROM generate_series(1, $1::int) AS i"


class Exporter:
    """The process; a context manager. The path of a request is the number of rows."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self.port = 0

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "tests.serve.exporting", self._dsn]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def resident_bytes(self) -> int:
        """The memory of the process, once it has given back what it has freed."""
        address = f"http://127.0.0.1:{self.port}/trim"
        assert httpx.get(address, timeout=30).status_code == 204
        lines = Path(f"/proc/{self._process.pid}/status").read_text("ascii").splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmRSS:"))


async def _serve(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=4) as pool:

        async def app(scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
            if scope["path"] == "/trim":
                if hasattr(_C_LIBRARY, "malloc_trim"):
                    _C_LIBRARY.malloc_trim(0)
                await send({"type": "http.response.start", "status": 204, "headers": []})
                await send({"type": "http.response.body", "body": b""})
                return
            rows = int(scope["path"].strip("/"))
            codec = scope["query_string"].decode() or "none"
            scope = {**scope, "query_string": f"format=arrow&codecs={codec}".encode()}
            response = serve.TableResponse(
                lambda: pool.iter_columns(SQL, rows, batch_rows=BATCH_ROWS)
            )
            await response(scope, receive, send)

        listener = socket.create_server(("127.0.0.1", 0))
        print(listener.getsockname()[1], flush=True)  # noqa: T201 - the test reads it
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off"))
        await server.serve([listener])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("dsn")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(parser.parse_args().dsn))
