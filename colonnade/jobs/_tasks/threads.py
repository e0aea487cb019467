"""Waiting, running and being woken by notifications, as threads."""

from __future__ import annotations

import contextlib
import inspect
import os
import threading
import time
from typing import TYPE_CHECKING, TypeVar

from colonnade._words.shown import class_name
from colonnade.jobs import definition
from colonnade.jobs._tasks.handlers import WrongHandlerError, ends_worker

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Hashable, Sequence

_Jobs = TypeVar("_Jobs")
# A handler of signals runs after this time at the latest.
_LOOK_S = 0.1
# The time that the helpers have at the end to tell the last finished jobs.
_END_S = 1.0

Semaphore = threading.Semaphore
Mutex = threading.Lock


class Signal:
    """A flag that a thread waits for.

    Not an Event: a handler of signals that sets it may interrupt its own setting, and the lock of
    an Event would then wait for itself.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.RLock())
        self._is_set = False
        self._signals: list[Signal] = []

    def set(self) -> None:
        """Set the flag."""
        with self._changed:
            self._is_set = True
            self._changed.notify_all()
        for signal in tuple(self._signals):
            signal.set()

    def clear(self) -> None:
        """Take the flag back."""
        self._is_set = False

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
        return self._is_set

    def wait(self, seconds: float | None) -> None:
        """Wait for the flag, at most this long."""
        with self._changed:
            self._changed.wait_for(self.is_set, seconds)


def run_all(
    works: Sequence[Callable[[], None]],
    aids: Sequence[Callable[[], None]],
    *,
    stop: Signal,
    done: Signal,
    seconds: float,
) -> bool:
    """Run all to their ends; after `stop`, wait at most `seconds` longer for them.

    The aids help the works, and end when `done` says that the last of them has ended. Returns
    whether all have ended: a thread cannot be stopped, so those that are late go on. Raises the
    first error of one of them.
    """
    errors: list[BaseException] = []
    left = list(works)

    def run(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised below
            errors.append(error)
            stop.set()

    def run_lane(work: Callable[[], None]) -> None:
        run(work)
        # In one step: two threads may end at once.
        left.pop()
        if not left:
            done.set()

    lanes, helpers = (
        [
            threading.Thread(target=target, args=(work,), name="colonnade.jobs", daemon=True)
            for work in each
        ]
        for target, each in ((run_lane, works), (run, aids))
    )
    for thread in (*lanes, *helpers):
        thread.start()
    try:
        # In steps, so that a handler of signals runs in between; a signal may set `stop`.
        while not stop.is_set() and any(thread.is_alive() for thread in lanes):
            for thread in lanes:
                thread.join(_LOOK_S / len(lanes))
    finally:
        stop.set()
        is_whole = _joined(lanes, seconds) and _joined(helpers, max(seconds, _END_S))
    if errors:
        raise errors[0]
    return is_whole


def _joined(threads: Sequence[threading.Thread], seconds: float) -> bool:
    give_up = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, give_up - time.monotonic()))
    return not any(thread.is_alive() for thread in threads)


def failure_of(handler: Callable[[_Jobs], object], batch: _Jobs) -> BaseException | None:
    """Let the handler work, and return what it raised, if that is the failure of its jobs.

    Raises what `ends_worker`, such as WrongHandlerError for a coroutine function: calling one does
    nothing, so its jobs would be acknowledged without being done.
    """
    try:
        answer = handler(batch)
    except BaseException as error:
        if ends_worker(error):
            raise
        return error
    if inspect.iscoroutine(answer):
        answer.close()
        msg = (
            "a handler in a thread must be a plain function, and this one is a coroutine "
            "function (async def): colonnade.jobs awaits those"
        )
        raise WrongHandlerError(msg)
    return None


def workers_beside() -> Hashable:
    """The workers that would end together: those of this process."""
    return os.getpid()


def in_background(work: Callable[..., None], *args: object) -> None:
    """Do the work at once: a thread has nobody else for it."""
    work(*args)


def check_pool(pool: object) -> None:
    """Raise TypeError unless it is a pool of threads."""
    import colonnade

    if isinstance(pool, colonnade.sync.Pool):
        return
    if isinstance(pool, colonnade.Pool):
        msg = "pool is one of asyncio: colonnade.jobs takes it"
    else:
        msg = f"pool must be one of colonnade.sync.create_pool, not {class_name(pool)}"
    raise TypeError(msg)


def check_connection(verb: str, connection: object) -> None:
    """Raise TypeError unless it is a connection of threads."""
    import colonnade

    definition.check_connection(verb, connection)
    if isinstance(connection, colonnade.Connection):
        msg = f"{verb} got a connection of asyncio: a queue of colonnade.jobs takes it"
        raise TypeError(msg)
