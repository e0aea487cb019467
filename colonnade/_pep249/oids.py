"""OIDs by the names of their types, from the one table that has them."""

from __future__ import annotations

from colonnade import _core

OIDS: dict[str, int] = {line.name: line.oid for line in _core.TYPES}
"""Of each built-in type, by its name."""

ARRAY_OIDS: dict[int, int] = {line.oid: line.array_oid for line in _core.TYPES}
"""Of the arrays of each built-in type, by its OID."""

UNKNOWN = OIDS["unknown"]
"""Declared for a parameter whose type the server infers; it reads a string as a literal."""
