"""Signals that end the command: the stack unwinds, and no partial file stays behind."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import FrameType

#: Shells add this to a signal's number to form the exit status.
SIGNAL_STATUS = 128
#: The exit status after the reader of our output closed the pipe, as for a death by SIGPIPE, which
#: Windows does not have.
PIPE_STATUS = SIGNAL_STATUS + getattr(signal, "SIGPIPE", 13)

# Windows has no SIGHUP.
_ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
_MEANT_TO_STOP = (signal.SIGINT, *_ENDING)


class TerminatedError(KeyboardInterrupt):
    """SIGTERM or SIGHUP arrived; the stack unwinds as it does for Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class ClosedPipeError(Exception):
    """The reader of our output closed the pipe."""


def install() -> None:
    """Make SIGTERM and SIGHUP unwind the stack, unless the parent process ignores them."""
    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _terminate)


def status_of(interrupt: BaseException | None) -> int:
    """Return the exit status for the signal that raised this interrupt."""
    if isinstance(interrupt, TerminatedError):
        return SIGNAL_STATUS + interrupt.number
    return SIGNAL_STATUS + int(signal.SIGINT)


@contextmanager
def held_back() -> Generator[None, None, None]:
    """Delay signals until the block ends, so that they cannot interrupt it halfway."""
    pending: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        pending.append(number)

    before = {number: signal.signal(number, note) for number in _MEANT_TO_STOP}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if pending:
            signal.raise_signal(signal.Signals(pending[0]))


def _terminate(number: int, _frame: FrameType | None) -> None:
    raise TerminatedError(number)
