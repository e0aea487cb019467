"""Structured NumPy arrays as one column: composites, ranges and other types with parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade._core import ArrowColumn
from colonnade._driver.sources.values import ArrowValues, Cells, Values
from colonnade.errors import EncodeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from colonnade._driver.sources.piece import Column, Encoding


class StructuredValues(Values):
    """A structured array. True in the mask hides a field; a row without a field is NULL."""

    def __init__(self, array: NDArray[Any], mask: NDArray[Any] | None) -> None:
        self._array = array
        self._mask = mask

    def __len__(self) -> int:
        return len(self._array)

    def cells(
        self, start: int, stop: int, column: Column, encoding: Encoding, first_row: int
    ) -> Cells:
        del first_row
        kind = column.pg_type.name
        # The bounds of these are instants; and a timetz is a time with its offset.
        made = self._struct(
            start,
            stop,
            is_utc=kind.startswith("tstz"),
            are_times=kind == "timetz",
            nan_as_null=encoding.nan_as_null is not False,
        )
        if isinstance(made, ArrowColumn):
            return Cells(made)
        msg = (
            f'column "{column.name}", from {self._array.dtype} to {kind}: field "{made}" holds '
            "objects, or times that do not fit 64 bits; pass an array of tuples or of the type's "
            "own class"
        )
        raise EncodeError(msg)

    def _struct(
        self,
        start: int,
        stop: int,
        *,
        is_utc: bool = False,
        are_times: bool = False,
        nan_as_null: bool = True,
    ) -> ArrowColumn | str:
        """The column, or the name of a field that it cannot contain."""
        import numpy as np

        array = self._array[start:stop]
        names = list(array.dtype.names or ())
        hidden: list[NDArray[np.bool_]] = []
        fields = []
        for name in names:
            values = np.ascontiguousarray(array[name])
            mask = np.zeros(len(values), np.bool_)
            if self._mask is not None:
                mask |= self._mask[start:stop][name]
            hidden.append(mask)
            if values.dtype.kind in "mM":
                mask = mask | np.isnat(values)
            elif values.dtype.kind == "f" and values.ndim == 1 and nan_as_null:
                mask = mask | np.isnan(values)
            field = ArrowColumn.from_numpy(values, mask, is_utc=is_utc, are_times=are_times)
            if field is None:
                return name
            fields.append(field)
        rows = np.logical_and.reduce(hidden) if self._mask is not None and names else None
        return ArrowColumn.from_fields(names, fields, rows)

    def sql_type(self, name: str) -> str:
        made = self._struct(0, 0)
        if not isinstance(made, ArrowColumn):
            made = ArrowColumn.from_fields([], [], None)
        return ArrowValues(made).sql_type(name)
