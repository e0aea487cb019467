"""ADBC's information about a driver and its server, in ADBC's schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

__all__ = ["info_table", "table_types_table"]

# ADBC's number of each fact.
_TEXTS = {"vendor_name": 0, "vendor_version": 1, "driver_name": 100, "driver_version": 101}
_ADBC_VERSION = 103
_ADBC_1_1 = 1_001_000
_TEXT, _INTEGER = 0, 2


def info_table(known: Mapping[str, Any], codes: Sequence[int] | None) -> pa.Table:
    """The requested facts, or all of them if none is named."""
    import pyarrow as pa

    texts = {code: str(known[name]) for name, code in _TEXTS.items()}
    asked = [*texts, _ADBC_VERSION] if codes is None else codes
    names = [code for code in asked if code in texts or code == _ADBC_VERSION]
    strings = [texts[code] for code in names if code in texts]
    kinds = [_TEXT if code in texts else _INTEGER for code in names]
    numbers = [_ADBC_1_1] * kinds.count(_INTEGER)
    offsets = [kinds[:place].count(kind) for place, kind in enumerate(kinds)]
    values = pa.UnionArray.from_dense(
        pa.array(kinds, pa.int8()),
        pa.array(offsets, pa.int32()),
        [
            pa.array(strings, pa.string()),
            pa.array([], pa.bool_()),
            pa.array(numbers, pa.int64()),
            pa.array([], pa.int32()),
            pa.array([], pa.list_(pa.string())),
            pa.array([], pa.map_(pa.int32(), pa.list_(pa.int32()))),
        ],
        [
            "string_value",
            "bool_value",
            "int64_value",
            "int32_bitmask",
            "string_list",
            "int32_to_int32_list_map",
        ],
    )
    fields = [pa.field("info_name", pa.uint32(), False), pa.field("info_value", values.type)]
    return pa.Table.from_arrays([pa.array(names, pa.uint32()), values], schema=pa.schema(fields))


def table_types_table(kinds: Sequence[str]) -> pa.Table:
    """The kinds of tables, in a column."""
    import pyarrow as pa

    schema = pa.schema([pa.field("table_type", pa.string(), False)])
    return pa.Table.from_arrays([pa.array(kinds, pa.string())], schema=schema)
