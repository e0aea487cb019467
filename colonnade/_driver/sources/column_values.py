"""The values of any object that can be a column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade._core import ArrowColumn
from colonnade._driver.sources.numpy import numpy_values
from colonnade._driver.sources.values import ArrowValues, ObjectValues
from colonnade._words.shown import class_name, package_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colonnade._driver.sources.values import Values


def values_of(name: str, value: Any) -> Values:
    """The values of an array of any library, or of a list, for the column of this name."""
    kind = type(value)
    module = package_name(kind)
    if module == "pandas":
        from colonnade._driver.sources.pandas import series_values

        return series_values(value)
    if module == "numpy" and hasattr(value, "dtype"):
        return numpy_values(name, value)
    if module == "polars":
        from colonnade._driver.sources.polars import importable_series

        value = importable_series(name, value)
    if (made := ArrowColumn.from_arrow(value)) is not None:
        return ArrowValues(made)
    if isinstance(value, list | tuple):
        return _sequence_values(value)
    if hasattr(value, "__array__"):
        import numpy as np

        return numpy_values(name, np.asarray(value))
    msg = (
        f'column "{name}" must be an array of NumPy, Arrow, pandas or Polars, or a list, '
        f"not {class_name(value)}: a mapping has the values of all rows, as {{name: [...]}}"
    )
    raise TypeError(msg)


def _sequence_values(values: Sequence[Any]) -> Values:
    return ObjectValues(len(values), lambda start, stop: list(values[start:stop]))
