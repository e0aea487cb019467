"""Builds the arrays from batches of rows: one structured array, or blocks of columns."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from colonnade._columns.conversion.numpy import mask_of
from colonnade.rkt._fields import Part

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from colonnade._core import Batch
    from colonnade.errors import DecodeError
    from colonnade.rkt._fields import Field

# A batch and its arrays fit the CPU cache, and the event loop runs between batches.
_BATCH_BYTES = 1 << 20
_BATCH_ROWS_LEAST = 256
# The part of a cell's DecodeError that gives the length.
_TOO_LONG = re.compile(r"the text has (\d+) characters")
# A growing array is resized by this factor.
_GROWTH = 1.25


class _Builder:
    """The common part of both builders."""

    def __init__(self, dtype: np.dtype[Any], fields: tuple[Field, ...], infinity: str) -> None:
        self.dtype = dtype
        self.fields = fields
        self.infinity = infinity
        self.schema: dict[str | int, str] = {
            field.place: field.schema for field in fields if field.schema is not None
        }
        self._nulls: list[NDArray[np.int64]] = []

    def refusal(self, error: DecodeError) -> Exception:
        """Return a DTypeError for a text that is too long, as in asyncpg-rkt; else the error."""
        too_long = _TOO_LONG.search(error.reason)
        for field in self.fields:
            if too_long and field.name == error.column and field.dtype.kind == "U":
                return field.too_long(int(too_long[1]), error.row)
        return error

    def _fill(self, field: Field, batch: Batch, target: NDArray[Any], first_row: int) -> Any:
        """Write a column to its field; return its mask of NULLs, or None without NULLs."""
        column = batch.column(field.place)
        nulls = mask_of(column)
        values = field.read(Part(field, batch, column, nulls, first_row))
        written = target if field.storage is field.dtype else target.view(field.storage)
        written[...] = values
        if nulls is not None:
            written[nulls] = field.surrogate
        return nulls

    def _null_places(self, found: list[tuple[int, Any]], first_row: int) -> None:
        """Record the positions of a batch's NULLs, in the order of rows."""
        import numpy as np

        width = len(self.fields)
        places = [
            (np.flatnonzero(nulls) + first_row) * width + index
            for index, nulls in found
            if nulls is not None
        ]
        if places:
            self._nulls.append(np.sort(np.concatenate(places)))

    def nulls(self) -> list[int]:
        """Return `row * fields + field` for each NULL."""
        return [place for places in self._nulls for place in places.tolist()]


class RowsBuilder(_Builder):
    """One structured array, which grows with each batch."""

    def __init__(self, dtype: np.dtype[Any], fields: tuple[Field, ...], infinity: str) -> None:
        import numpy as np

        super().__init__(dtype, fields, infinity)
        # Object fields need all rows at once: their types may be looked up during the fetch.
        rows = max(_BATCH_BYTES // max(dtype.itemsize, 1), _BATCH_ROWS_LEAST)
        self.batch_rows = None if dtype.hasobject else rows
        self._array = np.zeros(0, dtype=dtype)
        self._count = 0

    def add(self, batch: Batch) -> None:
        """Append the rows of a batch."""
        first, self._count = self._count, self._count + batch.num_rows
        self._make_room(self._count)
        part = self._array[first : self._count]
        names = self.dtype.names or ()
        found = [
            (field.place, self._fill(field, batch, part[names[field.place]], first))
            for field in self.fields
        ]
        self._null_places(found, first)

    def _make_room(self, count: int) -> None:
        import numpy as np

        room = len(self._array)
        if room == 0 or self.dtype.hasobject:
            # Zeroed, so that the padding of an aligned dtype exposes no old memory.
            self._array = np.zeros(count, dtype=self.dtype)
        elif count > room:
            # No other code has the array yet, and no view of it outlives a call.
            self._array.resize(max(count, int(room * _GROWTH)), refcheck=False)

    def array(self) -> NDArray[np.void]:
        """Return the array of all rows."""
        if len(self._array) != self._count:
            self._array.resize(self._count, refcheck=False)
        return self._array

    def whole(self) -> tuple[NDArray[np.void], list[int]]:
        """Return the array, and the positions of NULLs."""
        return self.array(), self.nulls()

    def rows(self) -> list[tuple[np.void, list[int]]]:
        """Return each row with the list of its NULL fields."""
        width = len(self.fields)
        missing: dict[int, list[int]] = {}
        for place in self.nulls():
            row, index = divmod(place, width)
            missing.setdefault(row, []).append(index)
        return [(values, missing.get(row, [])) for row, values in enumerate(self.array())]

    def value(self, column: int | str) -> Any:
        """Return a value of the first row; None if it is NULL or there is no row."""
        array = self.array()
        if not len(array):
            return None
        value = array[0][column]
        names = self.dtype.names or ()
        index = names.index(column) if isinstance(column, str) else column % len(names)
        return None if index in self.nulls() else value


class BlocksBuilder(_Builder):
    """An array per column; columns of equal dtypes are the rows of one block."""

    batch_rows: int | None = None

    def __init__(self, dtype: np.dtype[Any], fields: tuple[Field, ...], infinity: str) -> None:
        super().__init__(dtype, fields, infinity)
        self._columns: list[NDArray[Any]] = []
        self._make_blocks(0)

    def _make_blocks(self, rows: int) -> None:
        import numpy as np

        kinds = [self.dtype[index] for index in range(len(self.dtype.names or ()))]
        blocks = {kind: np.zeros((kinds.count(kind), rows), dtype=kind) for kind in kinds}
        used = dict.fromkeys(blocks, 0)
        self._columns = []
        for kind in kinds:
            self._columns.append(blocks[kind][used[kind]])
            used[kind] += 1

    def add(self, batch: Batch) -> None:
        """Take the single batch that holds all rows."""
        self._make_blocks(batch.num_rows)
        found = [
            (field.place, self._fill(field, batch, self._columns[field.place], 0))
            for field in self.fields
        ]
        self._null_places(found, 0)

    def whole(self) -> tuple[np.void, list[int]]:
        """Return one row of arrays, and the positions of NULLs."""
        import numpy as np

        names = self.dtype.names or ()
        holder = np.empty(1, dtype=[(name, object) for name in names])
        for name, column in zip(names, self._columns, strict=True):
            holder[name][0] = column
        return holder[0], self.nulls()
