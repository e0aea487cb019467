"""Programs that fork, or end with everything open, each in a separate process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_SECONDS_MAX = 60.0

_BEGINNING = '''
import asyncio
import gc
import os
import sys
import threading
import warnings

import colonnade
import colonnade.sync

DSN, LOOP = sys.argv[1:]
warnings.simplefilter("default")
# Python 3.12 and newer warn if asyncio has looked up a host name in a thread.
warnings.filterwarnings("ignore", ".*multi-threaded, use of fork", DeprecationWarning)


def run(main):
    """As asyncio.run, on the loop that the test asks for."""
    if LOOP == "uvloop":
        import uvloop

        return uvloop.run(main)
    return asyncio.run(main)


def in_child(work, *, ends=lambda: sys.exit()):
    """The result or exception of `work` in a forked child, which then ends as processes do.

    Within a running loop it must not: its way out would lead through the parent's loop.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            told = str(work())
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
        gc.collect()
        os.write(writer, told.encode())
        ends()
    os.close(writer)
    with os.fdopen(reader, "rb") as told:
        text = told.read().decode()
    status = os.waitpid(child, 0)[1]
    assert status == 0, status
    return text


def refused(told):
    """Whether a child was told what to do instead."""
    assert told.startswith("InterfaceError: "), told
    assert "belongs to the parent process" in told, told
    assert "after the fork" in told, told
    return True
'''


def said(program: str, dsn: str, loop: str = "asyncio") -> list[str]:
    """The lines that a program prints; it must succeed in time, without anything on stderr."""
    done = subprocess.run(
        # Unbuffered: a fork would inherit its parent's unwritten output, and write it again.
        [sys.executable, "-u", "-c", _BEGINNING + program, dsn, loop],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=_SECONDS_MAX,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.splitlines()
