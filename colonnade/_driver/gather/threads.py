"""The workers of a gather as threads, and the reads that gathers share."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from colonnade._driver.gather.shared_errors import own
from colonnade._driver.transport.threads import RECOVERY_TIMEOUT_S, deadline, least, remaining
from colonnade.errors import QueryCanceledError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from colonnade._driver.gather.plan import Job

    Work = Callable[[], Any]

# After the end of the time, the workers' own reports are awaited for this time.
_REPORT_S = 0.002
# A query that is stopped without an answer is stopped again after this time.
_AGAIN_S = 0.02
# A thread that waits for another gather's query looks after this time whether it is still wanted.
_LOOK_AGAIN_S = 0.05


class Workers:
    """The workers of one gather. A thread is stopped by the end of its query.

    A thread that waits for a connection cannot be stopped: it ends when it is served.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: list[Any] = []
        self.is_stopped = False
        self.has_begun = False

    def begins(self, conversation: Any) -> None:
        """Record that a query is about to run on a connection."""
        with self._lock:
            if self.is_stopped:
                raise QueryCanceledError("the gather of the query has ended")
            self.has_begun = True
            self._running.append(conversation)

    def ended(self, conversation: Any) -> None:
        """Record that it has ended."""
        with self._lock:
            if conversation in self._running:
                self._running.remove(conversation)

    def run(self, work: Work, count: int, seconds: float | None) -> None:
        """Run `count` workers to their end, or for `seconds`.

        If one fails, or Ctrl-C strikes, the queries of the others are ended on the server. Raises
        the first failure; the end of the time is not one.
        """
        if count == 1 and seconds is None:
            work()
            return
        give_up = None if seconds is None else time.monotonic() + seconds + _REPORT_S
        outcomes: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        try:
            # If a thread does not start, or Ctrl-C strikes, the running threads must stop.
            for number in range(count):
                threading.Thread(
                    target=_report, args=(work, outcomes), name=f"gather-{number}", daemon=True
                ).start()
            for _ in range(count):
                left = None if give_up is None else max(0.0, give_up - time.monotonic())
                _raise(outcomes.get(timeout=left))
        except queue.Empty:
            # The workers' own limits have ended their queries, or are about to.
            with self._lock:
                self.is_stopped = True
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the queries that are running, and let none begin.

        A cancel request that arrives before its query has no effect, so it is repeated until the
        worker has its answer. A connection without an answer in time is closed.
        """
        with self._lock:
            self.is_stopped = True
        with contextlib.suppress(TimeoutError), deadline(RECOVERY_TIMEOUT_S):
            while self._each_running(_cancel):
                remaining()  # raises if the time is over
                time.sleep(_AGAIN_S)
        self._each_running(_abort)

    def _each_running(self, end: Callable[[Any], None]) -> bool:
        """Call a function with each connection at work; return whether there was one."""
        with self._lock:
            running = self._running.copy()
        for conversation in running:
            # The lock keeps its worker from giving it back: it would be another caller's.
            with self._lock:
                if conversation in self._running:
                    end(conversation)
        return bool(running)


class SharedReads:
    """The shared queries under way in a pool, each with its waiting callers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reads: dict[Hashable, _Read] = {}

    def join(
        self, key: Hashable, read: Callable[[Workers], Any], workers: Workers, job: Job
    ) -> Any:
        """The result of the query with this key, which begins unless it is under way.

        A caller whose time is over leaves it to the others; the last one ends it.
        """
        with self._lock:
            shared = self._reads.get(key)
            if shared is None:
                shared = _Read()
                work = (self, key, shared, read)
                threading.Thread(target=_read, args=work, name="gather", daemon=True).start()
                # Only after its start, which may fail: else others would wait for it forever.
                self._reads[key] = shared
            shared.callers += 1
            job.read = shared.workers
        try:
            while True:
                try:
                    failure = shared.future.exception(timeout=least(_LOOK_AGAIN_S, remaining()))
                except TimeoutError:
                    if shared.future.done():
                        # It ended just after this wait.
                        continue
                    remaining()  # raises if the caller's time is over
                    if workers.is_stopped:
                        raise
                    continue
                if isinstance(failure, Exception):
                    raise own(failure)
                return shared.future.result()
        finally:
            with self._lock:
                shared.callers -= 1
                is_left = not shared.callers and not shared.future.done()
                if is_left:
                    self._forget(key, shared)
            if is_left:
                # This thread's time is over, and a cancel request takes some.
                threading.Thread(target=shared.workers.stop, name="gather", daemon=True).start()

    def end(self, key: Hashable, shared: _Read) -> None:
        """Let later callers begin the query again."""
        with self._lock:
            self._forget(key, shared)

    def _forget(self, key: Hashable, shared: _Read) -> None:
        if self._reads.get(key) is shared:
            del self._reads[key]


class _Read:
    """A shared query under way."""

    __slots__ = ("callers", "future", "workers")

    def __init__(self) -> None:
        self.workers = Workers()
        self.future: Future[Any] = Future()
        self.callers = 0


def _cancel(conversation: Any) -> None:
    if conversation.cancel_request is None:
        conversation.transport.abort()
        return
    with contextlib.suppress(OSError):
        conversation.transport.send_cancel(conversation.cancel_request)


def _abort(conversation: Any) -> None:
    conversation.transport.abort()


def _raise(failure: BaseException | None) -> None:
    if failure is not None:
        raise failure


def _report(work: Work, outcomes: queue.SimpleQueue[BaseException | None]) -> None:
    try:
        work()
    except BaseException as error:  # noqa: BLE001 - the gather's caller raises it
        outcomes.put(error)
    else:
        outcomes.put(None)


def _read(reads: SharedReads, key: Hashable, shared: _Read, read: Callable[[Workers], Any]) -> None:
    try:
        result = read(shared.workers)
    except BaseException as error:  # noqa: BLE001 - the callers raise it
        reads.end(key, shared)
        shared.future.set_exception(error)
    else:
        reads.end(key, shared)
        shared.future.set_result(result)
