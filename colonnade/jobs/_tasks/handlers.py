"""The rules for handlers: their form, and which of their errors end a worker."""

from __future__ import annotations

import inspect

from colonnade._words.arguments import check_callable
from colonnade._words.shown import shown


class WrongHandlerError(TypeError):
    """The handler of a consumer cannot do any job. It ends the consumer: no retry mends it."""


def check_handler(handler: object) -> None:
    """Raise TypeError unless the handler can be called with a batch: no retry mends it."""
    check_callable("handler", handler)
    try:
        signature = inspect.signature(handler)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return  # one that Python cannot describe, such as a function in C
    try:
        signature.bind(None)
    except TypeError:
        msg = (
            "a handler is called with one argument, the batch, which "
            f"{shown(handler)} does not take"
        )
        raise TypeError(msg) from None


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
