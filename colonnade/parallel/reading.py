"""All partitions of a plan read by threads, each over a connection of its own."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Unpack

from colonnade import Columns
from colonnade._words.arguments import check_count, check_switch
from colonnade._words.signatures import options_of
from colonnade.errors import InterfaceError
from colonnade.parallel.calls import TELL_AGAIN_SECONDS, Call, Stopped
from colonnade.parallel.plan_request import Request, check_request
from colonnade.parallel.snapshot_plan import Plan

if TYPE_CHECKING:
    from colonnade import sync
    from colonnade.parallel.partition import Partition
    from colonnade.parallel.plan_request import Options

# Partitions per connection: a connection with small ones reads more of them.
_PARTS_EACH = 2


@options_of(Request)
def read(
    table_or_query: str,
    dsn: str,
    *,
    connections: int = 2,
    parts: int | None = None,
    ordered: bool = True,
    **options: Unpack[Options],
) -> Columns:
    """As `colonnade.parallel.read`, without `await`.

    If one thread fails, or at Ctrl-C, the queries of the others are cancelled, and the call ends
    after all connections are closed. Raises the first error.
    """
    check_request(read, options)
    reading = Reading(
        table_or_query, dsn, connections=connections, parts=parts, ordered=ordered, **options
    )
    return reading.run()


def _check_rows(found: Plan, rows: int) -> None:
    """Raise InterfaceError if the parts have more or fewer rows than the plan has counted."""
    if found.counted is not None and rows != found.counted:
        raise InterfaceError(
            f"the query had {found.counted:,} rows when they were counted, and its parts have "
            f"{rows:,}: it has other rows each time it runs",
            hint="Write its rows into a table (CREATE TABLE ... AS), and read that.",
        )


class Reading(Call):
    """One call of `read`."""

    def __init__(
        self,
        table_or_query: str,
        dsn: str,
        *,
        connections: int,
        parts: int | None,
        ordered: bool,
        **options: Unpack[Options],
    ) -> None:
        check_count("connections", connections)
        check_switch("ordered", ordered)
        super().__init__()
        parts = _PARTS_EACH * connections if parts is None else parts
        self._request = Request(table_or_query, dsn, parts=parts, **options)
        self._connections = connections
        self._ordered = ordered
        self._todo: queue.SimpleQueue[Partition] = queue.SimpleQueue()
        self._told: queue.SimpleQueue[tuple[int, Columns] | BaseException] = queue.SimpleQueue()

    def end(self) -> None:
        """End it from another thread, and wait."""
        self._told.put(Stopped())
        super().end()

    def run(self) -> Columns:
        """Read all partitions, and return their rows; once."""
        try:
            coordinator = self._request.source.connect()
            with self.working(coordinator):
                found = Plan(*self._request.plan(coordinator))
            with found:
                return self._run(found)
        finally:
            self.has_ended.set()

    def _run(self, found: Plan) -> Columns:
        for partition in found:
            self._todo.put(partition)
        threads = [
            threading.Thread(target=self._work, args=(found,), name=f"colonnade-read-{number}")
            for number in range(min(self._connections, len(found)))
        ]
        try:
            for thread in threads:
                thread.start()
            parts = [self._next() for _ in found]
        except BaseException:
            self.is_stopped.set()
            self._end(threads)
            raise
        for thread in threads:
            thread.join()
        _check_rows(found, sum(len(columns) for _, columns in parts))
        if self._ordered:
            parts.sort(key=lambda part: part[0])
        return Columns.concat([columns for _, columns in parts])

    def _next(self) -> tuple[int, Columns]:
        told = self._told.get()
        if isinstance(told, BaseException):
            raise told
        return told

    def _work(self, found: Plan) -> None:
        """Read one partition after another, until there are no more or the reading is stopped."""
        try:
            source = found[0].source
            with (
                source.connect() as connection,
                source.within(connection),
                self.working(connection),
            ):
                self._read_all(connection)
        except BaseException as error:  # noqa: BLE001 - the waiting thread raises it
            self._told.put(error)

    def _read_all(self, connection: sync.Connection) -> None:
        while not self.is_stopped.is_set():
            try:
                partition = self._todo.get_nowait()
            except queue.Empty:
                return
            self._told.put((partition.number, partition.read_on(connection)))

    def _end(self, threads: list[threading.Thread]) -> None:
        """Cancel the running queries, and wait for the threads."""
        while alive := [thread for thread in threads if thread.is_alive()]:
            self.cancel()
            alive[0].join(TELL_AGAIN_SECONDS)
