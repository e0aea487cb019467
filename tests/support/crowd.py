"""Threads that a test starts, and that end with it."""

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
    """A call that another thread makes."""

    def __init__(self, work: Callable[..., R], *args: object) -> None:
        self._result: list[R] = []
        self._error: BaseException | None = None
        self.is_told = False
        """Whether somebody has asked how it ended."""
        self._thread = threading.Thread(target=self._run, args=(work, *args), daemon=True)
        self._thread.start()

    def _run(self, work: Callable[..., R], *args: Any) -> None:
        try:
            self._result.append(work(*args))
        except BaseException as error:  # noqa: BLE001 - whoever asks for the result gets it
            self._error = error

    def end(self, seconds_max: float = _SECONDS_MAX) -> R:
        """What the call returned; raises what it raised."""
        self._thread.join(seconds_max)
        assert not self._thread.is_alive(), "the thread hangs"
        self.is_told = True
        if self._error is not None:
            raise self._error
        return self._result[0]

    @property
    def is_alive(self) -> bool:
        """Whether it still runs."""
        return self._thread.is_alive()


class Crowd:
    """Calls in threads, whose ends are waited for."""

    def __init__(self) -> None:
        self._started: list[Started[Any]] = []

    def start(self, work: Callable[..., R], *args: object) -> Started[R]:
        """Make a call in a thread of its own."""
        started = Started(work, *args)
        self._started.append(started)
        return started

    def ends(self, seconds_max: float = _SECONDS_MAX) -> list[Any]:
        """What the calls returned, in the order of their start; raises what one has raised."""
        started, self._started = self._started, []
        return [one.end(seconds_max) for one in started]

    def __enter__(self) -> Self:
        """The crowd itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Wait for all; raises what one has raised that nobody has asked."""
        if error is None:
            for one in self._started:
                if not one.is_told:
                    one.end()


def see(condition: Callable[[], bool]) -> None:
    """Return when the condition holds."""
    give_up = time.monotonic() + _SECONDS_MAX
    while not condition():
        assert time.monotonic() < give_up, "it has not come to pass"
        time.sleep(0.002)
