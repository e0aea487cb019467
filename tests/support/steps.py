"""Drives a coroutine to a chosen suspension, and disturbs its task there.

    reached = await struck(work, Strike.CANCEL, 3)

runs `work()` in a task and cancels it when it waits for the third time. The numbers 1, 2, 3, ...
reach all suspensions of a coroutine; the first number without one gives a false
`reached.is_struck`.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

_SECONDS_MAX = 30.0


class Strike(Enum):
    """The disturbance at a suspension."""

    CANCEL = "cancelled while it waits"
    CANCEL_LATE = "cancelled when what it waits for is there, before it goes on"
    CANCEL_TWICE = "cancelled, and once more where it waits the next time"
    TIME_OUT = "out of time"


@dataclass
class Reached:
    """The end of a coroutine."""

    task: asyncio.Task[object]
    suspensions: int
    is_struck: bool
    """Whether it has reached the suspension."""


class _Driver:
    """An awaitable that counts the suspensions of a coroutine."""

    def __init__(
        self,
        coroutine: Coroutine[Any, Any, object],
        strike: Strike,
        at: int,
        limit: asyncio.Timeout,
    ) -> None:
        self._coroutine = coroutine
        self._strike = strike
        self._at = at
        self._limit = limit
        self.suspensions = 0

    def __await__(self) -> Generator[Any, None, object]:
        error: BaseException | None = None
        while True:
            try:
                awaited: Any
                if error is None:
                    awaited = self._coroutine.send(None)
                else:
                    awaited = self._coroutine.throw(error)
            except StopIteration as end:
                return end.value
            self.suspensions += 1
            self._act(awaited)
            try:
                yield awaited
            except GeneratorExit:
                self._coroutine.close()
                raise
            except BaseException as thrown:  # noqa: BLE001 - passed to the coroutine
                error = thrown
            else:
                error = None

    def _act(self, awaited: Any) -> None:
        is_next = self._strike is Strike.CANCEL_TWICE and self.suspensions == self._at + 1
        if self.suspensions != self._at and not is_next:
            return
        task = asyncio.current_task()
        assert task is not None
        if self._strike is Strike.TIME_OUT:
            self._limit.reschedule(asyncio.get_running_loop().time())
        elif self._strike is Strike.CANCEL_LATE and isinstance(awaited, asyncio.Future):
            # This comes before the task is told, because it has not seen the future yet.
            awaited.add_done_callback(lambda _: task.cancel())
        else:
            task.cancel()


async def struck(
    work: Callable[[], Coroutine[Any, Any, object]], strike: Strike, at: int
) -> Reached:
    """Run a coroutine function, and strike at the suspension of this number, from 1 on."""
    drivers: list[_Driver] = []

    async def whole() -> object:
        async with asyncio.timeout(None) as limit:
            drivers.append(_Driver(work(), strike, at, limit))
            return await drivers[0]

    task = asyncio.ensure_future(whole())
    done, _ = await asyncio.wait([task], timeout=_SECONDS_MAX)
    if not done:
        task.print_stack()
        task.cancel()
    assert done, f"{strike.value} at suspension {at}, it has not ended"
    (driver,) = drivers
    return Reached(task, driver.suspensions, driver.suspensions >= at)
