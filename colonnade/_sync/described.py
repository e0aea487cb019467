# Generated from colonnade/_async/described.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""PostgreSQL's types as `colonnade.types` describes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade.types import Type

if TYPE_CHECKING:
    from colonnade import _core

_PARTED_KINDS = frozenset({"array", "composite", "range", "multirange"})


def described(pg_type: _core.PgType) -> Type:
    """A type of the core, for users."""
    kind = pg_type.kind if pg_type.kind in _PARTED_KINDS else "scalar"
    return Type(pg_type.oid, pg_type.name, kind, pg_type.schema)
