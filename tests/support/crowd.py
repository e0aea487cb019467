"""Threads that a test starts and that end with the test."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

R = TypeVar("R")

_SECONDS_MAX = 30.0


class Started(Generic[R]):
    """A call in another thread."""

    def __init__(self, work: Callable[..., R], *args: object) -> None:
        self._result: list[R] = []
        self._error: BaseException | None = None
        self.is_told = False
        """Whether its result has been requested."""
        self._thread = threading.Thread(target=self._run, args=(work, *args), daemon=True)
        self._thread.start()

    def _run(self, work: Callable[..., R], *args: Any) -> None:
        try:
            self._result.append(work(*args))
        except BaseException as error:  # noqa: BLE001 - raised when the result is requested
            self._error = error

    def end(self, seconds_max: float = _SECONDS_MAX) -> R:
        """Return the call's result, or raise its exception."""
        self._thread.join(seconds_max)
        assert not self._thread.is_alive(), "the thread hangs"
        self.is_told = True
        if self._error is not None:
            raise self._error
        return self._result[0]

    @property
    def is_alive(self) -> bool:
        """Whether the call is still running."""
        return self._thread.is_alive()


class Crowd:
    """Calls in threads, with a wait for their ends."""

    def __init__(self) -> None:
        self._started: list[Started[Any]] = []

    def start(self, work: Callable[..., R], *args: object) -> Started[R]:
        """Start a call in a new thread."""
        started = Started(work, *args)
        self._started.append(started)
        return started

    def ends(self, seconds_max: float = _SECONDS_MAX) -> list[Any]:
        """Return the results in the order of the starts, or raise the exception of a call."""
        started, self._started = self._started, []
        return [one.end(seconds_max) for one in started]

    def __enter__(self) -> Self:
        """Return the crowd."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Wait for all; raise the exception of a call whose result was not requested."""
        if error is None:
            for one in self._started:
                if not one.is_told:
                    one.end()


def see(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds."""
    give_up = time.monotonic() + _SECONDS_MAX
    while not condition():
        assert time.monotonic() < give_up, "the condition did not come true"
        time.sleep(0.002)
