"""A new column from an array of another library, or from a list."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from colonnade._core import ArrowColumn, Batch, selection
from colonnade._words.shown import class_name, full_name, package_name, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

# The classes of a list's values -> what they become.
_PLAIN: dict[frozenset[type], str] = {
    frozenset({bool}): "bool",
    frozenset({int}): "int8",
    frozenset({float}): "float8",
    frozenset({int, float}): "float8",
    frozenset({str}): "text",
    frozenset({bytes}): "bytea",
}
# A float8 has every whole number up to this size.
_EXACT_MOST = 1 << 53
# NumPy would let a longer one overflow; the smallest number of 64 bits is NaT.
_LONGEST = dt.timedelta(microseconds=(1 << 63) - 1)
# The dtypes of values that NumPy converts.
_TIMES: dict[frozenset[type], str] = {
    frozenset({dt.datetime}): "M8[us]",
    frozenset({dt.date}): "M8[D]",
    frozenset({dt.timedelta}): "m8[us]",
}


def with_column(batch: Batch, name: str, value: Any) -> Batch:
    """The batch with a column of these values, in the place of the column of that name or last.

    They may be a batch of one column, which keeps its PostgreSQL type.

    Raises TypeError for an object that is no column, and ValueError for another number of values,
    for values of several classes, and for a name that several columns have.
    """
    places = batch.places.get(name, [])
    if len(places) > 1:
        raise ValueError(f'{len(places)} columns are named "{name}": rename them first')
    index = places[0] if places else batch.num_columns
    try:
        if isinstance(value, Batch):
            return selection.with_own(batch, index, name, value)
        return _with(batch, index, name, value)
    except (TypeError, ValueError, OverflowError) as error:
        kind = type(error)
        if kind not in {TypeError, ValueError, OverflowError}:
            raise
        raise kind(f'column "{name}": {error}') from error


def _with(batch: Batch, index: int, name: str, value: Any) -> Batch:
    package = package_name(type(value))
    if package == "pandas":
        value = _as_series(value)
    made = _column(value)
    if made is not None:
        return selection.with_made(batch, index, name, made)
    if package == "pandas" and hasattr(value, "dtype"):
        # Of a series over a pyarrow array, which `_column` leaves.
        value = value.array.__arrow_array__()
    elif package == "polars" and str(getattr(value, "dtype", None)) == "Object":
        # Polars exports the addresses of the objects.
        raise TypeError("no column is made of Polars' objects: cast the series first")
    elif hasattr(value, "columns"):
        raise TypeError(f"{class_name(value)} is a table, and one array is needed")
    with_arrow = selection.with_arrow(batch, index, name, value)
    if with_arrow is not None:
        return with_arrow
    raise TypeError(
        f"an array of NumPy, Arrow, pandas or Polars or a list is needed, not {class_name(value)}; "
        "np.full(len(columns), value) repeats one value"
    )


def _column(value: Any) -> ArrowColumn | None:
    """The column of an object of NumPy or pandas, or of a list; None for others."""
    package = package_name(type(value))
    if package == "numpy" and hasattr(value, "dtype"):
        return _of_array(value)
    if package == "pandas" and hasattr(value, "dtype"):
        return _of_series(value)
    if isinstance(value, list | tuple | range):
        return _of_objects(list(value))
    return None


def _as_series(value: Any) -> Any:
    """A pandas array or index as a series; another object itself."""
    import pandas as pd

    is_array = isinstance(value, pd.api.extensions.ExtensionArray)
    is_index = isinstance(value, pd.Index) and value.nlevels == 1
    return pd.Series(value) if is_array or is_index else value


def _of_array(array: Any, mask: Any = None, *, is_utc: bool = False) -> ArrowColumn:
    import numpy as np

    if not array.ndim:
        raise TypeError("an array is needed, not a single value")
    if array.dtype.names is not None:
        raise TypeError("an array of rows is a table: give each of its fields a name")
    if isinstance(array, np.ma.MaskedArray):
        mask, array = np.ma.getmaskarray(array), array.data
    if array.dtype.kind in "OT":
        values: list[Any] = array.tolist()
        if mask is not None:
            values = [None if gone else x for x, gone in zip(values, mask, strict=True)]
        # NumPy's dtype for text tells the type even where there is no text.
        is_text = array.dtype.kind == "T"
        return selection.of_objects("text", values) if is_text else _of_objects(values)
    if array.dtype.kind in "mM":
        missing = np.isnat(array)
        mask = missing if mask is None else mask | missing
    if mask is not None:
        mask = _of_rows(mask) if mask.any() else None
    made = ArrowColumn.from_numpy(np.ascontiguousarray(array), mask, is_utc=is_utc)
    if made is None:
        raise TypeError(f"{array.dtype} has no column type: cast it first")
    return made


def _of_rows(mask: Any) -> Any:
    """The mask of whole rows; a row that is masked in part raises ValueError."""
    cells = mask.reshape(len(mask), -1)
    rows = cells.all(axis=1)
    in_part = cells.any(axis=1) & ~rows
    if in_part.any():
        raise ValueError(
            f"a part of row {in_part.argmax()} is masked or NaT, and in an array of several "
            "dimensions only whole rows can be NULL: give an Arrow array of lists"
        )
    return rows


def _of_series(series: Any) -> ArrowColumn | None:
    """The column of a pandas series, by position; None if it is over a pyarrow array."""
    import numpy as np
    import pandas as pd

    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        return _of_array(series.to_numpy())
    if isinstance(dtype, pd.ArrowDtype) or getattr(dtype, "storage", None) == "pyarrow":
        return None
    if isinstance(dtype, pd.DatetimeTZDtype):
        return _of_array(series.array.tz_convert("UTC").tz_localize(None).to_numpy(), is_utc=True)
    if isinstance(dtype, pd.CategoricalDtype) and dtype.categories.inferred_type == "string":
        codes = np.ascontiguousarray(series.array.codes, dtype="i4")
        return ArrowColumn.from_codes(codes, _of_objects(dtype.categories.to_list()))
    missing = series.isna().to_numpy()
    numpy_dtype = getattr(dtype, "numpy_dtype", None)
    if numpy_dtype is not None and numpy_dtype.kind in "biuf":
        values = series.to_numpy(dtype=numpy_dtype, na_value=numpy_dtype.type(0))
        return _of_array(values, missing if missing.any() else None)
    pairs = zip(series.to_list(), missing, strict=True)
    return _of_objects([None if gone else value for value, gone in pairs])


def _of_objects(values: Sequence[Any]) -> ArrowColumn:
    classes = frozenset(type(value) for value in values) - {type(None)}
    if (kind := _PLAIN.get(classes)) is not None:
        if int in classes and float in classes:
            _check_exact(values)
        return selection.of_objects(kind, values)
    if (dtype := _TIMES.get(classes)) is not None:
        return _of_times(values, dtype)
    if not classes:
        raise ValueError(
            "no value tells its type: give an array of NumPy or Arrow, or a column of your own as "
            'columns.select("name"), which keeps its type'
        )
    names = ", ".join(sorted(full_name(found) for found in classes))
    raise TypeError(f"no column is made of a list of {names}: give an array of NumPy or Arrow")


def _check_exact(values: Sequence[Any]) -> None:
    """Raise ValueError for an int that a float8 would round."""
    for value in values:
        if type(value) is int and abs(value) > _EXACT_MOST and not _is_exact(value):
            msg = f"{shown(value)} is not exact as a float8, which a list with floats becomes"
            raise ValueError(msg)


def _is_exact(value: int) -> bool:
    try:
        return float(value) == value
    except OverflowError:
        return False


def _of_times(values: Sequence[Any], dtype: str) -> ArrowColumn:
    import numpy as np

    longest = max((abs(x) for x in values if isinstance(x, dt.timedelta)), default=_LONGEST)
    if longest > _LONGEST:
        raise OverflowError(f"{shown(longest)} has more than 64 bits of microseconds")
    zones = {value.tzinfo is not None for value in values if isinstance(value, dt.datetime)}
    if len(zones) > 1:
        raise ValueError("some of the datetimes have a time zone, and others have none")
    is_utc = True in zones
    if is_utc:
        utc = dt.UTC
        values = [
            None if value is None else value.astimezone(utc).replace(tzinfo=None)
            for value in values
        ]
    return _of_array(np.array(values, dtype=dtype), is_utc=is_utc)
