"""Columns as NumPy arrays, over the columns' own memory where NumPy has the type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade._frames.kinds import Kind, column_type
from colonnade._frames.libraries import needed_by
from colonnade._frames.values import python_values

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from colonnade._core import Batch


def column_array(batch: Batch, index: int, user: str) -> NDArray[Any]:
    """The array of a column, NULLs in its own form or masked.

    Arrays over the columns' memory are read-only; those that had to be made are the caller's.
    """
    with needed_by(user, "numpy"):
        import numpy as np
    kind = column_type(batch.fields[index].arrow_type).kind
    if kind is Kind.DATE:
        return dates(batch, index, "D")
    if kind is Kind.TIME:
        return times(batch, index, is_writable=False)
    if kind in {Kind.TEXT, Kind.DICTIONARY}:
        return np.asarray(batch.column(index).string_array())
    if kind in {Kind.DECIMAL, Kind.BINARY, Kind.UUID, Kind.OTHER}:
        return objects(batch, index)
    values = stored_values(batch, index)
    # Booleans are bits in the column and were unpacked for this call.
    values.flags.writeable = kind is Kind.BOOL
    if kind in {Kind.FLOAT, Kind.TIMESTAMP, Kind.DURATION}:
        return values
    mask = null_mask(batch, index)
    return values if mask is None else _masked(values, mask)


def _masked(values: NDArray[Any], mask: NDArray[np.bool_]) -> NDArray[Any]:
    import numpy as np

    masked = np.ma.MaskedArray(values, mask=mask)
    if values.dtype.kind == "i" and np.iinfo(values.dtype).max < masked.fill_value:
        # NumPy's 999999 would wrap around to an innocent 16959 in `filled()`.
        masked.fill_value = np.iinfo(values.dtype).min
    return masked


def stored_values(batch: Batch, index: int) -> NDArray[Any]:
    """The values of a fixed-width column where they lie, to be written to as well.

    Slots of NULLs hold NaN or NaT, and 0 in types that have neither.
    """
    import numpy as np

    dtype: np.dtype[Any] = np.dtype(column_type(batch.fields[index].arrow_type).values)
    return np.frombuffer(memoryview(batch.column(index).values()), dtype=dtype)


def null_mask(batch: Batch, index: int) -> NDArray[np.bool_] | None:
    """True where the column is NULL, in memory of its own; None where it never is."""
    import numpy as np

    mask = batch.column(index).null_mask()
    return None if mask is None else np.frombuffer(memoryview(mask), dtype=np.bool_)


def column_null_mask(batch: Batch, index: int) -> NDArray[np.bool_]:
    """True where the column is NULL, also of a column that never is."""
    with needed_by("Columns.null_mask()", "numpy"):
        import numpy as np
    mask = null_mask(batch, index)
    return np.zeros(batch.num_rows, dtype=np.bool_) if mask is None else mask


def dates(batch: Batch, index: int, unit: str) -> NDArray[np.datetime64]:
    """A column of dates as `datetime64` of a unit of days or seconds, NULL as NaT."""
    import numpy as np

    days = stored_values(batch, index).astype(np.int64).view("M8[D]")
    mask = null_mask(batch, index)
    if mask is not None:
        days[mask] = np.datetime64("NaT")
    return days.astype(f"M8[{unit}]", copy=False)


def times(batch: Batch, index: int, *, is_writable: bool = True) -> NDArray[np.timedelta64]:
    """A column of times of day as `timedelta64` of its unit, NULL as NaT.

    Those of 32 bits are widened and the caller's; others lie where the column has them.
    """
    import numpy as np

    values = stored_values(batch, index)
    if values.dtype.kind == "m":
        values.flags.writeable = is_writable
        return values
    unit = column_type(batch.fields[index].arrow_type).unit
    widened = values.astype(np.int64).view(f"m8[{unit}]")
    mask = null_mask(batch, index)
    if mask is not None:
        widened[mask] = np.timedelta64("NaT")
    return widened


def objects(batch: Batch, index: int) -> NDArray[np.object_]:
    """The column's Python objects, None for NULL."""
    import numpy as np

    array = np.empty(batch.num_rows, dtype=object)
    array[:] = python_values(batch, index)
    return array
