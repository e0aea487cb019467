"""The partitions of a table or query, and the snapshot that they see."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Self, overload

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

    from colonnade import Columns, sync
    from colonnade.parallel.partition import Partition, PartitionField

_CLOSE_SECONDS_MAX = 5.0


class Plan:
    """The partitions of a table or query; made by `colonnade.parallel.plan`.

    A sequence of `Partition`. Until it is closed, a connection of its own keeps the snapshot that
    they see: close it, as a context manager does, when all of them were read.
    """

    def __init__(
        self,
        partitions: Sequence[Partition],
        empty: Columns,
        coordinator: sync.Connection | None,
    ) -> None:
        self._partitions = tuple(partitions)
        self.empty = empty
        """The result without its rows: names and types for who has to know them first."""
        self._coordinator = coordinator
        self._finalizer = weakref.finalize(self, close, coordinator)

    @property
    def snapshot(self) -> str | None:
        """The snapshot's name; None where each partition sees the moment of its own reading."""
        return self._partitions[0].source.snapshot

    @property
    def schema(self) -> tuple[PartitionField, ...]:
        """Names and types of the columns."""
        return self._partitions[0].source.fields

    @property
    def coordinator(self) -> sync.Connection | None:
        """The connection that keeps the snapshot, in its transaction; None where there is none."""
        return self._coordinator

    def __len__(self) -> int:
        """How many partitions there are: as many as were asked for, or fewer."""
        return len(self._partitions)

    @overload
    def __getitem__(self, index: int) -> Partition: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Partition, ...]: ...
    def __getitem__(self, index: int | slice) -> Partition | tuple[Partition, ...]:
        """A partition by its place."""
        return self._partitions[index]

    def __iter__(self) -> Iterator[Partition]:
        """The partitions, in order."""
        return iter(self._partitions)

    def __enter__(self) -> Self:
        """The plan itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Let the snapshot go: a partition that is read afterwards raises InterfaceError."""
        self._finalizer()

    def __repr__(self) -> str:
        """How many partitions there are, and whether the snapshot is kept."""
        state = "open" if self._finalizer.alive else "closed"
        return f"<{type(self).__name__} of {len(self)} partitions, {state}>"


def close(coordinator: sync.Connection | None) -> None:
    """Close a connection, if there is one, and wait a little for what it still does."""
    if coordinator is None or coordinator.is_closed():
        return
    try:
        coordinator.close(timeout=_CLOSE_SECONDS_MAX)
    except (OSError, TimeoutError):
        coordinator.terminate()
