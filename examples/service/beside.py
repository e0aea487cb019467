"""Work on columns beside the loop: none is begun whose answer would come too late."""

from __future__ import annotations

import asyncio
import math
import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

_P = ParamSpec("_P")
_T = TypeVar("_T")

#: What the newest piece of work counts in the mean.
_WEIGHT = 0.05

#: Work is refused on arrival if it would wait for this part of its time.
_SURE = 0.9

#: The `time.monotonic()` from which the answer to this request is of no use.
useful_until: ContextVar[float] = ContextVar("useful_until", default=math.inf)


class TooLateError(Exception):
    """Nobody would use the result of this work any more, so it was not begun."""


class Beside:
    """One thread, which holds neither the loop nor, mostly, the interpreter.

    Its line tells how long the next one waits, so work that would be late is refused when it
    arrives. What was expected wrongly is refused when its turn comes: done in vain, it would make
    all behind it late, too.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "columns")
        self._in_line = 0
        self._mean = self._ended = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._thread.shutdown(cancel_futures=True)

    async def run(self, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Call the function in the thread; raises TooLateError if its turn comes too late."""
        until, asked = useful_until.get(), time.monotonic()
        if self._in_line and self._in_line * self._mean >= _SURE * (until - asked):
            raise TooLateError

        def work() -> _T:
            if time.monotonic() >= until:
                raise TooLateError
            try:
                return function(*args, **kwargs)
            finally:
                self._note_end(asked)

        self._in_line += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        finally:
            self._in_line -= 1

    def _note_end(self, asked: float) -> None:
        """Count the time that one piece of work makes those behind it wait."""
        now = time.monotonic()
        seconds = now - max(asked, self._ended)
        self._ended = now
        self._mean += (seconds - self._mean) * _WEIGHT
