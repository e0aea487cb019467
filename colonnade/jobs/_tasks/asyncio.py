"""Waiting, running and being woken by notifications, as tasks of the running loop."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from typing import TYPE_CHECKING, Any, TypeVar

from colonnade._words.shown import class_name
from colonnade.jobs import definition
from colonnade.jobs._tasks.handlers import WrongHandlerError, ends_worker
from colonnade.jobs.errors import BrokenConsumerError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Generator, Hashable, Sequence

_Jobs = TypeVar("_Jobs")
# The time that the helpers have at the end to tell the last finished jobs.
_END_S = 1.0

Semaphore = asyncio.Semaphore
# Between two awaits, no other task runs.
Mutex = contextlib.nullcontext


class Signal:
    """A flag that a task waits for."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._signals: list[Signal] = []

    def set(self) -> None:
        """Set the flag."""
        self._event.set()
        for signal in tuple(self._signals):
            signal.set()

    def clear(self) -> None:
        """Take the flag back."""
        self._event.clear()

    @contextlib.contextmanager
    def sets(self, signal: Signal) -> Generator[None]:
        """Set `signal`, too, when this flag is set within the block."""
        self._signals.append(signal)
        if self.is_set():
            signal.set()
        try:
            yield
        finally:
            self._signals.remove(signal)

    def is_set(self) -> bool:
        """Whether the flag is set."""
        return self._event.is_set()

    async def wait(self, seconds: float | None) -> None:
        """Wait for the flag, at most this long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._event.wait()


async def run_all(
    works: Sequence[Callable[[], Awaitable[None]]],
    aids: Sequence[Callable[[], Awaitable[None]]],
    *,
    stop: Signal,
    done: Signal,
    seconds: float,
) -> bool:
    """Run all to their ends; after `stop`, at most `seconds` longer, then they are cancelled.

    The aids help the works, and end when `done` says that the last of them has ended. Returns
    whether all have ended by themselves. Raises the first error of one of them, and
    BrokenConsumerError if other code has cancelled one.
    """
    lanes, helpers = ([asyncio.ensure_future(work()) for work in each] for each in (works, aids))
    tasks = [*lanes, *helpers]

    def ended(task: asyncio.Future[None]) -> None:
        is_done = all(lane.done() for lane in lanes)
        if is_done:
            done.set()
        if is_done or _error_of(task) is not None:
            stop.set()

    for task in tasks:
        task.add_done_callback(ended)
    try:
        await stop.wait(None)
        _, late = await asyncio.wait(lanes, timeout=seconds)
        if not late:
            _, late = await asyncio.wait(helpers, timeout=max(seconds, _END_S))
        errors = [error for task in tasks if (error := _error_of(task)) is not None]
    finally:
        # A task that does not heed the cancellation begins nothing more.
        stop.set()
        await _cancel(lanes)
        await asyncio.wait(helpers, timeout=_END_S)
        await _cancel(helpers)
    if errors:
        raise errors[0]
    return not late


def _error_of(task: asyncio.Future[None]) -> BaseException | None:
    """The error that has ended a task, unless it was cancelled here."""
    if not task.done():
        return None
    if task.cancelled():
        msg = "other code has cancelled a task of the consumer: its jobs are given back"
        return BrokenConsumerError(msg)
    return task.exception()


async def _cancel(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancel those that are not ending by a cancellation already, and wait for all.

    `asyncio.run` cancels every task when one has raised KeyboardInterrupt: a second cancellation
    would reach a task amid giving its jobs back.
    """
    for task in tasks:
        if not task.cancelling():
            task.cancel()
    await asyncio.wait(tasks)


async def failure_of(
    handler: Callable[[_Jobs], Awaitable[object]], batch: _Jobs
) -> BaseException | None:
    """Let the handler work, and return what it raised, if that is the failure of its jobs.

    It runs as a task of its own: if it cancels that, the caller's goes on. If the caller is
    cancelled, so is the handler, and the cancellation is raised when it has ended by it. Also
    raises what `ends_worker`, such as WrongHandlerError for a plain function.
    """
    work = asyncio.ensure_future(_contained(handler, batch))
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError as error:
            cancelled = error
            work.cancel()
    failure = asyncio.CancelledError() if work.cancelled() else work.result()
    if failure is not None and ends_worker(failure):
        raise failure
    if cancelled is not None and isinstance(failure, asyncio.CancelledError):
        # A task that exits ends the loop, which cancels all others: the exit is the failure.
        failure = _exit_before(cancelled)
        if failure is None:
            raise cancelled
    return failure


async def _contained(
    handler: Callable[[_Jobs], Awaitable[object]], batch: _Jobs
) -> BaseException | None:
    """The error of the handler, returned: a task that ended by SystemExit would end the loop."""
    try:
        await _awaitable(handler(batch))
    except BaseException as error:  # noqa: BLE001 - returned
        return error
    return None


def _awaitable(answer: object) -> Awaitable[object]:
    if inspect.isawaitable(answer):
        return answer
    msg = (
        f"a handler must be a coroutine function (async def), and this one returned "
        f"{class_name(answer)}: colonnade.jobs.sync takes plain functions"
    )
    raise WrongHandlerError(msg)


def _exit_before(error: BaseException) -> SystemExit | None:
    """The exit of the process amid which an error came, if there is one."""
    before: BaseException | None = error
    while before is not None and not isinstance(before, SystemExit):
        before = before.__context__
    return before


def workers_beside() -> Hashable:
    """The workers that would end together: those of this event loop."""
    return asyncio.get_running_loop()


async def in_background(work: Callable[..., Coroutine[Any, Any, None]], *args: object) -> None:
    """Let the work go on without its caller, who is cancelled: a closing pool waits for it."""
    task = asyncio.create_task(work(*args))
    # A loop keeps tasks only weakly.
    _background.add(task)
    task.add_done_callback(_background.discard)


_background: set[asyncio.Task[None]] = set()


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


def check_connection(verb: str, connection: object) -> None:
    """Raise TypeError unless it is a connection of asyncio."""
    import colonnade

    definition.check_connection(verb, connection)
    if isinstance(connection, colonnade.sync.Connection):
        msg = f"{verb} got a connection of colonnade.sync: a queue of colonnade.jobs.sync takes it"
        raise TypeError(msg)
