"""Work on columns beside the loop: none is begun whose answer would come too late."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from examples.service.admission.admitted import admitted

if TYPE_CHECKING:
    from collections.abc import Callable

    from examples.service.admission.admitted import Admitted

_P = ParamSpec("_P")
_T = TypeVar("_T")

#: The weight of the newest piece of work in the mean.
_WEIGHT = 0.05

#: Work is refused on arrival if it would wait for this part of its time.
_SURE = 0.9


class TooLateError(Exception):
    """Nobody would use the result of this work any more, so it was not begun."""

    def __init__(self, request: Admitted) -> None:
        super().__init__(f"the work for {request.route} would be too late")
        self.request = request


class Beside:
    """One thread, which holds neither the loop nor, mostly, the interpreter.

    Work waits in one line, whose length tells how long the next piece will wait: a piece that would
    be late is refused on arrival. If the estimate was wrong, it is refused when its turn comes,
    because work that nobody uses delays all that waits behind it.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "columns")
        self._in_line = 0
        self._mean = self._ended = 0.0

    def close(self) -> None:
        """Wait for the piece of work under way, and drop the others."""
        self._thread.shutdown(cancel_futures=True)

    async def run(self, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Call the function in the thread; raises TooLateError if its turn comes too late."""
        request, asked = admitted.get(), time.monotonic()
        wait = self._in_line * self._mean
        if request is not None and self._in_line and wait >= _SURE * (request.until - asked):
            raise TooLateError(request)

        def work() -> _T:
            if request is not None and time.monotonic() >= request.until:
                raise TooLateError(request)
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
        """Count the time for which one piece of work made those behind it wait."""
        now = time.monotonic()
        seconds = now - max(asked, self._ended)
        self._ended = now
        self._mean += (seconds - self._mean) * _WEIGHT
