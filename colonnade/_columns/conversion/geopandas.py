"""Columns as a GeoDataFrame: PostGIS's geometries, with their reference systems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade._columns.conversion.values import python_values
from colonnade._words.arguments import check_text
from colonnade._words.extras import needed_by
from colonnade._words.shown import shown
from colonnade.errors import DecodeError, InterfaceError

if TYPE_CHECKING:
    from collections.abc import Collection

    import geopandas as gpd

    from colonnade._columns.conversion.pandas import PandasFrames
    from colonnade._core import Batch, Field

GEOMETRIES = {"geometry", "geography"}
_NO_COLUMN = "the result has no column of PostGIS's geometry or geography"


class GeoFrames:
    """Converts the batches of one result to frames with geometries.

    `geometry` is the column that the frame's own methods work on, by default the first one. `crs`
    is for columns whose values have no reference system.
    """

    def __init__(self, geometry: str | None = None, crs: Any = None) -> None:
        if crs is not None and not isinstance(crs, str | int) and not hasattr(crs, "to_wkt"):
            raise TypeError(
                'crs must be a text such as "EPSG:4326", a number of EPSG or a pyproj.CRS, '
                f"not {shown(crs)}"
            )
        if geometry is not None:
            check_text("geometry", geometry)
        self._geometry = geometry
        self._crs = crs
        # The SRIDs that the values and the declarations of columns have told so far.
        self._srids: dict[int, int] = {}

    def frame(self, frames: PandasFrames, batch: Batch, asked: Collection[str]) -> gpd.GeoDataFrame:
        """Convert a batch to a frame as `PandasFrames.frame` does, and its geometries."""
        with needed_by("GeoDataFrame", "geopandas"):
            import geopandas as gpd
        places = [
            place for place, field in enumerate(batch.fields) if field.type_name in GEOMETRIES
        ]
        if not places:
            raise InterfaceError(_NO_COLUMN, hint="use to_pandas")
        frame = frames.columns(batch, asked)
        for place in places:
            frame.isetitem(place, self._geometries(batch, place))
        names = [batch.fields[place].name for place in places]
        geometry = names[0] if self._geometry is None else self._geometry
        if geometry not in names:
            known = ", ".join(f'"{name}"' for name in names)
            raise KeyError(f"no column {shown(geometry)} with geometries: there are {known}")
        return frames.indexed(gpd.GeoDataFrame(frame, geometry=geometry))

    def _geometries(self, batch: Batch, place: int) -> Any:
        import numpy as np
        import shapely
        from geopandas.array import GeometryArray

        field = batch.fields[place]
        values = np.empty(batch.num_rows, dtype=object)
        values[:] = python_values(batch, place)
        try:
            made = shapely.from_wkb(values)
        except shapely.errors.GEOSException as error:
            raise _unreadable(values, field, error) from error
        is_null = shapely.is_missing(made)
        srids = {int(srid) for srid in np.unique(shapely.get_srid(made[~is_null]))}
        crs = self._reference(field, place, srids)
        # The frame's reference system is the only one: it stays right when the frame changes it.
        return GeometryArray(shapely.set_srid(made, 0), crs=crs)

    def _reference(self, field: Field, place: int, srids: set[int]) -> Any:
        """The reference system of a column; None if it has none."""
        known = {srid for srid in (self._srids.get(place), _declared_srid(field)) if srid}
        found = srids | known
        # Values that are fetched as WKB have no number, even if the column declares one.
        if known and srids == {0} and field.arrow_type == "binary" and not self._srids.get(place):
            found = known
        if len(found) > 1:
            numbers = ", ".join(map(str, sorted(found)))
            raise InterfaceError(
                f'the column "{field.name}" has several reference systems, where a frame has one: '
                f"SRID {numbers}",
                hint=f'call ST_Transform for "{field.name}" in the query, with one system',
            )
        (srid,) = found or {0}
        if not srid:
            return self._crs
        self._srids[place] = srid
        return self._crs if self._crs is not None else _crs_of(srid)


def _crs_of(srid: int) -> Any:
    import pyproj
    from pyproj.exceptions import CRSError

    try:
        return pyproj.CRS.from_epsg(srid)
    except CRSError as error:
        raise InterfaceError(
            f"EPSG has no reference system {srid}",
            hint="pass the system itself: fetch_columns(...).to_geopandas(crs=...)",
        ) from error


def _declared_srid(field: Field) -> int:
    """The reference system in a declaration such as `geometry(Point, 4326)`; 0 without one.

    PostGIS has it in bits 8 to 28 of the type modifier, the highest of them for the sign.
    """
    modifier = field.type_modifier
    if modifier < 0:
        return 0
    return ((modifier & 0x0FFFFF00) - (modifier & 0x10000000)) >> 8


def _unreadable(values: Any, field: Field, error: Exception) -> DecodeError:
    import shapely

    for row, value in enumerate(values):
        try:
            shapely.from_wkb(value)
        except shapely.errors.GEOSException as reason:
            said = f"shapely cannot read it ({reason}): select ST_CurveToLine(...) of curves"
            return DecodeError(field.name, field.type_name, row, said)
    return DecodeError(field.name, field.type_name, 0, str(error))
