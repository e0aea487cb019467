"""Web servers in processes of their own, each with the application of `framework_app`."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
APPLICATION = "tests.serve.framework_app:app"
_SECONDS_MAX = 60.0

#: HTTP/2 is spoken without TLS, by a client that knows that the server can.
COMMANDS = {
    "uvicorn": "uvicorn --port PORT --http httptools --log-level warning",
    "uvicorn-h11": "uvicorn --port PORT --http h11 --log-level warning",
    "uvicorn-zttp": "uvicorn --port PORT --http zttp --log-level warning",
    "granian": "granian --interface asgi --port PORT --http 1 --log-level warning",
    "hypercorn": "hypercorn --bind 127.0.0.1:PORT --log-level warning",
    "gunicorn": "gunicorn --worker-class asgi --bind 127.0.0.1:PORT --no-control-socket "
    "--log-level warning",
}
COMMANDS_HTTP2 = {
    "uvicorn-zttp": "uvicorn --port PORT --http zttp --http2 --log-level warning",
    "granian": "granian --interface asgi --port PORT --http 2 --log-level warning",
    # It ends no stream that broke off, but connections on which nothing is sent.
    "hypercorn": f"{COMMANDS['hypercorn']} --keep-alive 1",
    "gunicorn": f"{COMMANDS['gunicorn']} --http-protocols h2,h1 --http2-cleartext prior-knowledge",
}


@dataclass(frozen=True)
class WebServer:
    """A running server."""

    is_http2: bool
    port: int
    application_name: str
    """The name of its connections at the database."""

    def url(self, path: str) -> str:
        """The address of a path, such as ``quart/whole``."""
        return f"http://127.0.0.1:{self.port}/{path}"


@contextlib.contextmanager
def web_server(name: str, *, is_http2: bool, dsn: str, folder: Path) -> Iterator[WebServer]:
    """Start a server, and wait until it answers."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    log = folder / f"{name}.log"
    application_name = f"serve-{name}-{port}"
    commands = COMMANDS_HTTP2 if is_http2 else COMMANDS
    words = commands[name].replace("PORT", str(port)).split()
    with (
        log.open("wb") as file,
        subprocess.Popen(
            [sys.executable, "-m", *words, APPLICATION],
            cwd=ROOT,
            env={**os.environ, "POOL_DSN": dsn, "PGAPPNAME": application_name},
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        try:
            _wait_until_open(port, process, log)
            yield WebServer(is_http2, port, application_name)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _wait_until_open(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    give_up = time.monotonic() + _SECONDS_MAX
    while True:
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < give_up, log.read_text()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
