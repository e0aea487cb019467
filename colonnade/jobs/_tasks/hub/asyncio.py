"""The one connection of a pool that listens for jobs, and keeps leases, as a task."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary

from colonnade.errors import InterfaceError, InternalClientError, PostgresError
from colonnade.jobs._tasks.asyncio import Signal
from colonnade.jobs.logs import logger
from colonnade.jobs.pace import Comebacks

if TYPE_CHECKING:
    from collections.abc import Sequence

    import colonnade

# A pool that closes waits for the connection, which looks at this interval.
_LOOK_S = 0.1
_ACQUIRE_S = 5.0
# The time that a connection may take to begin or end its listening; then it is ended itself.
_ANSWER_S = 1.0
# A busy server may take this time for a statement, though leases may be shorter.
_WITHIN_LEAST_S = 0.5
# Leases end, and callers of the pool only wait.
_PRIORITY = 1


class Duty(Protocol):
    """Work at its time on the connection, which is busy with nothing else."""

    period: float
    """The seconds between two times."""

    @property
    def due(self) -> float:
        """The time, by `time.monotonic`, after which it is to be done."""
        raise NotImplementedError

    async def do(self, connection: Any, within: float) -> None:
        """Do it, and move `due`. Raises TimeoutError if an answer takes longer than `within`."""


class Hub:
    """Listens for all that wait for jobs of a pool, and does the duties of its consumers.

    Nobody else uses its connection, so neither busy handlers nor an exhausted pool hold it up.
    """

    def __init__(self, pool: colonnade.Pool) -> None:
        self._pool = pool
        self._signals: dict[str, list[Signal]] = {}
        self._duties: list[Duty] = []
        # When the answer of each `get` is late. It may have leased jobs that nobody extends yet.
        self._answers_due: dict[object, float] = {}
        # The signals of the calls that wait until no duty is due.
        self._waiting: list[Signal] = []
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_connected = False
        self._comebacks = Comebacks()
        self._failure: Exception | None = None

    def join(self, channels: Sequence[str], signal: Signal) -> None:
        """Set `signal` at each notification of the channels, and once when listening begins."""
        for channel in channels:
            self._signals.setdefault(channel, []).append(signal)
        self._changed.set()
        if self._task is None:
            self._failure = None
            self._task = asyncio.create_task(self._run(), name="colonnade.jobs.listen")

    async def leave(self, channels: Sequence[str], signal: Signal) -> None:
        """Stop setting it; the last one gives the connection back."""
        for channel in channels:
            self._signals[channel].remove(signal)
            if not self._signals[channel]:
                del self._signals[channel]
        self._changed.set()
        if not self._signals and self._task is not None:
            task, self._task = self._task, None
            task.cancel()
            # A connection that is lost takes its time, and the caller's is limited.
            await asyncio.wait([task], timeout=2 * _ANSWER_S)

    def take_on(self, duty: Duty) -> None:
        """Do this duty, while somebody has joined."""
        self._duties.append(duty)
        self._changed.set()

    def lay_down(self, duty: Duty) -> None:
        """Stop doing it."""
        self._duties.remove(duty)

    @property
    def is_behind(self) -> bool:
        """Whether a duty or an answer is due, or there is no connection for it."""
        is_late = min(self._answers_due.values(), default=math.inf) <= time.monotonic()
        return not self._is_connected or is_late or self._has_due()

    def await_answer(self, asker: object, due: float) -> None:
        """Be behind from `due` on, until `note_answer`."""
        self._answers_due[asker] = due

    def note_answer(self, asker: object) -> None:
        """The answer is read, or none will come."""
        if self._answers_due.pop(asker, None) is not None:
            self._tell()

    async def caught_up(self, stop: Signal) -> None:
        """Wait until it is not behind, or for `stop`. Raises the error of a failing connection."""
        signal = Signal()
        self._waiting.append(signal)
        try:
            with stop.sets(signal):
                while True:
                    signal.clear()
                    if not self.is_behind or stop.is_set() or self._pool.is_closing():
                        return
                    if self._failure is not None:
                        raise self._failure
                    if self._has_due():
                        self._changed.set()
                    await signal.wait(None)
        finally:
            self._waiting.remove(signal)

    async def _run(self) -> None:
        try:
            while self._is_wanted():
                try:
                    await self._listen()
                except Exception as error:  # noqa: BLE001 - those who wait look by the clock
                    if not self._is_wanted():
                        # It came in the place of the cancellation.
                        return
                    self._failure = error
                    logger.warning("no connection that listens for jobs: %r", error)
                    self._tell()
                    await asyncio.sleep(self._comebacks.pause())
        finally:
            self._tell()

    def _is_wanted(self) -> bool:
        return self._task is asyncio.current_task() and not self._pool.is_closing()

    async def _listen(self) -> None:
        async with self._pool.acquire(timeout=_ACQUIRE_S, priority=_PRIORITY) as connection:
            heard: set[str] = set()
            connection.add_termination_listener(self._lost)
            self._is_connected, self._failure = True, None
            self._comebacks.opened()
            try:
                while not (self._pool.is_closing() or connection.is_closed()):
                    self._changed.clear()
                    async with asyncio.timeout(_ANSWER_S):
                        await self._hear_more(connection, heard)
                    await self._do_what_is_due(connection)
                    self._tell()
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(self._pause()):
                            await self._changed.wait()
            finally:
                self._is_connected = False
                await self._end(connection, heard)

    async def _hear_more(self, connection: Any, heard: set[str]) -> None:
        for channel in self._signals.keys() - heard:
            await connection.add_listener(channel, self._heard)
            heard.add(channel)
            # Jobs added before this moment were not heard of.
            self._ring(channel)

    async def _do_what_is_due(self, connection: Any) -> None:
        # Nobody's statement may take so long that another duty is late.
        within = max(_WITHIN_LEAST_S, min((duty.period for duty in self._duties), default=0.0))
        for duty in sorted(self._duties, key=lambda duty: duty.due):
            if duty.due > time.monotonic() or connection.is_closed():
                return
            try:
                await duty.do(connection, within)
            except TimeoutError:
                await self._check(connection)

    async def _check(self, connection: Any) -> None:
        """End the connection, unless it answers: then it was the server that took its time."""
        try:
            await connection.execute("", timeout=_ANSWER_S)
        except (OSError, PostgresError, InterfaceError, InternalClientError):
            connection.terminate()

    def _has_due(self) -> bool:
        now = time.monotonic()
        return any(duty.due <= now for duty in self._duties)

    def _pause(self) -> float:
        """The seconds until the next look; a duty may come due before it, but is not late then."""
        now = time.monotonic()
        waits = (min(duty.due - now, duty.period / 4) for duty in self._duties)
        return min(max(min(waits, default=_LOOK_S), 0.0), _LOOK_S)

    async def _end(self, connection: Any, heard: set[str]) -> None:
        """End the listening; a connection that cannot answer is not given back."""
        if connection.is_closed():
            return
        connection.remove_termination_listener(self._lost)
        try:
            async with asyncio.timeout(_ANSWER_S):
                for channel in heard:
                    await connection.remove_listener(channel, self._heard)
        except (OSError, PostgresError, InterfaceError, InternalClientError):
            connection.terminate()

    def _lost(self, _connection: Any) -> None:
        """Ask for another one before its place in the pool has passed to somebody else."""
        self._changed.set()

    def _heard(self, _connection: Any, _pid: int, channel: str, _payload: object) -> None:
        self._ring(channel)

    def _ring(self, channel: str) -> None:
        for signal in self._signals.get(channel, ()):
            signal.set()

    def _tell(self) -> None:
        for signal in self._waiting:
            signal.set()


_hubs: WeakKeyDictionary[colonnade.Pool, Hub] = WeakKeyDictionary()


def _hub_of(pool: colonnade.Pool) -> Hub:
    hub = _hubs.get(pool)
    if hub is None:
        hub = _hubs[pool] = Hub(pool)
    return hub


class set_by:  # noqa: N801 - used like a function, as with threads
    """Set `signal` at each notification of the channels, and once when listening begins."""

    def __init__(self, pool: colonnade.Pool, channels: Sequence[str], signal: Signal) -> None:
        self._channels = channels
        self._signal = signal
        # The only connection of a pool must get the jobs.
        self._hub = None if pool.get_max_size() == 1 else _hub_of(pool)

    async def __aenter__(self) -> None:
        if self._hub is not None:
            self._hub.join(self._channels, self._signal)

    async def __aexit__(self, *_error: object) -> None:
        if self._hub is not None:
            await self._hub.leave(self._channels, self._signal)


class on_duty:  # noqa: N801 - used like a function, as with threads
    """Keep the connection of a pool, which listens on the channels, and do `duty` on it."""

    def __init__(self, pool: colonnade.Pool, channels: Sequence[str], duty: Duty) -> None:
        self._channels = channels
        self._duty = duty
        self._signal = Signal()
        self._hub = _hub_of(pool)

    async def __aenter__(self) -> Hub:
        self._hub.take_on(self._duty)
        self._hub.join(self._channels, self._signal)
        return self._hub

    async def __aexit__(self, *_error: object) -> None:
        self._hub.lay_down(self._duty)
        await self._hub.leave(self._channels, self._signal)
