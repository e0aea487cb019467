"""Values on their way through a struct: packed, stored as bytea, read as fields and as columns."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from colonnade.structs import Struct, struct

if TYPE_CHECKING:
    from colonnade.sync import Connection


@struct
class OfBool(Struct):
    n: int
    v: bool | None


@struct
class OfInt(Struct):
    n: int
    v: int | None


@struct
class OfFloat(Struct):
    n: int
    v: float | None


@struct
class OfText(Struct):
    n: int
    v: str | None


@struct
class OfBytes(Struct):
    n: int
    v: bytes | None


@struct
class OfDate(Struct):
    n: int
    v: dt.date | None


@struct
class OfMoment(Struct):
    n: int
    v: dt.datetime | None


@struct
class OfTexts(Struct):
    n: int
    v: list[str | None] | None


@struct
class OfInts(Struct):
    n: int
    v: list[int | None] | None


@struct
class OfFloats(Struct):
    n: int
    v: list[float | None] | None


CLASSES: dict[str, type[Struct]] = {
    "bool": OfBool,
    **dict.fromkeys(("int2", "int4", "int8", "oid", "xid", "cid"), OfInt),
    **dict.fromkeys(("float4", "float8"), OfFloat),
    **dict.fromkeys(("text", "varchar", "bpchar", "json", "xml", "macaddr"), OfText),
    "bytea": OfBytes,
    "date": OfDate,
    "timestamp": OfMoment,
    **dict.fromkeys(("text[]", "varchar[]"), OfTexts),
    **dict.fromkeys(("int2[]", "int4[]", "int8[]"), OfInts),
    "float8[]": OfFloats,
}


def through_structs(core: Connection, query: str, column: str) -> list[tuple[int, Any]]:
    """The rows of a query of `n` and `v`, after they were structs in a column."""
    kind = CLASSES[column]
    made: Any = kind
    packed = [made(*row) for row in core.fetch(query)]
    core.execute("CREATE TEMP TABLE IF NOT EXISTS packed (data pg_catalog.bytea)")
    core.execute("TRUNCATE pg_temp.packed")
    core.copy_records_to_table(
        "packed", records=[(each,) for each in packed], schema_name="pg_temp"
    )
    stored = core.fetch("SELECT data FROM pg_temp.packed")
    found = [made.from_bytes(row[0]) for row in stored]
    assert [(each.n, each.v) for each in found] == [(each.n, each.v) for each in packed] or any(
        each.v != each.v for each in found
    )
    read = core.fetch_columns("SELECT data FROM pg_temp.packed", schema={"data": kind})
    return [tuple(value) for value in read.to_pydict()["data"]]
