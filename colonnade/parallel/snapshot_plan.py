"""The partitions of a table or query, and the snapshot that they see."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, NamedTuple, Self, overload

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

    from colonnade import Columns, sync
    from colonnade.parallel.partition import Partition, PartitionField

_CLOSE_SECONDS_MAX = 5.0


class Planned(NamedTuple):
    """The arguments of either colour's plan."""

    partitions: Sequence[Partition]
    empty: Columns
    counted: int | None
    coordinator: sync.Connection | None


class Partitions:
    """The part of a plan that both colours have: a sequence of `Partition`, and their snapshot."""

    def __init__(
        self,
        partitions: Sequence[Partition],
        empty: Columns,
        counted: int | None,
        coordinator: sync.Connection | None,
    ) -> None:
        self._partitions = tuple(partitions)
        self.empty = empty
        """The result without rows, for libraries that need names and types first."""
        self.counted = counted
        """The number of all rows in the snapshot; None if they were not counted."""
        self._coordinator = coordinator
        self._finalizer = weakref.finalize(self, close, coordinator)

    @property
    def snapshot(self) -> str | None:
        """The snapshot's name; None if each partition sees the database when it is read."""
        return self._partitions[0].source.snapshot

    @property
    def schema(self) -> tuple[PartitionField, ...]:
        """Names and types of the columns."""
        return self._partitions[0].source.fields

    @property
    def coordinator(self) -> sync.Connection | None:
        """The connection that keeps the snapshot, in its transaction, or None."""
        return self._coordinator

    def __len__(self) -> int:
        """The number of partitions: the requested number, or fewer."""
        return len(self._partitions)

    @overload
    def __getitem__(self, index: int) -> Partition: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Partition, ...]: ...
    def __getitem__(self, index: int | slice) -> Partition | tuple[Partition, ...]:
        """A partition by its number."""
        return self._partitions[index]

    def __iter__(self) -> Iterator[Partition]:
        """The partitions, in order."""
        return iter(self._partitions)

    def __repr__(self) -> str:
        """The number of partitions, and whether the snapshot is kept."""
        state = "open" if self._finalizer.alive else "closed"
        return f"<{type(self).__name__} of {len(self)} partitions, {state}>"


class Plan(Partitions):
    """The partitions of a table or query; `colonnade.parallel.sync.plan` creates it.

    A sequence of `Partition`. Its own connection keeps their snapshot until the plan is closed:
    close it, or leave its `with` block, after all of them have been read.
    """

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
        """Release the snapshot: reading a partition afterwards raises InterfaceError."""
        self._finalizer()


def close(coordinator: sync.Connection | None) -> None:
    """Close a connection, if there is one, and wait briefly for its running query."""
    if coordinator is None or coordinator.is_closed():
        return
    try:
        coordinator.close(timeout=_CLOSE_SECONDS_MAX)
    except (OSError, TimeoutError):
        coordinator.terminate()
