"""The interface that Lambda gives a function, on loopback, and AWS's own client running it.

The client asks for the next event, calls the function and posts what it returned. Between two
events, the process is stopped as the service freezes it.
"""

from __future__ import annotations

import http.server
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).resolve().parents[2]
FUNCTION = ROOT / "examples" / "serverless"
_VERSION = "/2018-06-01/runtime"
_ANSWER_SECONDS_MAX = 60.0


class Runtime:
    """A process that runs the function; a context manager."""

    def __init__(self, **variables: str) -> None:
        self._events: queue.Queue[tuple[str, int, bytes] | None] = queue.Queue()
        self._answers: queue.Queue[tuple[str, Any]] = queue.Queue()
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._interface())
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._variables = variables
        self._process: subprocess.Popen[bytes] | None = None
        self._number = 0

    def __enter__(self) -> Self:
        self._thread.start()
        paths = os.pathsep.join([str(FUNCTION), str(ROOT)])
        environment = {
            **{name: text for name, text in os.environ.items() if not name.startswith("AWS_")},
            **self._variables,
            "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{self._server.server_address[1]}",
            "PYTHONPATH": paths,
        }
        command = [sys.executable, "-m", "awslambdaric", "handler.handler"]
        self._process = subprocess.Popen(command, cwd=FUNCTION, env=environment)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        # Frozen or not, it ends. Then the interface need not wait for the next event.
        self._process.kill()
        self._process.wait()
        self._events.put(None)
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def freeze(self, seconds: float = 0.0) -> None:
        """Stop the process until the next call, which comes after this time at the earliest."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        # Nothing happens in a freeze that could be waited for: it only lasts.
        time.sleep(seconds)

    def call(self, event: object, *, seconds: float = 30.0) -> Any:
        """Thaw the process, let it answer an event within this time, and return the answer."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)
        self._number += 1
        identifier = f"request-{self._number}"
        deadline = int((time.time() + seconds) * 1000)
        self._events.put((identifier, deadline, json.dumps(event).encode()))
        path, answer = self._answers.get(timeout=_ANSWER_SECONDS_MAX)
        assert path == f"{_VERSION}/invocation/{identifier}/response", answer
        return answer

    def _interface(self) -> type[http.server.BaseHTTPRequestHandler]:
        events, answers = self._events, self._answers

        class Interface(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                assert self.path == f"{_VERSION}/invocation/next"
                event = events.get()
                if event is None:
                    self.close_connection = True
                    return
                identifier, deadline, body = event
                self.send_response(200)
                self.send_header("Lambda-Runtime-Aws-Request-Id", identifier)
                self.send_header("Lambda-Runtime-Deadline-Ms", str(deadline))
                self.send_header("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:x:1:f:g")
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                answers.put((self.path, json.loads(body)))
                self.send_response(202)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        return Interface
