"""The queues of a schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade.jobs import _ddl
from colonnade.jobs._async.registry import look_at
from colonnade.jobs._tasks.asyncio import check_pool
from colonnade.jobs.definition import check_identifier, settings_from
from colonnade.jobs.queue_info import QueueInfo

if TYPE_CHECKING:
    import colonnade


async def list_queues(pool: colonnade.Pool, *, schema: str = "jobs") -> list[QueueInfo]:
    """Return the queues of the schema by name; none if the schema has none, or does not exist.

    It reads the table of queues, which every worker may read, and looks at no queue's jobs: those
    of other versions of Colonnade are listed, too. Raises QueueDefinitionError for a table that
    a stranger made: `colonnade docs security` names the roles that it trusts.
    """
    check_pool(pool)
    check_identifier("schema", schema)
    async with pool.acquire() as connection:
        place = await look_at(connection, schema, is_read_only=True)
        if not place.has_registry:
            return []
        rows = await connection.fetch_plain(
            "SELECT name, layout, version, settings::pg_catalog.text, created_at"
            f' FROM {_ddl.registry(schema)} ORDER BY name COLLATE "C"'
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
