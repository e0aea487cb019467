"""Facts about the built-in types, by their names, from the core's table of types."""

from __future__ import annotations

from colonnade import _core

OIDS: dict[str, int] = {line.name: line.oid for line in _core.TYPES}
"""The name of each built-in type -> its OID."""

ARRAY_OIDS: dict[int, int] = {line.oid: line.array_oid for line in _core.TYPES}
"""The OID of each built-in type -> the OID of its array type."""

NUMBERS = frozenset(line.name for line in _core.TYPES if line.is_number)
"""Types with a sum and a mean. Identifiers are not numbers, though some are stored as integers."""

INTEGERS = frozenset(line.name for line in _core.TYPES if line.kind == "Int")
FLOATS = frozenset(line.name for line in _core.TYPES if line.kind in {"Float", "Float32"})

MOMENTS = frozenset(
    line.name for line in _core.TYPES if line.kind in {"Date", "Timestamp", "TimestampTz"}
)
"""Days and points in time, which may be infinite."""

TIMES = MOMENTS | {line.name for line in _core.TYPES if line.kind in {"Time", "TimeTz", "Interval"}}
"""Moments, times of day and lengths of time."""

WIDTHS: dict[str, int] = {line.name: line.width for line in _core.TYPES if line.width is not None}
"""The name of each type whose values have one length -> the bytes of its binary format."""

UNKNOWN = OIDS["unknown"]
"""Declared for a parameter whose type the server infers, as for a string literal."""
