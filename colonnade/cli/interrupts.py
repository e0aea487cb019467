"""How the command ends by signals: everything is unwound, and nothing half-done stays behind."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import FrameType

#: What is added to a signal's number to make an exit status of it, as shells do.
SIGNAL_STATUS = 128
#: The reader of our output went away; what tools that are killed by SIGPIPE end with.
PIPE_STATUS = SIGNAL_STATUS + signal.SIGPIPE

_ENDING = (signal.SIGTERM, signal.SIGHUP)
_MEANT_TO_STOP = (signal.SIGINT, *_ENDING)


class TerminatedError(KeyboardInterrupt):
    """A request to end, which unwinds just as an interrupt does."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class ClosedPipeError(Exception):
    """Whoever read our output wants no more of it."""


def install() -> None:
    """Make signals that ask for the end unwind the stack, unless the caller ignores them."""
    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _terminate)


def status_of(interrupt: BaseException | None) -> int:
    """The exit status that says which signal it was."""
    if isinstance(interrupt, TerminatedError):
        return SIGNAL_STATUS + interrupt.number
    return SIGNAL_STATUS + int(signal.SIGINT)


@contextmanager
def held_back() -> Generator[None, None, None]:
    """Let signals wait while something is done that must be done whole."""
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
