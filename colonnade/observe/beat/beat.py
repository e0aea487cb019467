"""A sign of life from inside an event loop, for a supervisor or a container's probe."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import time
from typing import TYPE_CHECKING

from colonnade._words.arguments import check_between
from colonnade.observe.beat.beat_file import check_seconds, checked_path
from colonnade.observe.beat.writers import open_writer, remove_ended
from colonnade.observe.running import Running

if TYPE_CHECKING:
    from colonnade.observe.beat.writers import BeatWriter

_PID = "{pid}"
_LONGEST_INTERVAL = 3600.0
_SHORTEST_INTERVAL = 0.01
# A loop that misses this many beats is not alive, unless the caller says otherwise.
_BEATS_MISSED = 5

_log = logging.getLogger("colonnade.observe")


class Beat(Running):
    """Writes the time to a file from inside the running event loop, every `interval` seconds.

        async with observe.Beat("/run/app/{pid}.beat"):
            ...

    A loop that hangs stops writing, however well the rest of the process works.
    `observe.is_alive(path, max_age)` and `colonnade observe check` read the file, in any process of
    the machine. `{pid}` in the path stands for the process id: each process needs a file of its
    own. A path to a named pipe gets a line for each beat.

    The file should be on a local disk or in memory, because the loop writes it. Symbolic links,
    files of other users and files with other contents are refused. Raises TypeError or ValueError
    for an argument that cannot be used.
    """

    def __init__(self, path: str | os.PathLike[str], interval: float = 1.0) -> None:
        self._template = checked_path(path)
        check_between("interval", interval, _SHORTEST_INTERVAL, _LONGEST_INTERVAL, "seconds")
        self.interval = float(interval)
        self._writer: BeatWriter | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._pid = 0
        self._last_ns: int | None = None
        self._has_failed = False

    @property
    def path(self) -> str:
        """The path, with the id of this process for `{pid}`."""
        return self._template.replace(_PID, str(os.getpid()))

    def start(self) -> None:
        """Write the first beat now, and the others from the running loop.

        Raises RuntimeError if there is no running loop or if it beats already, OSError if the file
        cannot be written: FileExistsError if another process that runs beats in it.
        """
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise RuntimeError(
                "start() needs a running event loop: call it in a coroutine of the loop"
            ) from None
        if self.is_beating:
            raise RuntimeError("this beat has started already: stop() ends it")
        # The rest of a loop that was closed, or of the parent of this process.
        self._drop()
        writer = open_writer(self.path)
        try:
            writer.beat()
        except BaseException:
            writer.close()
            raise
        if _PID in self._template:
            # Where each process has a file of its own, nobody takes over those of the dead.
            remove_ended(self.path)
        self._writer, self._loop, self._pid = writer, loop, os.getpid()
        self._has_failed = False
        self._last_ns = time.monotonic_ns()
        self._timer = loop.call_later(self.interval, self._beat)

    def stop(self) -> None:
        """Stop beating, and remove the file; call it in the loop's thread, or after its end.

        Does nothing if it does not beat.
        """
        if self._timer is not None:
            self._timer.cancel()
        if self._writer is not None and self._pid == os.getpid():
            self._writer.close()
        self._drop()

    @property
    def is_beating(self) -> bool:
        """Whether it was started in this process, in a loop that is not closed."""
        is_open = self._loop is not None and not self._loop.is_closed()
        return is_open and self._pid == os.getpid()

    @property
    def age(self) -> float:
        """Seconds since the loop's last beat; infinite before the start and after the stop."""
        last = self._last_ns
        if last is None or self._pid != os.getpid():
            return math.inf
        return (time.monotonic_ns() - last) / 1e9

    def is_alive(self, max_age: float | None = None) -> bool:
        """Return whether the loop has beat within `max_age` seconds, or five intervals.

        It is meant for health routes, and may be called in any thread. A route that the same loop
        serves is late itself when the loop hangs. Raises TypeError or ValueError for a bad number.
        """
        if max_age is None:
            return self.age <= _BEATS_MISSED * self.interval
        check_seconds("max_age", max_age)
        return self.age <= max_age

    def _beat(self) -> None:
        if self._writer is None or self._loop is None:
            return
        self._timer = self._loop.call_later(self.interval, self._beat)
        self._last_ns = time.monotonic_ns()
        try:
            self._writer.beat()
        except OSError as error:
            if not self._has_failed:
                _log.warning("the beat cannot be written, so the process seems dead: %s", error)
            self._has_failed = True
        else:
            self._has_failed = False

    def _drop(self) -> None:
        self._writer = self._loop = self._timer = self._last_ns = None

    def __repr__(self) -> str:
        state = f"{self.age:.1f} s old" if self.is_beating else "not started"
        return f"<Beat {state}: {self.path!r}, every {self.interval:g} s>"
