"""Columns as NumPy arrays, over the columns' own memory if NumPy has the type."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from colonnade._columns.conversion.kinds import Kind, column_type
from colonnade._columns.conversion.values import python_values, refused_value
from colonnade._words.extras import needed_by
from colonnade.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from colonnade._core import Batch, Column


def column_array(batch: Batch, index: int, user: str) -> NDArray[Any]:
    """Return a column as an array; NULL is NaN, NaT or None, or masked.

    An array over the column's memory is read-only; an array with memory of its own is writable.
    """
    with needed_by(user, "numpy"):
        importlib.import_module("numpy")
    try:
        return array_of(batch.column(index))
    except OverflowError:
        raise refused_value(batch, index) from None


def array_of(column: Column) -> NDArray[Any]:
    """Return a column, or a nested column, as an array."""
    import numpy as np

    if column.has_codec:
        return _object_array(column.to_pylist())
    kind = column_type(column.arrow_type).kind
    if kind in {Kind.TEXT, Kind.DICTIONARY}:
        return np.asarray(column.string_array())
    if (make := _MADE.get(kind)) is not None:
        return make(column)
    values = values_of(column)
    # Booleans are bits in the column: this call unpacked them into new memory.
    values.flags.writeable = kind is Kind.BOOL
    if kind in {Kind.FLOAT, Kind.TIMESTAMP, Kind.DURATION}:
        return values
    mask = mask_of(column)
    return values if mask is None else _masked(values, mask)


def _masked(values: NDArray[Any], mask: NDArray[np.bool_]) -> NDArray[Any]:
    import numpy as np

    masked = np.ma.MaskedArray(values, mask=mask)
    if values.dtype.kind == "i" and np.iinfo(values.dtype).max < masked.fill_value:
        # NumPy's default fill value 999999 would wrap around to 16959, which looks like data.
        masked.fill_value = np.iinfo(values.dtype).min
    return masked


def _lists(column: Column) -> NDArray[np.object_]:
    """Return an array per row, each a view of the array of all elements."""
    import numpy as np

    offsets: NDArray[np.int64] = np.frombuffer(memoryview(column.offsets()), dtype=np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    ((_, part),) = column.parts()
    elements = array_of(part.slice(first, last - first))
    masks = np.ma.getmaskarray(elements) if isinstance(elements, np.ma.MaskedArray) else None
    nulls = mask_of(column)
    ends = (offsets - first).tolist()
    lists = np.empty(len(column), dtype=object)
    for row in range(len(column)):
        if nulls is not None and nulls[row]:
            continue
        start, end = ends[row], ends[row + 1]
        is_plain = masks is None or not _any(masks[start:end])
        source = elements.data if masks is not None and is_plain else elements
        lists[row] = source[start:end]
    return lists


def _any(mask: NDArray[Any]) -> bool:
    """Return whether any value, or any field of a structured value, is masked."""
    if mask.dtype.names is None:
        return bool(mask.any())
    return any(bool(mask[name].any()) for name in mask.dtype.names)


def _fixed_lists(column: Column) -> NDArray[Any]:
    """Return an array of one more dimension; a NULL becomes NaNs."""
    size = column_type(column.arrow_type).size
    ((_, part),) = column.parts()
    elements = array_of(part)
    if elements.dtype.kind != "f":
        return objects_of(column)
    return elements.reshape(len(column), size, *elements.shape[1:])


_FIELD_KINDS = {
    Kind.BOOL,
    Kind.INT,
    Kind.FLOAT,
    Kind.DATE,
    Kind.TIME,
    Kind.TIMESTAMP,
    Kind.DURATION,
}


def _structs(column: Column) -> NDArray[Any]:
    """Return a structured array if every field has a NumPy type, else an array of Python objects.

    A structured array masks NULL rows, and NULL fields of types that have no NaN or NaT.
    """
    import numpy as np

    parts = column.parts()
    names = [name for name, _ in parts]
    kinds = {column_type(part.arrow_type).kind for _, part in parts}
    if not names or not all(names) or len({*names}) < len(names) or not kinds <= _FIELD_KINDS:
        return objects_of(column)
    arrays = [array_of(part) for _, part in parts]
    types = [(name, array.dtype) for name, array in zip(names, arrays, strict=True)]
    rows = np.empty(len(column), dtype=types)
    masks = np.zeros(len(column), dtype=[(name, np.bool_) for name in names])
    nulls = mask_of(column)
    is_masked = nulls is not None
    for name, array in zip(names, arrays, strict=True):
        rows[name] = np.ma.getdata(array)
        if isinstance(array, np.ma.MaskedArray):
            masks[name] = array.mask
            is_masked = True
        if nulls is not None:
            masks[name] |= nulls
    return np.ma.MaskedArray(rows, mask=masks) if is_masked else rows


def stored_values(batch: Batch, index: int) -> NDArray[Any]:
    """Return a writable array over the memory of a fixed-width column.

    NULL is NaN or NaT, and 0 in types that have neither.
    """
    return values_of(batch.column(index))


def values_of(column: Column) -> NDArray[Any]:
    """Return an array over the memory of a fixed-width column."""
    import numpy as np

    dtype: np.dtype[Any] = np.dtype(column_type(column.arrow_type).values)
    return np.frombuffer(memoryview(column.values()), dtype=dtype)


def null_mask(batch: Batch, index: int) -> NDArray[np.bool_] | None:
    """Return an array, with memory of its own, that is True for NULL; None without any NULL."""
    return mask_of(batch.column(index))


def mask_of(column: Column) -> NDArray[np.bool_] | None:
    """Return an array that is True for NULL; None if the column has no NULL."""
    import numpy as np

    mask = column.null_mask()
    return None if mask is None else np.frombuffer(memoryview(mask), dtype=np.bool_)


def column_null_mask(batch: Batch, index: int) -> NDArray[np.bool_]:
    """Return an array that is True for NULL, also for a column without any NULL."""
    with needed_by("Columns.null_mask()", "numpy"):
        import numpy as np
    mask = null_mask(batch, index)
    return np.zeros(batch.num_rows, dtype=np.bool_) if mask is None else mask


def dates(batch: Batch, index: int, unit: str) -> NDArray[np.datetime64]:
    """Return dates as `datetime64` in the unit "D" or "s", NULL as NaT."""
    return dates_of(batch.column(index)).astype(f"M8[{unit}]", copy=False)


def dates_of(column: Column) -> NDArray[np.datetime64]:
    """Return dates as `datetime64[D]`, NULL as NaT."""
    import numpy as np

    days = values_of(column).astype(np.int64).view("M8[D]")
    mask = mask_of(column)
    if mask is not None:
        days[mask] = np.datetime64("NaT", "D")
    return days


def times(batch: Batch, index: int) -> NDArray[np.timedelta64]:
    """Return times of day as a writable `timedelta64` array of the column's unit, NULL as NaT.

    Times of 32 bits are copied; others share the column's memory.
    """
    return _times_of(batch.column(index))


def _times_of(column: Column) -> NDArray[np.timedelta64]:
    import numpy as np

    values = values_of(column)
    if values.dtype.kind == "m":
        return values
    unit = column_type(column.arrow_type).unit
    widened = values.astype(np.int64).view(f"m8[{unit}]")
    mask = mask_of(column)
    if mask is not None:
        # NaT is the same in all units, but NumPy deprecates a NaT without one.
        widened[mask] = np.timedelta64("NaT", "s")
    return widened


def _guarded_times(column: Column) -> NDArray[np.timedelta64]:
    times = _times_of(column)
    times.flags.writeable = column_type(column.arrow_type).values == "i4"
    return times


def intervals(batch: Batch, index: int) -> NDArray[np.timedelta64]:
    """Return intervals as `timedelta64[us]`, made of the timedeltas of rows; NULL is NaT.

    Raises DecodeError for an interval beyond the range of `timedelta64[us]`.
    """
    import numpy as np

    values = python_values(batch, index)
    most = np.iinfo(np.int64).max // 1_000_000
    for row, value in enumerate(values):
        if value is not None and not -most < value.days * 86_400 < most:
            field = batch.fields[index]
            reason = f"{value} is out of range for timedelta64[us]"
            raise DecodeError(field.name, field.type_name, row, reason)
    return np.array(values, dtype="m8[us]")


def objects(batch: Batch, index: int) -> NDArray[np.object_]:
    """Return the column's Python objects, None for NULL."""
    return _object_array(python_values(batch, index))


def objects_of(column: Column) -> NDArray[np.object_]:
    """Return the Python objects of a column, or of a nested column; None for NULL."""
    return _object_array(column.to_pylist())


def texts(batch: Batch, index: int) -> NDArray[np.object_]:
    """Return the stored texts of a column, even if rows have objects made of them."""
    return _object_array(batch.column(index).stored_pylist())


def _object_array(values: list[Any]) -> NDArray[np.object_]:
    import numpy as np

    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


# Conversions of the columns whose memory NumPy cannot read in place.
_MADE: dict[Kind, Callable[[Column], NDArray[Any]]] = {
    Kind.DATE: dates_of,
    Kind.TIME: _guarded_times,
    Kind.LIST: _lists,
    Kind.FIXED_LIST: _fixed_lists,
    Kind.STRUCT: _structs,
    Kind.DECIMAL: objects_of,
    Kind.BINARY: objects_of,
    Kind.UUID: objects_of,
    Kind.INTERVAL: objects_of,
    Kind.MAP: objects_of,
    Kind.NULL: objects_of,
    Kind.OTHER: objects_of,
}
