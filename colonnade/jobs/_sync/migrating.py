# Generated from colonnade/jobs/_async/migrating.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""Bringing queues that an older version of this package has made up to date."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade.errors import InsufficientPrivilegeError
from colonnade.jobs._migrations import steps_ddl
from colonnade.jobs._sync.asking import own_transaction
from colonnade.jobs._sync.registry import find_all, lock_schema
from colonnade.jobs._tasks.threads import check_pool
from colonnade.jobs.definition import check_identifier
from colonnade.jobs.errors import QueueDefinitionError

if TYPE_CHECKING:
    import colonnade
    from colonnade.jobs._sync.registry import Found


def migrate_queues(pool: colonnade.sync.Pool, *, schema: str = "jobs") -> list[str]:
    """Bring all queues of the schema to this version's tables; return the names of those changed.

    It runs what `migration_ddl` shows, in one transaction under the advisory lock of `create_queue`
    (which migrates the one queue that it is asked for). Jobs stay, and so do leases. Raises
    QueueDefinitionError, and changes nothing, if a queue was made by a newer version, or belongs to
    another role.
    """
    check_pool(pool)
    check_identifier("schema", schema)
    with own_transaction(pool) as connection:
        lock_schema(connection, schema)
        old = [found for found in find_all(connection, schema) if found.is_old]
        for found in old:
            migrate(connection, found)
        return [found.name for found in old]


def migration_ddl(pool: colonnade.sync.Pool, *, schema: str = "jobs") -> str:
    """Return the statements that `migrate_queues` would run now; "" if there is nothing to do."""
    check_pool(pool)
    check_identifier("schema", schema)
    with pool.acquire() as connection:
        found = find_all(connection, schema, is_read_only=True)
    return "".join(f"{steps_ddl(one.tables(), one.version)}\n" for one in found if one.is_old)


def migrate(connection: Any, found: Found) -> None:
    """Bring one queue up to date, within a transaction."""
    try:
        connection.execute(steps_ddl(found.tables(), found.version))
    except InsufficientPrivilegeError as error:
        raise QueueDefinitionError(must_migrate(found)) from error


def must_migrate(found: Found) -> str:
    """The advice for a queue that is too old."""
    return (
        f'the queue "{found.schema}.{found.name}" has the layout {found.layout} {found.version}, '
        f"and this version of Colonnade works with {found.layout} {found.tables().version}: let "
        "the role that owns its tables call jobs.migrate_queues()"
    )
