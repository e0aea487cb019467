"""The faults that a node of the tests can be told to commit instead of answering properly."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault, for one command.

    `is_done` tells whether the command is carried out at all. Then the node waits for `stall`
    seconds, sends `reply` instead of its own if there is one, only the first `cut` bytes of it if
    that is a number, and closes the connection if `hangs_up`.
    """

    is_done: bool = True
    stall: float = 0.0
    reply: bytes | None = None
    cut: int | None = None
    hangs_up: bool = False


def cut_at(size: int) -> Fault:
    """The command is carried out, and the connection breaks amid the answer."""
    return Fault(cut=size, hangs_up=True)


def hang_up() -> Fault:
    """The connection breaks before anything is done."""
    return Fault(is_done=False, cut=0, hangs_up=True)


def stall(seconds: float) -> Fault:
    """The answer comes late."""
    return Fault(stall=seconds)


def error(text: str) -> Fault:
    """Nothing is done, and the answer is an error."""
    return Fault(is_done=False, reply=f"-{text}\r\n".encode())


def answer(reply: bytes) -> Fault:
    """The command is carried out, and the answer is something else."""
    return Fault(reply=reply)
