"""Runs programs that own a server, and watches the server."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.processes import is_alive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_SECONDS = 20.0

# The prelude of every owner: `tell` reports a server to the test, once.
_PRELUDE = """
import json, os, sys, threading, time
from colonnade import embedded

def tell(server):
    told = {"pid": server.pid, "directory": str(server.socket_dir), "dsn": server.dsn,
            "bin": str(server.binaries.directory)}
    print(json.dumps(told), flush=True)

"""


@dataclass(frozen=True)
class Owner:
    """A process that has started a server and reported it."""

    process: subprocess.Popen[str]
    pid: int
    directory: Path
    dsn: str
    bin: Path

    def is_served(self) -> bool:
        """Whether the server's main process is alive."""
        return is_alive(self.pid)


@contextlib.contextmanager
def owner(
    code: str, *, command: tuple[str, ...] = (), environment: Mapping[str, str] | None = None
) -> Iterator[Owner]:
    """Run code that calls `tell(server)`; kill it at the end if it is still running."""
    with spawn(code, command=command, environment=environment) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, "the owner ended without reporting its server"
            told = json.loads(line)
            yield Owner(
                process, told["pid"], Path(told["directory"]), told["dsn"], Path(told["bin"])
            )
        finally:
            process.kill()


def spawn(
    code: str, *, command: tuple[str, ...] = (), environment: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """Run code after the prelude, in Python or by another command."""
    without = ("COLONNADE_DSN", "PGHOST", "PGHOSTADDR", "PGSERVICE")
    inherited = {name: value for name, value in os.environ.items() if name not in without}
    return subprocess.Popen(
        [*(command or (sys.executable,)), "-c", _PRELUDE + textwrap.dedent(code)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**inherited, "PYTHONPATH": str(ROOT), **(environment or {})},
    )


def eventually(condition: Callable[[], bool]) -> bool:
    """Poll a condition until it holds or the deadline passes."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
