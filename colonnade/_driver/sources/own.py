"""Colonnade's own columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade._core import ArrowSource
from colonnade._driver.sources.piece import ArrowPiece

if TYPE_CHECKING:
    from colonnade._core import Batch


class BatchPiece(ArrowPiece):
    """A batch from a server: a new table gets the types it had there."""

    def __init__(self, batch: Batch) -> None:
        super().__init__(ArrowSource.from_native([batch]))
        self._batch = batch

    def sql_type(self, index: int) -> str | tuple[int, int]:
        """The type of the query's column."""
        field = self._batch.fields[index]
        return field.type_oid, field.type_modifier
