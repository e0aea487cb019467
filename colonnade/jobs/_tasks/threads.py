"""Waiting, running and being woken by notifications, as threads."""

from __future__ import annotations

import contextlib
import inspect
import logging
import threading
import time
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from colonnade._shown import class_name
from colonnade.jobs._tasks.handlers import WrongHandlerError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    import colonnade.sync
    from colonnade.jobs._sync.batch import Batch

_logger = logging.getLogger("colonnade.jobs")
# A pool that closes waits for the connection that listens, which looks so often.
_LOOK_S = 0.1
_ACQUIRE_S = 5.0
_PAUSE_S = 1.0

Semaphore = threading.Semaphore


class Signal:
    """A flag that a thread waits for.

    Not an Event: a handler of signals that sets it may interrupt its own setting, and the lock of
    an Event would then wait for itself.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.RLock())
        self._is_set = False
        self._bells: list[Signal] = []

    def set(self) -> None:
        """Set the flag."""
        with self._changed:
            self._is_set = True
            self._changed.notify_all()
        for bell in tuple(self._bells):
            bell.set()

    def clear(self) -> None:
        """Take the flag back."""
        self._is_set = False

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
        return self._is_set

    def wait(self, seconds: float | None) -> None:
        """Wait for the flag, at most so long."""
        with self._changed:
            self._changed.wait_for(self.is_set, seconds)


def run_all(
    works: Sequence[Callable[[], None]], stop: Signal, seconds: Callable[[], float]
) -> bool:
    """Run all to their ends; after `stop`, wait at most `seconds()` longer for them.

    Returns whether all have ended: a thread cannot be stopped, so those that are late go on.
    Raises the first error of one of them.
    """
    errors: list[BaseException] = []

    def run(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised below
            errors.append(error)
            stop.set()

    threads = [
        threading.Thread(target=run, args=(work,), name="colonnade.jobs", daemon=True)
        for work in works
    ]
    for thread in threads:
        thread.start()
    try:
        # In steps, so that a handler of signals runs in between; a signal may set `stop`.
        while not stop.is_set() and any(thread.is_alive() for thread in threads):
            for thread in threads:
                thread.join(_LOOK_S / len(threads))
    finally:
        stop.set()
        give_up = time.monotonic() + seconds()
        for thread in threads:
            thread.join(max(0.0, give_up - time.monotonic()))
    if errors:
        raise errors[0]
    return not any(thread.is_alive() for thread in threads)


def call_handler(handler: Callable[[Batch], object], batch: Batch) -> None:
    """Let the handler work. Raises WrongHandlerError if it is a coroutine function.

    Calling one does nothing, so its jobs would be acknowledged without being done.
    """
    answer = handler(batch)
    if inspect.iscoroutine(answer):
        answer.close()
        msg = (
            "a handler in a thread must be a plain function, and this one is a coroutine "
            "function (async def): colonnade.jobs awaits those"
        )
        raise WrongHandlerError(msg)


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


class _Hub:
    """The one connection of a pool that listens, for all its callers that wait."""

    def __init__(self, pool: colonnade.sync.Pool) -> None:
        self._pool = pool
        self._lock = threading.Lock()
        self._bells: dict[str, list[Signal]] = {}
        self._thread: threading.Thread | None = None

    def join(self, channels: Sequence[str], bell: Signal) -> None:
        with self._lock:
            for channel in channels:
                self._bells.setdefault(channel, []).append(bell)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="colonnade.jobs.listen", daemon=True
                )
                self._thread.start()

    def leave(self, channels: Sequence[str], bell: Signal) -> None:
        with self._lock:
            for channel in channels:
                self._bells[channel].remove(bell)
                if not self._bells[channel]:
                    del self._bells[channel]

    def _is_wanted(self) -> bool:
        with self._lock:
            if self._bells and not self._pool.is_closing():
                return True
            self._thread = None
            return False

    def _run(self) -> None:
        while self._is_wanted():
            try:
                self._listen()
            except Exception as error:  # noqa: BLE001 - those who wait look for jobs by the clock
                _logger.warning("no connection that listens for jobs: %r", error)
                time.sleep(_PAUSE_S)

    def _listen(self) -> None:
        with self._pool.acquire(timeout=_ACQUIRE_S) as connection:
            while not connection.is_closed():
                with self._lock:
                    channels = set(self._bells)
                if not channels or self._pool.is_closing():
                    return
                with connection.notifications(*channels, timeout=_LOOK_S) as notes:
                    # What was added before this moment was not heard.
                    self._ring(channels)
                    while not self._pool.is_closing() and self._still(channels):
                        self._ring({note.channel for note in notes})

    def _still(self, channels: set[str]) -> bool:
        with self._lock:
            return set(self._bells) == channels

    def _ring(self, channels: set[str]) -> None:
        with self._lock:
            bells = [bell for channel in channels for bell in self._bells.get(channel, ())]
        for bell in bells:
            bell.set()


_hubs: WeakKeyDictionary[colonnade.sync.Pool, _Hub] = WeakKeyDictionary()
_hubs_lock = threading.Lock()


@contextlib.contextmanager
def rung_by(pool: colonnade.sync.Pool, channels: Sequence[str], bell: Signal) -> Generator[None]:
    """Set `bell` at each notification of the channels, and once when listening begins."""
    if pool.get_max_size() == 1:
        # The only connection must get the jobs.
        yield
        return
    with _hubs_lock:
        hub = _hubs.get(pool)
        if hub is None:
            hub = _hubs[pool] = _Hub(pool)
    hub.join(channels, bell)
    try:
        yield
    finally:
        hub.leave(channels, bell)
