"""PostGIS's geometries as GeoDataFrames, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import geopandas as gpd
import numpy as np
import pyarrow as pa
import pytest
import shapely

import colonnade
from colonnade.errors import DecodeError, InterfaceError, PostgresError

if TYPE_CHECKING:
    from colonnade import sync

SHAPES = [
    "POINT (1 2)",
    "POINT Z (1 2 3)",
    "POINT M (1 2 4)",
    "POINT ZM (1 2 3 4)",
    "POINT EMPTY",
    "LINESTRING (0 0, 1 1, 2 0)",
    "POLYGON ((0 0, 4 0, 4 4, 0 4, 0 0), (1 1, 2 1, 2 2, 1 2, 1 1))",
    "MULTIPOINT (0 0, 1 1)",
    "MULTILINESTRING ((0 0, 1 1), (2 2, 3 3))",
    "MULTIPOLYGON (((0 0, 1 0, 1 1, 0 0)), ((5 5, 6 5, 6 6, 5 5)))",
    "GEOMETRYCOLLECTION (POINT (1 2), LINESTRING (0 0, 1 1))",
    "POLYGON EMPTY",
    "GEOMETRYCOLLECTION EMPTY",
    None,
]


def mixed(crs: Any) -> gpd.GeoDataFrame:
    geometry = shapely.from_wkt(np.array(SHAPES, dtype=object))
    return gpd.GeoDataFrame(
        {"id": range(len(SHAPES)), "name": [shape or "none" for shape in SHAPES]},
        geometry=geometry,
        crs=crs,
    )


def wkb(frame: gpd.GeoDataFrame, name: str = "geometry") -> list[bytes | None]:
    return list(frame[name].to_wkb())


@pytest.mark.parametrize("crs", ["EPSG:4326", "EPSG:3857", None])
def test_a_round_trip_of_every_kind_of_geometry(conn: sync.Connection, crs: str | None) -> None:
    frame = mixed(crs)
    assert colonnade.write_table(frame, "shapes", conn) == len(SHAPES)
    query = "SELECT * FROM shapes ORDER BY id"
    read = colonnade.read_sql(query, conn, into="geopandas")
    assert isinstance(read, gpd.GeoDataFrame)
    assert read.crs == frame.crs
    assert wkb(read) == wkb(frame)
    assert read["name"].tolist() == frame["name"].tolist()
    # The server understands them as PostGIS's own.
    told = conn.fetch("SELECT ST_AsText(geometry), ST_SRID(geometry) FROM shapes ORDER BY id")
    srid = 0 if crs is None else int(crs.partition(":")[2])
    assert {row[1] for row in told} == {srid, None}
    texts = [None if row[0] is None else shapely.from_wkt(row[0]) for row in told]
    assert [
        text is None or text.equals(own) for text, own in zip(texts, frame.geometry, strict=True)
    ]
    # And once more into a table that is there.
    assert colonnade.write_table(read, "shapes", conn, if_exists="append") == len(SHAPES)


@pytest.mark.parametrize(
    ("shape", "declared"),
    [
        ("POINT (1 2)", "geometry(Geometry,4326)"),
        ("POINT Z (1 2 3)", "geometry(GeometryZ,4326)"),
        ("POINT ZM (1 2 3 4)", "geometry(GeometryZM,4326)"),
        ("POINT EMPTY", "geometry(Geometry,4326)"),
    ],
)
def test_a_new_table_declares_what_all_rows_have(
    conn: sync.Connection, shape: str, declared: str
) -> None:
    frame = gpd.GeoDataFrame({"id": [1]}, geometry=[shapely.from_wkt(shape)], crs=4326)
    frame["other"] = gpd.GeoSeries([None], crs=3857)
    colonnade.write_table(
        frame, "made", conn, columns={"id": "id", "geometry": "geom", "other": "o"}
    )
    kinds = conn.fetch(
        "SELECT format_type(atttypid, atttypmod) FROM pg_attribute "
        "WHERE attrelid = 'made'::regclass AND attnum > 1 ORDER BY attnum"
    )
    assert [kind for (kind,) in kinds] == [declared, "geometry(Geometry,3857)"]
    read = colonnade.read_sql("SELECT * FROM made", conn, into="geopandas", index_col="id")
    assert read.active_geometry_name == "geom"
    assert read.index.tolist() == [1]
    assert read["geom"].crs == "EPSG:4326"
    # The declaration tells the system of a column of NULLs.
    assert read["o"].crs == "EPSG:3857"


def test_geography(conn: sync.Connection) -> None:
    conn.execute("CREATE TABLE places (id int, at geography(Point, 4326))")
    frame = gpd.GeoDataFrame(
        {"id": [1, 2]}, geometry=gpd.points_from_xy([13.4, 2.35], [52.5, 48.9]), crs=4326
    ).rename_geometry("at")
    colonnade.write_table(frame, "places", conn, if_exists="append")
    distance = "SELECT ST_Distance(a.at, b.at) FROM places a, places b WHERE a.id < b.id"
    assert 870_000 < conn.fetchval(distance) < 890_000
    read = colonnade.read_sql("SELECT * FROM places ORDER BY id", conn, into="geopandas")
    assert read.crs == "EPSG:4326"
    assert wkb(read, "at") == wkb(frame, "at")
    assert len(read.to_crs(3857)) == 2


def test_columns_and_batches(conn: sync.Connection) -> None:
    colonnade.write_table(mixed(4326), "shapes", conn)
    columns = conn.fetch_columns("SELECT * FROM shapes ORDER BY id")
    # Without a declaration that says it, WKB has no reference system.
    assert columns.to_geopandas().crs is None
    assert columns.to_geopandas(crs=4326).crs == "EPSG:4326"
    asked = conn.fetch_columns("SELECT * FROM shapes ORDER BY id", schema={"geometry": "binary"})
    assert asked.to_geopandas("geometry", dtypes="arrow").crs == "EPSG:4326"
    parts = list(
        colonnade.read_sql("SELECT * FROM shapes ORDER BY id", conn, into="geopandas", batch_rows=5)
    )
    assert [len(part) for part in parts] == [5, 5, 4]
    assert {str(part.crs) for part in parts} == {"EPSG:4326"}
    assert [shape for part in parts for shape in wkb(part)] == wkb(mixed(4326))
    with pytest.raises(KeyError, match=r"no column .*id.* with geometries"):
        columns.to_geopandas("id")


def test_the_reference_system_of_a_declaration(conn: sync.Connection) -> None:
    conn.execute("CREATE TABLE declared (g geometry(Point, 3857), n int)")
    query = "SELECT * FROM declared"
    assert colonnade.read_sql(query, conn, into="geopandas").crs == "EPSG:3857"
    assert conn.fetch_columns(query).to_geopandas().crs == "EPSG:3857"
    conn.execute("INSERT INTO declared VALUES (ST_SetSRID(ST_MakePoint(1, 2), 3857), 1)")
    assert conn.fetch_columns(query).to_geopandas().crs == "EPSG:3857"
    wrong = gpd.GeoDataFrame({"n": [1]}, geometry=gpd.points_from_xy([1], [2]), crs=4326)
    with pytest.raises(PostgresError, match="SRID"):
        colonnade.write_table(wrong.rename_geometry("g"), "declared", conn, if_exists="append")


def test_what_one_frame_cannot_have(conn: sync.Connection) -> None:
    two = "SELECT ST_SetSRID(ST_MakePoint(1, 2), s) AS g FROM unnest(ARRAY[4326, 3857]) s"
    with pytest.raises(InterfaceError, match="SRID 3857, 4326"):
        colonnade.read_sql(two, conn, into="geopandas")
    with pytest.raises(InterfaceError, match="SRID 3857, 4326"):
        list(colonnade.read_sql(two, conn, into="geopandas", batch_rows=1))
    with pytest.raises(InterfaceError, match="no column of PostGIS"):
        colonnade.read_sql("SELECT 1 AS n", conn, into="geopandas")
    curve = "SELECT 'POINT(0 0)'::geometry AS g UNION ALL SELECT 'TIN(((0 0,1 0,1 1,0 0)))'"
    with pytest.raises(DecodeError, match='"g"'):
        colonnade.read_sql(curve, conn, into="geopandas")
    odd = "SELECT 'SRID=990001;POINT(1 2)'::geometry AS g"
    with pytest.raises(InterfaceError, match="EPSG has no reference system 990001"):
        colonnade.read_sql(odd, conn, into="geopandas")
    asked = conn.fetch_columns(odd, schema={"g": "binary"})
    assert asked.to_geopandas(crs="ESRI:54030").crs == "ESRI:54030"
    own = gpd.GeoDataFrame(geometry=gpd.points_from_xy([1], [2]), crs="ESRI:54030")
    with pytest.raises(InterfaceError, match="no EPSG number"):
        colonnade.write_table(own, "own", conn)


def test_geoarrow(conn: sync.Connection) -> None:
    """Arrow's consumers see the extension type, and what they have made comes back."""
    frame = mixed(None)
    colonnade.write_table(frame, "shapes", conn)
    columns = conn.fetch_columns("SELECT * FROM shapes ORDER BY id")
    field = pa.schema(columns).field("geometry")
    assert field.metadata[b"ARROW:extension:name"] == b"geoarrow.wkb"
    assert wkb(gpd.GeoDataFrame.from_arrow(columns)) == wkb(frame)
    table = pa.table(frame.to_arrow(index=False, geometry_encoding="WKB"))
    assert colonnade.write_table(table, "shapes", conn, if_exists="append") == len(SHAPES)
    same = (
        "SELECT count(*) FROM shapes a JOIN shapes b USING (id) WHERE a.ctid < b.ctid "
        "AND a.geometry::bytea IS NOT DISTINCT FROM b.geometry::bytea"
    )
    assert conn.fetchval(same) == len(SHAPES)


async def test_asyncio(conn: sync.Connection, geo_dsn: str) -> None:
    conn.execute("CREATE TABLE later (id int8, name text, geometry geometry)")
    frame = mixed(4326)
    async with await colonnade.connect(geo_dsn) as connection:
        await connection.copy_columns_to_table("later", frame, schema_name="geo")
        columns = await connection.fetch_columns(
            "SELECT * FROM geo.later ORDER BY id", schema={"geometry": "binary"}
        )
    assert wkb(columns.to_geopandas()) == wkb(frame)
