"""OIDs of the built-in types, from the core's table of types."""

from __future__ import annotations

from colonnade import _core

OIDS: dict[str, int] = {line.name: line.oid for line in _core.TYPES}
"""The name of each built-in type -> its OID."""

ARRAY_OIDS: dict[int, int] = {line.oid: line.array_oid for line in _core.TYPES}
"""The OID of each built-in type -> the OID of its array type."""

UNKNOWN = OIDS["unknown"]
"""Declared for a parameter whose type the server infers, as for a string literal."""
