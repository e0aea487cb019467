"""A result in columns, batch by batch, as one Arrow stream."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterable
from typing import TYPE_CHECKING, Self

from colonnade._shown import class_name
from colonnade.columns import Columns
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType

    from colonnade import _core

__all__ = ["ArrowStream"]


class ArrowStream:
    """Many `Columns`, one after another, as one Arrow stream for another library.

    Made of an iterable of `Columns` that have the same columns: ``iter_columns`` of
    ``colonnade.sync``, a pool's or a statement's, or a list. The consumer's next batch is fetched
    when it asks for it, so that a result larger than memory can go through, and a query that it
    does not read to the end is not read to the end:

        with ArrowStream(conn.iter_columns("SELECT * FROM flights")) as stream:
            lazy = pl.scan_arrow_c_stream(stream)

    The end of the block closes what the stream was made of, after the batch that the consumer is
    fetching in a thread of its own, if it is.

    The first batch is fetched when the consumer asks for the schema. A list may be read again and
    again; what is an iterator itself may not, and is an InterfaceError once its batches are gone.
    While the consumer reads, an error gets through as its class and text; what it was is in
    ``error``.
    """

    __slots__ = ("__weakref__", "_batches", "_is_closed", "_lock", "_reading", "error")

    def __init__(self, batches: Iterable[Columns]) -> None:
        if isinstance(batches, AsyncIterable):
            raise TypeError(
                f"{class_name(batches)} is an asynchronous iterable, which no other library "
                "can wait for: use iter_columns of colonnade.sync, or a list of the batches"
            )
        # `__iter__` of Columns is None, and that of a class which has none is missing.
        if getattr(type(batches), "__iter__", None) is None:
            raise TypeError(f"batches must be an iterable of Columns, not {class_name(batches)}")
        self._batches = batches
        self._reading = _Reading(batches)
        # Consumers fetch in threads of their own, and a connection is read by one at a time.
        self._lock = threading.Lock()
        self._is_closed = False
        self.error: BaseException | None = None
        """The exception that ended the reading, if one did."""

    def __arrow_c_schema__(self) -> object:
        with self._lock:
            return self._unread().first().export_schema("small")

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """An Arrow C stream; of a requested schema the layouts of text are followed."""
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
        """End the reading, and close what the stream was made of, if that can be closed."""
        # First, so that a consumer in another thread takes no batch more than it is fetching.
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
        """The batches, read from the start."""
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
    """An iterator whose first batch may be looked at beforehand."""

    __slots__ = ("_batches", "_first", "has_begun")

    def __init__(self, batches: Iterable[Columns]) -> None:
        self._batches: Iterator[Columns] = iter(batches)
        self._first: _core.Batch | None = None
        self.has_begun = False

    def first(self) -> _core.Batch:
        if self._first is None:
            self._first = self._fetched()
        if self._first is None:
            raise ValueError("there is no batch, and so no columns to make a stream of")
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
