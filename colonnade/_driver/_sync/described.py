# Generated from colonnade/_driver/_async/described.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""PostgreSQL's types as `colonnade.types` describes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from colonnade import _core
    from colonnade.types import Attribute, Type

_PARTED_KINDS = frozenset({"array", "composite", "range", "multirange"})


def described(pg_type: _core.PgType) -> Type:
    """A type of the core, for users."""
    # Imported here: few programs ask for types.
    from colonnade.types import Type

    kind = pg_type.kind if pg_type.kind in _PARTED_KINDS else "scalar"
    return Type(pg_type.oid, pg_type.name, kind, pg_type.schema)


def attribute(name: str, pg_type: _core.PgType) -> Attribute:
    """A column, for users."""
    from colonnade.types import Attribute

    return Attribute(name, described(pg_type))
