# Generated from colonnade/jobs/_async/registry.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""The database's record of a queue: its row in the table of queues, and its payload."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from colonnade._driver.sql.quoting import quote_literal
from colonnade.jobs import _ddl
from colonnade.jobs._layouts import LAYOUTS, layout_of
from colonnade.jobs._table_owner import PLACE, place_from
from colonnade.jobs.definition import Definition, settings_from
from colonnade.jobs.errors import QueueDefinitionError

if TYPE_CHECKING:
    from colonnade.jobs._layouts.base import Layout
    from colonnade.jobs._table_owner import Place

COLUMNS = (
    "SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull"
    " FROM pg_catalog.pg_attribute AS a"
    " WHERE a.attrelid OPERATOR(pg_catalog.=) $1::pg_catalog.regclass"
    " AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped ORDER BY a.attnum"
)


@dataclass(frozen=True)
class Found:
    """A queue that exists, in a version that this package knows."""

    schema: str
    name: str
    layout: str
    version: int
    settings: str

    @property
    def is_old(self) -> bool:
        """Whether it must be migrated before it is used."""
        return self.version < LAYOUTS[self.layout].version

    def definition(self, payload: dict[str, str]) -> Definition:
        """The queue as it was declared."""
        rules: dict[str, Any] = {**settings_from(self.settings), "layout": self.layout}
        return Definition(self.schema, self.name, payload, **rules)

    def tables(self) -> Layout:
        """Its tables, where the payload does not matter."""
        return layout_of(self.definition({"?": "text"}))


def lock_schema(connection: Any, schema: str) -> None:
    """Wait until nobody else makes, migrates or drops queues of the schema in a transaction."""
    connection.execute(f"SELECT pg_catalog.pg_advisory_xact_lock({_ddl.lock_key(schema)})")


def look_at(connection: Any, schema: str, *, is_read_only: bool = False) -> Place:
    """The state of the schema. Raises QueueDefinitionError if a stranger made its table."""
    rows = connection.fetch_plain(PLACE, schema)
    return place_from(rows, schema, is_read_only=is_read_only)


def find(connection: Any, schema: str, name: str, *, is_read_only: bool = False) -> Found | None:
    """Return a queue that exists.

    Raises QueueDefinitionError for one that is too new, and for a stranger's table.
    """
    place = look_at(connection, schema, is_read_only=is_read_only)
    if not place.has_registry:
        return None
    rows = connection.fetch_plain(
        "SELECT layout, version, settings::pg_catalog.text FROM"
        f" {_ddl.registry(schema)} WHERE name OPERATOR(pg_catalog.=) $1",
        name,
    )
    return _known(Found(schema, name, *rows[0])) if rows else None


def find_all(connection: Any, schema: str, *, is_read_only: bool = False) -> list[Found]:
    """Return all queues of the schema.

    Raises QueueDefinitionError if one is too new, and for a stranger's table.
    """
    place = look_at(connection, schema, is_read_only=is_read_only)
    if not place.has_registry:
        return []
    rows = connection.fetch_plain(
        "SELECT name, layout, version, settings::pg_catalog.text"
        f' FROM {_ddl.registry(schema)} ORDER BY name COLLATE "C"'
    )
    return [_known(Found(schema, *row)) for row in rows]


def payload_of(connection: Any, layout: Layout) -> dict[str, tuple[str, bool]]:
    """Return name, type and whether it is NOT NULL, of each column of a queue's payload."""
    rows = connection.fetch_plain(COLUMNS, layout.definition.table)
    own = layout.definition.own_columns
    return {name: (kind, is_needed) for name, kind, is_needed in rows if name not in own}


def missing(schema: str, name: str) -> QueueDefinitionError:
    """The error for a queue that is not there."""
    return QueueDefinitionError(
        f"there is no queue {quote_literal(name)} in the schema {quote_literal(schema)}: make it "
        "with create_queue"
    )


def _known(found: Found) -> Found:
    known = LAYOUTS.get(found.layout)
    if known is not None and found.version <= known.version:
        return found
    listed = " and ".join(f"{name} {layout.version}" for name, layout in LAYOUTS.items())
    msg = (
        f'the queue "{found.schema}.{found.name}" has the layout {found.layout} {found.version}, '
        f"and this version of Colonnade works with {listed}: use the version that made the queue, "
        "or a newer one"
    )
    raise QueueDefinitionError(msg)
