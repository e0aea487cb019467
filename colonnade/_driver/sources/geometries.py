"""The SQL types of a GeoDataFrame's geometries."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any


def with_geometry_types(
    frame: Any,
    columns: Sequence[str] | Mapping[str, str] | None,
    types: Mapping[str, str] | None,
) -> Mapping[str, str]:
    """Return the given SQL types, and those of a GeoDataFrame's other geometries.

    `columns` renames them, as in `write_table`.
    """
    geopandas = sys.modules.get("geopandas")
    if geopandas is None or not isinstance(frame, geopandas.GeoDataFrame):
        return types or {}
    names = [str(name) for name in frame.columns]
    if isinstance(columns, Mapping):
        renamed = [columns.get(name) for name in names]
    else:
        renamed = [*(names if columns is None else columns)]
    made = {
        new: _sql_type(frame.iloc[:, place])
        for place, new in enumerate(renamed)
        if new is not None and str(frame.dtypes.iloc[place]) == "geometry"
    }
    return {**made, **(types or {})}


def _sql_type(series: Any) -> str:
    """`geometry(GeometryZ,4326)` if all values have these dimensions, else `geometry`."""
    srid = series.crs.to_epsg() if series.crs is not None else None
    there = series[~(series.isna() | series.is_empty)]
    # A column that is declared for two dimensions refuses others.
    dimensions = {
        ("Z" if has_z else "") + ("M" if has_m else "")
        for has_z, has_m in zip(there.has_z, there.has_m, strict=True)
    } or {""}
    if srid is None or len(dimensions) > 1:
        return "geometry"
    return f"geometry(Geometry{dimensions.pop()},{srid})"
