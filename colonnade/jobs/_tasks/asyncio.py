"""Waiting, running and being woken by notifications, as tasks of the running loop."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from colonnade._shown import class_name
from colonnade.errors import InterfaceError, InternalClientError, PostgresError
from colonnade.jobs._tasks.handlers import WrongHandlerError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Sequence

    import colonnade
    from colonnade.jobs._async.batch import Batch

_logger = logging.getLogger("colonnade.jobs")
# A pool that closes waits for the connection that listens, which looks so often.
_LOOK_S = 0.1
_ACQUIRE_S = 5.0
_PAUSE_S = 1.0
# So long a connection may take to end its listening; then it is ended itself.
_ANSWER_S = 1.0

Semaphore = asyncio.Semaphore


class Signal:
    """A flag that a task waits for."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._bells: list[Signal] = []

    def set(self) -> None:
        """Set the flag."""
        self._event.set()
        for bell in tuple(self._bells):
            bell.set()

    def clear(self) -> None:
        """Take the flag back."""
        self._event.clear()

    @contextlib.contextmanager
    def rings(self, bell: Signal) -> Generator[None]:
        """Set `bell`, too, when this flag is set within the block."""
        self._bells.append(bell)
        if self.is_set():
            bell.set()
        try:
            yield
        finally:
            self._bells.remove(bell)

    def is_set(self) -> bool:
        """Whether the flag is set."""
        return self._event.is_set()

    async def wait(self, seconds: float | None) -> None:
        """Wait for the flag, at most so long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._event.wait()


async def run_all(
    works: Sequence[Callable[[], Awaitable[None]]], stop: Signal, seconds: Callable[[], float]
) -> bool:
    """Run all to their ends; after `stop`, at most `seconds()` longer, then they are cancelled.

    Returns whether all have ended by themselves. Raises the first error of one of them.
    """
    tasks = [asyncio.ensure_future(work()) for work in works]

    def ended(task: asyncio.Future[None]) -> None:
        has_failed = not task.cancelled() and task.exception() is not None
        if has_failed or all(each.done() for each in tasks):
            stop.set()

    for task in tasks:
        task.add_done_callback(ended)
    is_whole = True
    try:
        await stop.wait(None)
        _, late = await asyncio.wait(tasks, timeout=seconds())
        is_whole = not late
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error
    return is_whole


async def call_handler(handler: Callable[[Batch], Awaitable[object]], batch: Batch) -> None:
    """Let the handler work. Raises WrongHandlerError if it is a plain function."""
    answer: object = handler(batch)
    if not inspect.isawaitable(answer):
        msg = (
            f"a handler must be a coroutine function (async def), and this one returned "
            f"{class_name(answer)}: colonnade.jobs.sync takes plain functions"
        )
        raise WrongHandlerError(msg)
    await answer


def check_pool(pool: object) -> None:
    """Raise TypeError unless it is a pool of asyncio."""
    import colonnade

    if isinstance(pool, colonnade.Pool):
        return
    if isinstance(pool, colonnade.sync.Pool):
        msg = "pool is one of colonnade.sync: colonnade.jobs.sync takes it"
    else:
        msg = f"pool must be one of colonnade.create_pool, not {class_name(pool)}"
    raise TypeError(msg)


class _Hub:
    """The one connection of a pool that listens, for all its callers that wait."""

    def __init__(self, pool: colonnade.Pool) -> None:
        self._pool = pool
        self._bells: dict[str, list[Signal]] = {}
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def join(self, channels: Sequence[str], bell: Signal) -> None:
        for channel in channels:
            self._bells.setdefault(channel, []).append(bell)
        self._changed.set()
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="colonnade.jobs.listen")

    async def leave(self, channels: Sequence[str], bell: Signal) -> None:
        for channel in channels:
            self._bells[channel].remove(bell)
            if not self._bells[channel]:
                del self._bells[channel]
        self._changed.set()
        if not self._bells and self._task is not None:
            task, self._task = self._task, None
            task.cancel()
            # A connection that is lost takes its time, and the caller's is limited.
            await asyncio.wait([task], timeout=2 * _ANSWER_S)

    async def _run(self) -> None:
        while self._is_wanted():
            try:
                await self._listen()
            except Exception as error:  # noqa: BLE001 - those who wait look for jobs by the clock
                if not self._is_wanted():
                    # It came in the place of the cancellation.
                    return
                _logger.warning("no connection that listens for jobs: %r", error)
                await asyncio.sleep(_PAUSE_S)

    def _is_wanted(self) -> bool:
        return self._task is asyncio.current_task() and not self._pool.is_closing()

    async def _listen(self) -> None:
        async with self._pool.acquire(timeout=_ACQUIRE_S) as connection:
            heard: set[str] = set()
            try:
                while not (self._pool.is_closing() or connection.is_closed()):
                    self._changed.clear()
                    for channel in self._bells.keys() - heard:
                        await connection.add_listener(channel, self._heard)
                        heard.add(channel)
                        # What was added before this moment was not heard.
                        self._ring(channel)
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(_LOOK_S):
                            await self._changed.wait()
            finally:
                await self._end(connection, heard)

    async def _end(self, connection: Any, heard: set[str]) -> None:
        """End the listening; a connection that cannot answer is not given back."""
        if connection.is_closed():
            return
        try:
            async with asyncio.timeout(_ANSWER_S):
                for channel in heard:
                    await connection.remove_listener(channel, self._heard)
        except (OSError, PostgresError, InterfaceError, InternalClientError):
            connection.terminate()

    def _heard(self, _connection: Any, _pid: int, channel: str, _payload: object) -> None:
        self._ring(channel)

    def _ring(self, channel: str) -> None:
        for bell in self._bells.get(channel, ()):
            bell.set()


_hubs: WeakKeyDictionary[colonnade.Pool, _Hub] = WeakKeyDictionary()


class rung_by:  # noqa: N801 - used like a function, as with threads
    """Set `bell` at each notification of the channels, and once when listening begins."""

    def __init__(self, pool: colonnade.Pool, channels: Sequence[str], bell: Signal) -> None:
        self._channels = channels
        self._bell = bell
        # The only connection of a pool must get the jobs.
        self._hub = None if pool.get_max_size() == 1 else _hub_of(pool)

    async def __aenter__(self) -> None:
        if self._hub is not None:
            self._hub.join(self._channels, self._bell)

    async def __aexit__(self, *_error: object) -> None:
        if self._hub is not None:
            await self._hub.leave(self._channels, self._bell)


def _hub_of(pool: colonnade.Pool) -> _Hub:
    hub = _hubs.get(pool)
    if hub is None:
        hub = _hubs[pool] = _Hub(pool)
    return hub
