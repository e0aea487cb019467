"""Runs the program as users do: with pipes, in the background, and on a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.support import warm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROGRAM = (sys.executable, "-m", "colonnade.cli")
_COMMANDS = ("demo", "docs", "doctor", "export", "importing", "jobs", "observe", "query")
#: The modules that the commands import. Not pyarrow, which starts a thread.
IMPORTS = (
    "asyncio",
    "colonnade._driver._sync.pool.pool",
    "colonnade.cli.app",
    *(f"colonnade.cli.{command}.command" for command in _COMMANDS),
    "colonnade.jobs._sync.listing",
    "encodings.idna",
    "numpy",
    "rich.live",
    "rich.markdown",
    "rich.progress",
)
TIMEOUT_S = 60.0
_READ_BYTES = 65536


def environment(dsn: str | None, **extra: str) -> dict[str, str]:
    """The environment: only the given server, and no terminal."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    for name in ("COLONNADE_DSN", "COLUMNS", "LINES"):
        kept.pop(name, None)
    if dsn is not None:
        kept["COLONNADE_DSN"] = dsn
    return {**kept, **extra}


def run(
    dsn: str | None, *words: str, stdin: str = "", env: dict[str, str] | None = None, **more: Any
) -> subprocess.CompletedProcess[str]:
    """Run the program with pipes, and wait for its end."""
    return warm.run(
        [*PROGRAM, *words],
        imports=IMPORTS,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
        env=environment(dsn, **(env or {})),
        **more,
    )


def run_for_bytes(dsn: str, *words: str) -> bytes:
    """Run the program, expect success, and return its output."""
    done = warm.run(
        [*PROGRAM, *words],
        imports=IMPORTS,
        capture_output=True,
        check=False,
        timeout=TIMEOUT_S,
        env=environment(dsn),
    )
    assert done.returncode == 0, done.stderr.decode()
    out: bytes = done.stdout
    return out


@contextmanager
def started(dsn: str, *words: str, **more: Any) -> Iterator[subprocess.Popen[str]]:
    """Run the program in the background; it ends at the latest with the block."""
    process = subprocess.Popen(
        [*PROGRAM, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(dsn, PGAPPNAME=APPLICATION),
        **more,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


#: The name of programs of `started` in pg_stat_activity.
APPLICATION = "colonnade under test"


def until(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds."""
    give_up = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < give_up, "the condition did not come true"
        time.sleep(0.005)


@dataclass(frozen=True)
class OnTerminal:
    """The output of a run whose outputs are terminals."""

    status: int
    out: str
    err: str


def run_on_terminal(
    dsn: str | None,
    *words: str,
    width: int = 80,
    typed: str = "",
    env: dict[str, str] | None = None,
) -> OnTerminal:
    """Run the program with a terminal for each of its outputs.

    The input is typed when the program prompts.
    """
    with _terminal(width) as (out, out_end), _terminal(width) as (err, err_end):
        process = warm.Popen[bytes](
            [*PROGRAM, *words],
            imports=IMPORTS,
            stdin=err_end,
            stdout=out_end,
            stderr=err_end,
            start_new_session=True,
            terminal=2,
            env=environment(dsn, TERM="xterm-256color", **(env or {})),
        )
        os.close(out_end)
        os.close(err_end)
        shown = {out: b"", err: b""}
        give_up = time.monotonic() + TIMEOUT_S
        open_ends = [out, err]
        while open_ends:
            for end in select.select(open_ends, [], [], 0.1)[0]:
                text = _read(end)
                shown[end] += text
                if not text:
                    open_ends.remove(end)
            if typed and b": " in shown[err]:
                os.write(err, typed.encode())
                typed = ""
            if time.monotonic() > give_up:
                process.kill()
                raise AssertionError(shown)
    return OnTerminal(process.wait(), shown[out].decode(), shown[err].decode())


@contextmanager
def _terminal(width: int) -> Iterator[tuple[int, int]]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    try:
        yield ours, theirs
    finally:
        os.close(ours)


def _read(end: int) -> bytes:
    try:
        return os.read(end, _READ_BYTES)
    except OSError:
        # The other side of the terminal is closed.
        return b""
