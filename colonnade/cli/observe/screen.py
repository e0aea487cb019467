"""A picture on a terminal that is drawn again and again, until a key or a signal ends it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from typing import TYPE_CHECKING

from rich.live import Live

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from rich.console import Console, RenderableType

REFRESH_SECONDS = 1.0
_QUIT_KEYS = {b"q", b"Q"}
_READ_BYTES = 64


def can_draw(console: Console) -> bool:
    """Whether there is a terminal that can be drawn on, and typed at."""
    # Windows has other terminals, and gets text.
    is_terminal = os.name == "posix" and sys.stdout.isatty() and sys.stdin.isatty()
    return is_terminal and not console.is_dumb_terminal and console.encoding.startswith("utf")


def show(console: Console, draw: Callable[[], RenderableType]) -> None:
    """Draw each second, at once after a change of the size, until `q` is typed.

    The terminal is as before when it returns or raises, also while the process is in the
    background after Ctrl-Z. Raises KeyboardInterrupt for Ctrl-C.
    """
    while _show_until_left(console, draw):
        # Ctrl-Z: the shell has the terminal until the process goes on.
        os.kill(os.getpid(), signal.SIGSTOP)


def _show_until_left(console: Console, draw: Callable[[], RenderableType]) -> bool:
    """Draw until the screen is to be left; return whether it is only for a while."""
    live = Live(console=console, screen=True, auto_refresh=False, vertical_overflow="crop")
    with _signals() as waking, _single_keys(), live:
        while True:
            live.update(draw(), refresh=True)
            for signals, keys in _events(waking):
                if signal.SIGTSTP in signals:
                    return True
                if any(bytes([key]) in _QUIT_KEYS for key in keys):
                    return False
                if signal.SIGWINCH in signals:
                    live.update(draw(), refresh=True)


def _events(waking: int) -> Generator[tuple[bytes, bytes], None, None]:
    """Yield the numbers of the signals and the keys that arrive within the time of a picture."""
    ends = time.monotonic() + REFRESH_SECONDS
    while (left := ends - time.monotonic()) > 0:
        ready, _, _ = select.select([waking, sys.stdin.fileno()], [], [], left)
        signals = os.read(waking, _READ_BYTES) if waking in ready else b""
        keys = b""
        if sys.stdin.fileno() in ready:
            # The end of the input means that the terminal is gone.
            keys = os.read(sys.stdin.fileno(), _READ_BYTES) or b"q"
        if ready:
            yield signals, keys


@contextlib.contextmanager
def _signals() -> Generator[int, None, None]:
    """A descriptor from which the numbers of signals can be read as they arrive."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    numbers = (signal.SIGWINCH, signal.SIGTSTP)
    # Python writes to the descriptor only for signals that have a handler.
    handlers = {number: signal.signal(number, lambda *_: None) for number in numbers}
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    try:
        yield reading
    finally:
        signal.set_wakeup_fd(before)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        os.close(reading)
        os.close(writing)


@contextlib.contextmanager
def _single_keys() -> Generator[None, None, None]:
    """Read keys as they are typed, without showing them."""
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)
    try:
        yield
    finally:
        # The terminal may be gone, as after SIGHUP.
        with contextlib.suppress(termios.error):
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
