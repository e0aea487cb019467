"""What a handler must be, and whom what it raises concerns."""

from __future__ import annotations


class WrongHandlerError(TypeError):
    """The handler of a consumer cannot do any job. It ends the consumer: no retry mends it."""


def ends_worker(error: BaseException) -> bool:
    """Whether what a handler raised is meant for its worker: Ctrl-C, or a wrong handler.

    Everything else is the failure of its jobs, `SystemExit` too: a job that ended its worker
    without counting an attempt would end the next one, and so on for ever.
    """
    left = [error]
    while left:
        one = left.pop()
        if isinstance(one, KeyboardInterrupt | WrongHandlerError):
            return True
        if isinstance(one, BaseExceptionGroup):
            left += one.exceptions
    return False
