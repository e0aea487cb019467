"""The schema of a result that becomes a GeoDataFrame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from colonnade._words.shown import class_name

if TYPE_CHECKING:
    from colonnade import sync

_GEOMETRIES = {"geometry", "geography"}


def with_references(connection: sync.Connection, sql: str, schema: Any) -> dict[str, Any]:
    """Return a schema that asks for geometries with their SRID, which their WKB does not have."""
    if schema is not None and not isinstance(schema, Mapping):
        raise TypeError(
            f'with into="geopandas", schema must be a mapping, not {class_name(schema)}'
        )
    attributes = connection.prepare(sql, name="").get_attributes()
    asked = {
        attribute.name: "binary" for attribute in attributes if attribute.type.name in _GEOMETRIES
    }
    return {**asked, **(schema or {})}
