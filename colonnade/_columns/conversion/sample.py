"""The rows of a batch that a printed table shows: all of a few, the first and last of many."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from colonnade._columns.conversion.cells import NUMBERS, column_cells, cut, printable
from colonnade._columns.conversion.kinds import column_type

if TYPE_CHECKING:
    from colonnade._core import Batch

DOTS = "..."
_ROWS_MAX = 12
_ENDS = 5


class ShownColumn(NamedTuple):
    """The printed form of a column. In `cells`, NULL is None, and dots stand for omitted rows."""

    name: str
    type_name: str
    is_number: bool
    cells: list[str | None]


class Sample:
    """The shown rows of a batch. A column is formatted when it is asked for."""

    def __init__(self, batch: Batch, characters_max: int) -> None:
        self._fields = batch.fields
        self._characters_max = characters_max
        rows = batch.num_rows
        if rows <= _ROWS_MAX:
            self._parts = [batch]
        else:
            self._parts = [batch.slice(0, _ENDS), batch.slice(rows - _ENDS, _ENDS)]

    def column(self, index: int) -> ShownColumn:
        """Return the printed form of the column at `index`."""
        field = self._fields[index]
        first, *last = (column_cells(part, index, self._characters_max) for part in self._parts)
        cells = [*first, DOTS, *last[0]] if last else first
        is_number = column_type(field.arrow_type).kind in NUMBERS
        name = cut(printable(field.name), self._characters_max)
        return ShownColumn(name, field.type_name, is_number, cells)


def shape_line(batch: Batch) -> str:
    """Return the shape, such as `1,000 rows x 3 columns`."""
    rows = "row" if batch.num_rows == 1 else "rows"
    columns = "column" if batch.num_columns == 1 else "columns"
    return f"{batch.num_rows:,} {rows} x {batch.num_columns:,} {columns}"
