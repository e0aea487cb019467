"""A report of this process for `colonnade observe top`, written each second."""

from __future__ import annotations

import atexit
import contextlib
import errno
import json
import logging
import os
import stat
import threading
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colonnade import tracing
from colonnade._words.arguments import check_between
from colonnade._words.shown import class_name
from colonnade.observe.beat.beat_file import checked_path
from colonnade.observe.metrics.pool_names import given_pools, name_of
from colonnade.observe.running import Running
from colonnade.observe.status.folder import made_folder, remove_old
from colonnade.observe.status.report import STATEMENTS_MOST, Reporter
from colonnade.observe.status.statement_times import StatementTimes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from colonnade.observe.loop.monitor import LoopMonitor
    from colonnade.observe.status.report import HasStats

_SHORTEST_INTERVAL = 0.05
_LONGEST_INTERVAL = 60.0
_PRIVATE = 0o600
# Each report begins like this: the version is its first entry.
_BEGINNING = b'{"version": '

_log = logging.getLogger("colonnade.observe")


def publish(
    monitor: LoopMonitor,
    pools: Mapping[str, HasStats] | Iterable[HasStats] = (),
    path: str | os.PathLike[str] | None = None,
    interval: float = 1.0,
) -> Publication:
    """Return a publication of the figures of a `LoopMonitor` and these pools; it has not begun.

        async with observe.LoopMonitor() as monitor:
            with observe.publish(monitor, pools={"main": pool}):
                ...

    `colonnade observe top` shows it. A thread writes it every `interval` seconds, also while the
    loop hangs. `path` is a file in a folder that only this user can write to; without it, the file
    is in a private folder where `top` finds it. Pools without names are numbered. Raises
    TypeError or ValueError for an argument that cannot be used.
    """
    if not hasattr(monitor, "snapshot"):
        raise TypeError(f"monitor must be a LoopMonitor, not {class_name(monitor)}")
    check_between("interval", interval, _SHORTEST_INTERVAL, _LONGEST_INTERVAL, "seconds")
    return Publication(
        monitor, _named(pools), None if path is None else checked_path(path), float(interval)
    )


class Publication(Running):
    """A report that is written again and again; made by `publish`."""

    def __init__(
        self, monitor: LoopMonitor, pools: Mapping[str, HasStats], path: str | None, interval: float
    ) -> None:
        self.interval = interval
        self._monitor = monitor
        self._pools = pools
        self._given_path = path
        self._path: Path | None = None
        self._statements = StatementTimes()
        self._reporter = Reporter(monitor, pools, interval)
        self._thread: threading.Thread | None = None
        self._ending = threading.Event()
        self._has_failed = False

    @property
    def path(self) -> str | None:
        """The file; None while nothing is published."""
        return None if self._path is None else str(self._path)

    def start(self) -> None:
        """Write the first report now, and the others in a thread.

        Raises RuntimeError if it has begun, OSError if the report cannot be written:
        FileExistsError if there is something else in its place.
        """
        if self._thread is not None:
            raise RuntimeError("this publication has begun already: stop() ends it")
        if self._given_path is None:
            folder = made_folder()
            remove_old(folder)
            path = folder / f"{os.getpid()}.json"
        else:
            path = Path(self._given_path)
        _check_replaceable(path)
        self._statements = StatementTimes()
        self._reporter = Reporter(self._monitor, self._pools, self.interval)
        self._write(path)
        self._path = path
        tracing.add_tracer(self._statements)
        self._ending = threading.Event()
        thread = threading.Thread(
            target=self._run, args=(path, self._ending), name="colonnade-publish", daemon=True
        )
        try:
            thread.start()
        except BaseException:
            # No thread can be had: nothing stays behind.
            self._take_down()
            raise
        self._thread = thread
        _begun.add(self)

    def stop(self) -> None:
        """End the publication and remove the file; does nothing if it has not begun."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        _begun.discard(self)
        self._ending.set()
        thread.join()
        self._take_down()

    def _take_down(self) -> None:
        """Watch no statements, and remove the file."""
        tracing.remove_tracer(self._statements)
        path, self._path = self._path, None
        if path is not None:
            # Someone may have put a folder there, or a file in place of the folder.
            with contextlib.suppress(OSError):
                path.unlink()

    def forget(self) -> None:
        """In a forked child: the thread and the file are the parent's."""
        self._thread = self._path = None
        self._statements.forget()

    def _run(self, path: Path, ending: threading.Event) -> None:
        while not ending.wait(self.interval):
            try:
                self._write(path)
            except Exception as error:  # noqa: BLE001 - the next one may succeed; it is logged
                if not self._has_failed:
                    _log.warning("the report of this process cannot be written: %s", error)
                self._has_failed = True
            else:
                self._has_failed = False

    def _write(self, path: Path) -> None:
        """Replace the file by a new report, so that readers see a whole one or none."""
        report = self._reporter.report(self._statements.slowest(STATEMENTS_MOST))
        data = json.dumps(report, allow_nan=False).encode()
        new = path.with_name(f".{path.name}.{os.getpid()}.new")
        with contextlib.suppress(FileNotFoundError):
            # Of a process of the same id that was killed while it wrote.
            new.unlink()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            with os.fdopen(os.open(new, flags, _PRIVATE), "wb") as file:
                file.write(data)
            new.replace(path)
        except BaseException:
            # The disk may be full.
            with contextlib.suppress(OSError):
                new.unlink()
            raise

    def __repr__(self) -> str:
        state = "not begun" if self._path is None else f"in {str(self._path)!r}"
        return f"<Publication {state}, every {self.interval:g} s>"


def _check_replaceable(path: Path) -> None:
    """Raise FileExistsError for a device, a link, or a file that is no report: it would be lost."""
    with contextlib.suppress(FileNotFoundError):
        is_ours = stat.S_ISREG(path.lstat().st_mode)
        if is_ours:
            with path.open("rb") as file:
                beginning = file.read(len(_BEGINNING))
            is_ours = not beginning or beginning == _BEGINNING
        if not is_ours:
            said = "is no report of a process, and is not replaced"
            raise FileExistsError(errno.EEXIST, said, str(path))


def _named(pools: Any) -> dict[str, HasStats]:
    """Name each pool. Raises TypeError for anything else."""
    named: dict[str, HasStats] = {}
    for name, pool in given_pools(pools):
        named[name_of(pool, name, named)] = pool
    return named


_begun: weakref.WeakSet[Publication] = weakref.WeakSet()


def _stop_all() -> None:
    for publication in list(_begun):
        publication.stop()


def _forget_all() -> None:
    for publication in list(_begun):
        publication.forget()
    _begun.clear()


atexit.register(_stop_all)
os.register_at_fork(after_in_child=_forget_all)
