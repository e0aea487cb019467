"""pandas columns, in each of its families of types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade._core import ArrowColumn
from colonnade._driver.sources.numpy import numpy_values
from colonnade._driver.sources.values import (
    ArrowValues,
    DictionaryValues,
    NumpyValues,
    ObjectValues,
)
from colonnade._words.shown import shown
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    import pandas as pd

    from colonnade._driver.sources.values import Values


def frame_columns(frame: pd.DataFrame) -> dict[str, Values]:
    """The frame's columns by name, without the index."""
    if frame.columns.nlevels > 1:
        msg = "the frame's columns have several levels of names: give each column one name"
        raise ValueError(msg)
    names = [str(name) for name in frame.columns]
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        msg = f"several columns of the frame are named {twice[0]!r}"
        raise ValueError(msg)
    return {name: series_values(frame.iloc[:, index]) for index, name in enumerate(names)}


def series_values(series: pd.Series | pd.Index | Any) -> Values:
    """The values of a Series, an Index or an extension array."""
    import numpy as np
    import pandas as pd

    if not isinstance(series, pd.Series):
        series = pd.Series(series)
    dtype: Any = series.dtype
    if isinstance(dtype, np.dtype):
        # A timestamp without a zone is not an instant, because pandas has zones.
        return numpy_values(str(series.name), series.to_numpy(), zone=False)
    if isinstance(dtype, pd.DatetimeTZDtype):
        # In UTC, as stored.
        return NumpyValues(series.to_numpy(f"M8[{dtype.unit}]"), zone=True)
    if isinstance(dtype, pd.CategoricalDtype):
        return DictionaryValues(series.cat.codes.to_numpy(), series_values(dtype.categories))
    if str(dtype) == "geometry":
        return _geometries(series)
    if isinstance(dtype, pd.SparseDtype):
        return series_values(series.sparse.to_dense())
    array: Any = series.array
    if _is_arrow(dtype) and (made := ArrowColumn.from_arrow(array.__arrow_array__())) is not None:
        return ArrowValues(made)
    numpy_dtype = getattr(dtype, "numpy_dtype", None)
    if numpy_dtype is not None and numpy_dtype.kind in "biuf":
        mask = series.isna().to_numpy()
        values = series.to_numpy(dtype=numpy_dtype, na_value=numpy_dtype.type(0))
        return NumpyValues(values, mask if mask.any() else None, has_null=True)

    def objects(start: int, stop: int) -> list[Any]:
        # A missing value of such a type is pandas' own NULL, even if it is written as NaN.
        part = series.iloc[start:stop]
        pairs = zip(part.array, part.isna(), strict=True)
        return [None if missing else value for value, missing in pairs]

    return ObjectValues(len(series), objects)


def _geometries(series: Any) -> ObjectValues:
    """GeoPandas' geometries as PostGIS's EWKB, with the SRID of the series' reference system."""
    import shapely

    crs = series.crs
    srid = None if crs is None else crs.to_epsg()
    if crs is not None and srid is None:
        raise InterfaceError(
            f"the reference system of the column {shown(series.name)} has no EPSG number, which "
            "PostGIS needs as SRID",
            hint="convert it with to_crs, or declare the one it has with set_crs",
        )

    def objects(start: int, stop: int) -> list[Any]:
        part = series.array[start:stop].to_numpy()
        if srid is not None:
            part = shapely.set_srid(part, srid)
        return list(shapely.to_wkb(part, include_srid=True, flavor="extended"))

    return ObjectValues(len(series), objects)


def _is_arrow(dtype: Any) -> bool:
    import pandas as pd

    return isinstance(dtype, pd.ArrowDtype) or getattr(dtype, "storage", None) == "pyarrow"
