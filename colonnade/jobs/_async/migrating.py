"""Bringing queues that an older version of this package has made up to date."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade.errors import InsufficientPrivilegeError
from colonnade.jobs._async.asking import own_transaction
from colonnade.jobs._async.registry import find_all, lock_schema
from colonnade.jobs._migrations import steps_ddl
from colonnade.jobs._tasks.asyncio import check_pool
from colonnade.jobs.definition import check_identifier
from colonnade.jobs.errors import QueueDefinitionError

if TYPE_CHECKING:
    import colonnade
    from colonnade.jobs._async.registry import Found


async def migrate_queues(pool: colonnade.Pool, *, schema: str = "jobs") -> list[str]:
    """Bring all queues of the schema to this version's tables; return the names of those changed.

    It runs what `migration_ddl` shows, in one transaction under the advisory lock of `create_queue`
    (which migrates the one queue that it is asked for). Jobs stay, and so do leases. Raises
    QueueDefinitionError, and changes nothing, if a queue was made by a newer version, or belongs to
    another role.
    """
    check_pool(pool)
    check_identifier("schema", schema)
    async with own_transaction(pool) as connection:
        await lock_schema(connection, schema)
        old = [found for found in await find_all(connection, schema) if found.is_old]
        for found in old:
            await migrate(connection, found)
        return [found.name for found in old]


async def migration_ddl(pool: colonnade.Pool, *, schema: str = "jobs") -> str:
    """Return the statements that `migrate_queues` would run now; "" if there is nothing to do."""
    check_pool(pool)
    check_identifier("schema", schema)
    async with pool.acquire() as connection:
        found = await find_all(connection, schema, is_read_only=True)
    return "".join(f"{steps_ddl(one.tables(), one.version)}\n" for one in found if one.is_old)


async def migrate(connection: Any, found: Found) -> None:
    """Bring one queue up to date, within a transaction."""
    try:
        await connection.execute(steps_ddl(found.tables(), found.version))
    except InsufficientPrivilegeError as error:
        raise QueueDefinitionError(must_migrate(found)) from error


def must_migrate(found: Found) -> str:
    """The advice for a queue that is too old."""
    return (
        f'the queue "{found.schema}.{found.name}" has the layout {found.layout} {found.version}, '
        f"and this version of Colonnade works with {found.layout} {found.tables().version}: let "
        "the role that owns its tables call jobs.migrate_queues()"
    )
