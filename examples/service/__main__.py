"""The whole service on this machine: ``python -m examples.service``, or `make service`.

It starts a private PostgreSQL, the suppliers and the application, prints their addresses, and
stops them all at Ctrl-C, or after ``--seconds``.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import tempfile
import time
from typing import TYPE_CHECKING

from colonnade import embedded
from examples.service.commands import COMMANDS, application, free_port
from examples.service.data import prepared
from examples.service.suppliers.processes import suppliers

if TYPE_CHECKING:
    import subprocess


def main() -> None:
    """Run everything until Ctrl-C, the end of the seconds, or of the application."""
    options = _options()
    with contextlib.ExitStack() as stack, contextlib.suppress(KeyboardInterrupt):
        database = stack.enter_context(embedded.start(tcp=True))
        print(f"database     {database.dsn}", flush=True)
        asyncio.run(prepared(database.dsn))
        addresses = stack.enter_context(suppliers(options.suppliers))
        print(f"suppliers    {len(addresses)}, the first one {addresses[0]}", flush=True)
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        live = stack.enter_context(tempfile.TemporaryDirectory())
        settings = {
            "SERVICE_DSN": database.dsn,
            "SERVICE_SUPPLIERS": ",".join(addresses),
            "SERVICE_BEAT_FOLDER": folder,
            "SERVICE_LIVE_FOLDER": live,
        }
        port = options.port or free_port()
        process = stack.enter_context(
            application(options.server, options.framework, port, options.workers, settings)
        )
        print(f"page         http://127.0.0.1:{port}/live", flush=True)
        print(f"application  http://127.0.0.1:{port}/search", flush=True)
        for path in ("analytics", "export", "livez", "readyz", "metrics"):
            print(f"             http://127.0.0.1:{port}/{path}", flush=True)
        _wait(process, options.seconds)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", choices=COMMANDS, default="granian")
    parser.add_argument("--framework", choices=("starlette", "quart"), default="starlette")
    parser.add_argument("--workers", type=_positive, default=1)
    parser.add_argument("--suppliers", type=_positive, default=40)
    parser.add_argument("--port", type=int, default=0, help="a free one by default")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    return parser.parse_args()


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 on, not {text}")
    return int(text)


def _wait(process: subprocess.Popen[bytes], seconds: float) -> None:
    # `kill` stops it as Ctrl-C does, and so everything that it has started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if process.poll() is not None:
            raise SystemExit(f"the application has ended: status {process.returncode}")
        time.sleep(0.2)


if __name__ == "__main__":
    main()
