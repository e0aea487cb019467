"""Separate columns: a mapping of arrays, a structured array, a pandas frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade._core import ArrowSource
from colonnade._driver.sources.piece import BYTEA, Column, Encoding, Part, Piece, Target

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from colonnade._driver.sources.values import Values

# Rows per part: enough that the cost of a part is small per row; few enough that they are converted
# in less than a millisecond and stay in a near cache until they are written.
ROWS_MOST = 8_192
ROWS_LEAST = 64
CELLS_MOST = 262_144
OBJECTS_MOST = 4_096


class ArraysPiece(Piece):
    """Columns of the same length."""

    def __init__(self, columns: Mapping[str, Values]) -> None:
        self.names = tuple(columns)
        self._values = tuple(columns.values())
        lengths = {name: len(values) for name, values in columns.items()}
        self._rows = next(iter(lengths.values()), 0)
        for name, length in lengths.items():
            if length != self._rows:
                msg = (
                    f'column "{name}" has {length} rows, and '
                    f'column "{self.names[0]}" has {self._rows}'
                )
                raise ValueError(msg)

    def parts(
        self, columns: Sequence[Column | None], encoding: Encoding, first_row: int
    ) -> Iterator[Part]:
        """A few thousand rows at a time, so that memory and the event loop stay free."""
        step = self._part_rows()
        for start in range(0, max(self._rows, 1), step):
            stop = min(start + step, self._rows)
            yield self._part(columns, encoding, start, stop, first_row)

    def _part_rows(self) -> int:
        objects = sum(values.are_objects for values in self._values)
        rows = min(ROWS_MOST, CELLS_MOST // max(len(self._values), 1))
        if objects:
            rows = min(rows, OBJECTS_MOST // objects)
        return max(rows, ROWS_LEAST)

    def _part(
        self,
        columns: Sequence[Column | None],
        encoding: Encoding,
        start: int,
        stop: int,
        first_row: int,
    ) -> Part:
        names: list[str] = []
        arrays = []
        targets: list[Target] = []
        for name, values, column in zip(self.names, self._values, columns, strict=True):
            if column is None:
                continue
            cells = values.cells(start, stop, column, encoding, first_row + start)
            pg_type = BYTEA if cells.are_encoded else column.pg_type
            modifier = -1 if cells.are_encoded else column.type_modifier
            targets.append((len(names), column.name, pg_type, modifier))
            names.append(name)
            arrays.append(cells.array)
        return ArrowSource.from_columns(names, arrays), targets

    def sql_type(self, index: int) -> str | tuple[int, int]:
        """By the type of the array, and for objects by all of their classes."""
        return self._values[index].sql_type(self.names[index])
