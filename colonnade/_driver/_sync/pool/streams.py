# Generated from colonnade/_driver/_async/pool/streams.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""A stream of columns that holds a connection of a pool until it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from types import TracebackType

    from colonnade._driver._sync.column_stream import ColumnStream
    from colonnade._driver._sync.pool.lender import Borrow, LentHolder
    from colonnade.columns import Columns


class PoolColumnStream:
    """The batches of `Pool.iter_columns`, in order, each as `Columns`.

    It holds a connection from the first batch to the last, or until it is closed or dropped.
    """

    def __init__(
        self,
        borrow: Borrow,
        query: str,
        args: tuple[object, ...],
        options: dict[str, Any],
    ) -> None:
        self._borrow = borrow
        self._query = query
        self._args = args
        self._options = options
        self._holder: LentHolder | None = None
        self._stream: ColumnStream | None = None
        self._is_waiting = False
        self._is_finished = False

    def __iter__(self) -> Self:
        """The stream is its own iterator."""
        return self

    def __next__(self) -> Columns:
        """The next batch."""
        if self._is_finished:
            raise StopIteration
        if self._is_waiting:
            msg = "cannot perform operation: another operation is in progress"
            raise InterfaceError(msg)
        self._is_waiting = True
        try:
            if self._stream is None:
                self._stream = self._opened()
            return self._stream.__next__()
        except BaseException:
            self._give_back()
            raise
        finally:
            self._is_waiting = False

    def _opened(self) -> ColumnStream:
        self._holder = self._borrow()
        return self._holder.connection.iter_columns(self._query, *self._args, **self._options)

    def close(self) -> None:
        """End the stream; a query still running is cancelled."""
        if self._stream is not None and not self._is_finished:
            self._stream.finish()
        self._give_back()

    def __enter__(self) -> Self:
        """The stream itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the stream."""
        self.close()

    def __del__(self) -> None:
        """A dropped stream must not keep its connection."""
        if self._stream is not None and not self._is_finished:
            self._stream.finish()
        self._give_back()

    def _give_back(self) -> None:
        self._is_finished = True
        holder, self._holder = self._holder, None
        if holder is not None and not holder.give_back():
            holder.finish_in_background()
