# Generated from colonnade/jobs/_async/listing.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""The queues of a schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade.jobs import _ddl
from colonnade.jobs._tasks.threads import check_pool
from colonnade.jobs.definition import check_identifier, settings_from
from colonnade.jobs.queue_info import QueueInfo

if TYPE_CHECKING:
    import colonnade

_HAS_TABLE = "SELECT pg_catalog.to_regclass($1) IS NOT NULL"


def list_queues(pool: colonnade.sync.Pool, *, schema: str = "jobs") -> list[QueueInfo]:
    """Return the queues of the schema by name; none if the schema has none, or does not exist.

    It reads the table of queues, which every worker may read, and looks at no queue's jobs: those
    of other versions of Colonnade are listed, too.
    """
    check_pool(pool)
    check_identifier("schema", schema)
    registry = _ddl.registry(schema)
    with pool.acquire() as connection:
        rows = connection.fetch_plain(_HAS_TABLE, registry)
        if not rows[0][0]:
            return []
        rows = connection.fetch_plain(
            "SELECT name, layout, version, settings::pg_catalog.text, created_at"
            f' FROM {registry} ORDER BY name COLLATE "C"'
        )
    found = []
    for name, layout, version, settings, created_at in rows:
        rules = settings_from(settings)
        found.append(
            QueueInfo(
                *(schema, name, layout, version),
                *(rules["retry"], rules.get("ttl"), rules.get("max_length")),
                created_at,
            )
        )
    return found
