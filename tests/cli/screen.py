"""A terminal in which the program runs, for tests that type and look."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import termios
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cli.program import IMPORTS, PROGRAM, TIMEOUT_S, environment
from tests.support import warm

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[@-Z\\-_])")
ENTERED, LEFT = "\x1b[?1049h", "\x1b[?1049l"
HIDDEN, SHOWN = "\x1b[?25l", "\x1b[?25h"


class Screen:
    """The program's terminal."""

    def __init__(self, process: subprocess.Popen[bytes], ours: int, theirs: int) -> None:
        self.process = process
        self.written = ""
        self._ours = ours
        self._theirs = theirs
        # The place in `written` of the last act.
        self._since = 0
        self._before = termios.tcgetattr(theirs)

    def await_text(self, text: str) -> None:
        """Wait until the program has written this text."""
        give_up = time.monotonic() + TIMEOUT_S
        while text not in _SEQUENCE.sub("", self.written[self._since :]):
            assert time.monotonic() < give_up, self.written[-3000:]
            self._read()

    def await_next(self, text: str) -> None:
        """Wait until the program writes this text from now on."""
        self._since = len(self.written)
        self.await_text(text)

    def resize(self, width: int, height: int) -> None:
        """Give the terminal another size, which the kernel tells the program."""
        size = struct.pack("HHHH", height, width, 0, 0)
        self._since = len(self.written)
        fcntl.ioctl(self._theirs, termios.TIOCSWINSZ, size)

    def type(self, keys: bytes) -> None:
        """Type these keys."""
        os.write(self._ours, keys)

    def await_end(self) -> int:
        """Wait for the end of the program, and return its status."""
        self.await_state(None)
        return self.process.wait()

    def await_state(self, letter: str | None) -> None:
        """Wait until the kernel says that the process is in this state, None for its end."""
        give_up = time.monotonic() + TIMEOUT_S
        while (self.process.poll() is None) if letter is None else (self._state() != letter):
            assert time.monotonic() < give_up, self.written[-3000:]
            self._read()
        self._read()

    def is_restored(self) -> bool:
        """Whether the program has left the terminal as it was."""
        last = max(self.written.rfind(mark) for mark in (ENTERED, HIDDEN))
        return (
            termios.tcgetattr(self._theirs) == self._before
            and self.written.rfind(LEFT) > last
            and self.written.rfind(SHOWN) > last
        )

    def _state(self) -> str:
        text = Path(f"/proc/{self.process.pid}/stat").read_text()
        return text.rpartition(")")[2].split()[0]

    def _read(self) -> None:
        while select.select([self._ours], [], [], 0.02)[0]:
            self.written += os.read(self._ours, 65536).decode()


@contextlib.contextmanager
def on_screen(
    *words: str, width: int = 100, height: int = 40, env: dict[str, str] | None = None
) -> Iterator[Screen]:
    """Run the program in a terminal; it ends at the latest with the block."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
    process = warm.Popen[bytes](
        [*PROGRAM, *words],
        imports=IMPORTS,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        terminal=0,
        env=environment(None, **{"TERM": "xterm-256color", **(env or {})}),
    )
    try:
        yield Screen(process, ours, theirs)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        os.close(theirs)
