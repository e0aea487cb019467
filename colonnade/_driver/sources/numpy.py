"""The values of NumPy's arrays: plain, masked, of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade._driver.sources.structured import StructuredValues
from colonnade._driver.sources.values import NumpyValues

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from colonnade._driver.sources.values import Values


def numpy_values(name: str, array: NDArray[Any], *, zone: bool | None = None) -> Values:
    """The values of a NumPy array; masked values are NULL."""
    import numpy as np

    if array.ndim == 0:
        msg = f'column "{name}" must have one value per row, not one for all rows'
        raise TypeError(msg)
    if array.dtype.names is not None:
        mask = np.ma.getmaskarray(array) if isinstance(array, np.ma.MaskedArray) else None
        return StructuredValues(np.ma.getdata(array), mask)
    if not isinstance(array, np.ma.MaskedArray):
        return NumpyValues(array, zone=zone)
    mask = None if array.mask is np.ma.nomask else np.asarray(array.mask)
    if mask is not None and mask.ndim > 1:
        objects = np.ma.filled(array.astype(object), None)
        return NumpyValues(objects, zone=zone)
    return NumpyValues(np.asarray(array.data), mask, zone=zone)
