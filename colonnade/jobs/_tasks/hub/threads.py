"""The one connection of a pool that listens for jobs, and keeps leases, as a thread."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary

from colonnade.errors import InterfaceError, InternalClientError, PostgresError
from colonnade.jobs._tasks.threads import Signal
from colonnade.jobs.logs import logger
from colonnade.jobs.pace import Comebacks

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    import colonnade.sync

# A pool that closes waits for the connection, which looks at this interval; duties may be as late.
_LOOK_S = 0.1
_ACQUIRE_S = 5.0
# The time that a connection may take to answer; then it is ended.
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

    def do(self, connection: Any, within: float) -> None:
        """Do it, and move `due`. Raises TimeoutError if an answer takes longer than `within`."""


class Hub:
    """Listens for all that wait for jobs of a pool, and does the duties of its consumers.

    Nobody else uses its connection, so neither busy handlers nor an exhausted pool hold it up.
    """

    def __init__(self, pool: colonnade.sync.Pool) -> None:
        self._pool = pool
        self._lock = threading.Lock()
        self._signals: dict[str, list[Signal]] = {}
        self._duties: list[Duty] = []
        # When the answer of each `get` is late. It may have leased jobs that nobody extends yet.
        self._answers_due: dict[object, float] = {}
        # The signals of the calls that wait until no duty is due.
        self._waiting: list[Signal] = []
        self._thread: threading.Thread | None = None
        self._is_connected = False
        self._comebacks = Comebacks()
        self._failure: Exception | None = None

    def join(self, channels: Sequence[str], signal: Signal) -> None:
        """Set `signal` at each notification of the channels, and once when listening begins."""
        with self._lock:
            for channel in channels:
                self._signals.setdefault(channel, []).append(signal)
            if self._thread is None:
                self._failure = None
                self._thread = threading.Thread(
                    target=self._run, name="colonnade.jobs.listen", daemon=True
                )
                self._thread.start()

    def leave(self, channels: Sequence[str], signal: Signal) -> None:
        """Stop setting it; the last one gives the connection back."""
        with self._lock:
            for channel in channels:
                self._signals[channel].remove(signal)
                if not self._signals[channel]:
                    del self._signals[channel]

    def take_on(self, duty: Duty) -> None:
        """Do this duty, while somebody has joined."""
        self._duties.append(duty)

    def lay_down(self, duty: Duty) -> None:
        """Stop doing it."""
        self._duties.remove(duty)

    @property
    def is_behind(self) -> bool:
        """Whether a duty or an answer is due, or there is no connection for it."""
        now = time.monotonic()
        due = [*tuple(self._answers_due.values()), *(duty.due for duty in tuple(self._duties))]
        return not self._is_connected or min(due, default=math.inf) <= now

    def await_answer(self, asker: object, due: float) -> None:
        """Be behind from `due` on, until `note_answer`."""
        self._answers_due[asker] = due

    def note_answer(self, asker: object) -> None:
        """The answer is read, or none will come."""
        if self._answers_due.pop(asker, None) is not None:
            self._tell()

    def caught_up(self, stop: Signal) -> None:
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
                    signal.wait(None)
        finally:
            self._waiting.remove(signal)

    def _run(self) -> None:
        try:
            while self._is_wanted():
                try:
                    self._listen()
                except Exception as error:  # noqa: BLE001 - those who wait look by the clock
                    self._failure = error
                    logger.warning("no connection that listens for jobs: %r", error)
                    self._tell()
                    time.sleep(self._comebacks.pause())
        finally:
            self._tell()

    def _is_wanted(self) -> bool:
        with self._lock:
            if self._signals and not self._pool.is_closing():
                return True
            self._thread = None
            return False

    def _listen(self) -> None:
        with self._pool.acquire(timeout=_ACQUIRE_S, priority=_PRIORITY) as connection:
            self._is_connected, self._failure = True, None
            self._comebacks.opened()
            try:
                while not connection.is_closed():
                    with self._lock:
                        channels = set(self._signals)
                    if not channels or self._pool.is_closing():
                        return
                    self._listen_on(connection, channels)
            finally:
                self._is_connected = False

    def _listen_on(self, connection: Any, channels: set[str]) -> None:
        # A duty may come due before the next look, but is not late then.
        pause = min((duty.period / 4 for duty in tuple(self._duties)), default=_LOOK_S)
        with connection.notifications(*channels, timeout=min(pause, _LOOK_S)) as notes:
            # Jobs added before this moment were not heard of.
            for channel in channels:
                self._ring(channel)
            while not self._pool.is_closing() and self._still(channels):
                self._do_what_is_due(connection)
                self._tell()
                for note in notes:
                    self._ring(note.channel)

    def _do_what_is_due(self, connection: Any) -> None:
        # Nobody's statement may take so long that another duty is late.
        duties = sorted(self._duties, key=lambda duty: duty.due)
        within = max(_WITHIN_LEAST_S, min((duty.period for duty in duties), default=0.0))
        for duty in duties:
            if duty.due > time.monotonic() or connection.is_closed():
                return
            try:
                duty.do(connection, within)
            except TimeoutError:
                self._check(connection)

    def _check(self, connection: Any) -> None:
        """End the connection, unless it answers: then it was the server that took its time."""
        try:
            connection.execute("", timeout=_ANSWER_S)
        except (OSError, PostgresError, InterfaceError, InternalClientError):
            connection.terminate()

    def _still(self, channels: set[str]) -> bool:
        with self._lock:
            return set(self._signals) == channels

    def _ring(self, channel: str) -> None:
        with self._lock:
            signals = tuple(self._signals.get(channel, ()))
        for signal in signals:
            signal.set()

    def _tell(self) -> None:
        for signal in tuple(self._waiting):
            signal.set()


_hubs: WeakKeyDictionary[colonnade.sync.Pool, Hub] = WeakKeyDictionary()
_hubs_lock = threading.Lock()


def _hub_of(pool: colonnade.sync.Pool) -> Hub:
    with _hubs_lock:
        hub = _hubs.get(pool)
        if hub is None:
            hub = _hubs[pool] = Hub(pool)
        return hub


@contextlib.contextmanager
def set_by(pool: colonnade.sync.Pool, channels: Sequence[str], signal: Signal) -> Generator[None]:
    """Set `signal` at each notification of the channels, and once when listening begins."""
    if pool.get_max_size() == 1:
        # The only connection must get the jobs.
        yield
        return
    hub = _hub_of(pool)
    hub.join(channels, signal)
    try:
        yield
    finally:
        hub.leave(channels, signal)


@contextlib.contextmanager
def on_duty(pool: colonnade.sync.Pool, channels: Sequence[str], duty: Duty) -> Generator[Hub]:
    """Keep the connection of a pool, which listens on the channels, and do `duty` on it."""
    hub, signal = _hub_of(pool), Signal()
    hub.take_on(duty)
    hub.join(channels, signal)
    try:
        yield hub
    finally:
        hub.lay_down(duty)
        hub.leave(channels, signal)
