"""The application as a process under a web server."""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

ROOT = Path(__file__).resolve().parents[2]
#: How long an application may take until it is ready.
_START_SECONDS_MAX = 60.0
#: How long it may take to stop; then it is killed.
_STOP_SECONDS_MAX = 20.0

#: Each waits a little longer for its processes than they take themselves (`Settings.grace`).
COMMANDS = {
    "granian": "granian --interface asgi --port PORT --workers WORKERS --http 1 --loop uvloop"
    " --workers-kill-timeout 12 --respawn-failed-workers --respawn-interval 6 --log-level warning",
    "gunicorn": "gunicorn --worker-class asgi --bind 127.0.0.1:PORT --workers WORKERS"
    " --graceful-timeout 12 --no-control-socket --log-level warning",
    # A new process must be ready within the time of the health check, or a restart is given up.
    "uvicorn": "uvicorn --port PORT --workers WORKERS --timeout-graceful-shutdown 12"
    " --timeout-worker-healthcheck 30 --log-level warning --no-access-log",
}
#: How each recycles its processes. Granian knows times and memory, but no number of requests.
RECYCLING = {
    "granian": "--workers-lifetime 3600",
    "gunicorn": "--max-requests 100000 --max-requests-jitter 20000",
    "uvicorn": "--limit-max-requests 100000 --limit-max-requests-jitter 20000",
}


def free_port() -> int:
    """A port that is free at this moment."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@contextlib.contextmanager
def application(
    server: str, framework: str, port: int, workers: int, settings: Mapping[str, str]
) -> Generator[subprocess.Popen[bytes]]:
    """Run the application, and wait until it is ready; stop it at the end.

    `framework` may also be the address of another application, such as `package.module:app`.
    Raises RuntimeError if it ends, or is not ready in time.
    """
    command = f"{COMMANDS[server]} {RECYCLING[server]}"
    words = command.replace("PORT", str(port)).replace("WORKERS", str(workers)).split()
    address = framework if ":" in framework else f"examples.service.{framework}_app:app"
    process = subprocess.Popen(
        [sys.executable, "-m", *words, address],
        cwd=ROOT,
        env={**os.environ, **settings},
        # Ctrl-C is for this process, which stops the application.
        start_new_session=True,
    )
    with process:
        try:
            wait_until_ready(port, process)
            yield process
        finally:
            stop(process)


def wait_until_ready(port: int, process: subprocess.Popen[bytes]) -> None:
    """Ask `/readyz` until it says yes; raise RuntimeError for an end, or too long a start."""
    give_up = time.monotonic() + _START_SECONDS_MAX
    while time.monotonic() < give_up:
        if process.poll() is not None:
            raise RuntimeError(f"the application has ended: status {process.returncode}")
        if _is_ready(port):
            return
        time.sleep(0.05)
    raise RuntimeError(f"the application was not ready within {_START_SECONDS_MAX:g} s")


def _is_ready(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    return False


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ask the application to stop; kill it, and all that it has started, if it takes too long."""
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_STOP_SECONDS_MAX)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
