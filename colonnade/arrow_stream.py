"""`ArrowStream`: batches of `Columns` as one Arrow stream."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterable
from typing import TYPE_CHECKING, Self

from colonnade._words.shown import class_name
from colonnade.columns import Columns
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType

    from colonnade import _core

__all__ = ["ArrowStream"]


class ArrowStream:
    """An iterable of `Columns` as one Arrow stream for another library.

    The `Columns` must have the same names and types: ``iter_columns`` of a blocking connection,
    pool or statement, or a list. Each batch is fetched when the consumer asks for it. So a result
    may be larger than memory, and a consumer may stop before the end:

        with ArrowStream(conn.iter_columns("SELECT * FROM flights")) as stream:
            lazy = pl.scan_arrow_c_stream(stream)

    The end of the block closes the iterable; if the consumer is fetching a batch in another thread,
    it waits for that batch.

    The first batch is fetched when the consumer asks for the schema. A list can be read several
    times; an iterator only once, and reading it again raises InterfaceError. An exception while the
    consumer reads reaches it as text with the exception's class; ``error`` has the exception
    itself.

    Raises TypeError for an asynchronous iterable, and for an object that is not iterable.
    """

    __slots__ = ("__weakref__", "_batches", "_is_closed", "_lock", "_reading", "error")

    def __init__(self, batches: Iterable[Columns]) -> None:
        if isinstance(batches, AsyncIterable):
            raise TypeError(
                f"{class_name(batches)} is an asynchronous iterable, which other libraries "
                "cannot read: use iter_columns of colonnade.sync, or a list of the batches"
            )
        # `Columns.__iter__` is None; other classes that are not iterable lack the attribute.
        if getattr(type(batches), "__iter__", None) is None:
            raise TypeError(f"batches must be an iterable of Columns, not {class_name(batches)}")
        self._batches = batches
        self._reading = _Reading(batches)
        # Consumers fetch in their own threads, but only one thread may read from a connection.
        self._lock = threading.Lock()
        self._is_closed = False
        self.error: BaseException | None = None
        """The exception that ended the reading; None if there was none."""

    def __arrow_c_schema__(self) -> object:
        with self._lock:
            return self._unread().first().export_schema("small")

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return an Arrow C stream; of `requested_schema`, only the layouts of text are used."""
        with self._lock:
            reading = self._unread()
            first = reading.first()

        def next_batch() -> _core.Batch | None:
            try:
                with self._lock:
                    self._check_open()
                    return reading.next_batch()
            except BaseException as error:
                self.error = error
                raise

        return first.export_fetched(next_batch, "small", requested_schema)

    def close(self) -> None:
        """End the reading, and close the iterable if it has a `close` method."""
        # Before the lock is taken, so that a consumer in another thread fetches no more batches.
        self._is_closed = True
        with self._lock:
            close = getattr(self._batches, "close", None)
            if close is not None:
                close()

    def __enter__(self) -> Self:
        """The stream itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the stream."""
        self.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise InterfaceError("the stream was closed")

    def _unread(self) -> _Reading:
        """Return the batches from the start. Raises InterfaceError if an iterator was read."""
        self._check_open()
        if self._reading.has_begun:
            if iter(self._batches) is self._batches:
                raise InterfaceError(
                    "the stream has been read, and its batches are gone",
                    hint="Run the query again, or make an ArrowStream of a list of its batches.",
                )
            self._reading = _Reading(self._batches)
        return self._reading


class _Reading:
    """An iterator whose first batch can be inspected before it is taken."""

    __slots__ = ("_batches", "_first", "has_begun")

    def __init__(self, batches: Iterable[Columns]) -> None:
        self._batches: Iterator[Columns] = iter(batches)
        self._first: _core.Batch | None = None
        self.has_begun = False

    def first(self) -> _core.Batch:
        if self._first is None:
            self._first = self._fetched()
        if self._first is None:
            raise ValueError("an Arrow stream needs at least one batch, which has its schema")
        return self._first

    def next_batch(self) -> _core.Batch | None:
        self.has_begun = True
        if self._first is None:
            return self._fetched()
        first, self._first = self._first, None
        return first

    def _fetched(self) -> _core.Batch | None:
        columns = next(self._batches, None)
        if columns is None:
            return None
        if not isinstance(columns, Columns):
            raise TypeError(f"a batch must be Columns, not {class_name(columns)}")
        return columns._batch  # noqa: SLF001 - its memory leaves
