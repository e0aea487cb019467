"""Making, opening and dropping queues, and the rights of workers."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from colonnade.errors import DeadlockDetectedError, DuplicateTableError
from colonnade.jobs import _ddl
from colonnade.jobs._async.asking import own_transaction
from colonnade.jobs._async.migrating import migrate, must_migrate
from colonnade.jobs._async.queue import Queue
from colonnade.jobs._async.registry import (
    COLUMNS,
    find,
    lock_schema,
    look_at,
    missing,
    payload_of,
)
from colonnade.jobs._layouts import layout_of
from colonnade.jobs._tasks.asyncio import check_pool
from colonnade.jobs.definition import (
    Definition,
    as_payload,
    check_identifier,
    check_new,
    settings_from,
)
from colonnade.jobs.errors import QueueDefinitionError
from colonnade.jobs.retry import Retry

if TYPE_CHECKING:
    from collections.abc import Mapping

    import colonnade
    from colonnade.jobs._async.registry import Found
    from colonnade.jobs.definition import LayoutName

_MAY_ADD = (
    "SELECT pg_catalog.has_table_privilege("
    "$1::pg_catalog.text::pg_catalog.name, $2::pg_catalog.text, 'INSERT')"
)
# The times that a drop may be chosen to end a deadlock with the statements of workers.
_DROPS_MOST = 5


async def create_queue(
    pool: colonnade.Pool,
    name: str,
    payload: Mapping[str, str],
    *,
    schema: str = "jobs",
    retry: Retry | None = None,
    ttl: float | None = None,
    max_length: int | None = None,
    layout: LayoutName = "rows",
    poll: float = 1.0,
    notify: bool = True,
) -> Queue:
    """Make a queue, or open it if it exists with the same definition.

    `payload` maps names of columns to SQL types, such as `{"user_id": "int8 NOT NULL"}`. `retry` is
    the policy for jobs that fail; a job that is older than `ttl` seconds is not handed out any
    more; more than `max_length` jobs are refused. `layout` is how the jobs are stored: "segments"
    is for high rates and for databases with long transactions, and has no unique keys. `queue_ddl`
    returns the DDL that this runs. `poll` and `notify` are for this object, as in `open_queue`.

    The DDL runs in one transaction, under an advisory lock: of several processes that create the
    queue together, one does, and the others open it. A queue that an older version of this package
    has made is migrated. Raises QueueDefinitionError, with the
    difference, if the queue exists with another definition.
    """
    check_pool(pool)
    definition = Definition(
        schema, name, as_payload(payload), retry or Retry(), ttl, max_length, layout
    )
    async with own_transaction(pool) as connection:
        await lock_schema(connection, schema)
        found = await find(connection, schema, name)
        if found is None:
            await _make(connection, definition)
        else:
            await _check_same(connection, definition, found)
            if found.is_old:
                await migrate(connection, found)
    return Queue(pool, definition, poll, notify=notify)


async def _make(connection: Any, definition: Definition) -> None:
    check_new(definition)
    schema = definition.schema
    place = await look_at(connection, schema)
    if not place.has_schema:
        await connection.execute(_ddl.schema_ddl(schema))
    if not place.has_registry:
        await connection.execute(_ddl.registry_ddl(schema))
    try:
        await connection.execute(_ddl.queue_tables_ddl(layout_of(definition)))
    except DuplicateTableError as error:
        msg = (
            f"the queue {definition} needs the name of a table that is there already, and is not "
            f"its own: choose another name or schema ({error})"
        )
        raise QueueDefinitionError(msg) from error


def queue_ddl(
    name: str,
    payload: Mapping[str, str],
    *,
    schema: str = "jobs",
    retry: Retry | None = None,
    ttl: float | None = None,
    max_length: int | None = None,
    layout: LayoutName = "rows",
) -> str:
    """Return the DDL that `create_queue` runs for a new queue in a new schema."""
    definition = Definition(
        schema, name, as_payload(payload), retry or Retry(), ttl, max_length, layout
    )
    check_new(definition)
    tables = _ddl.queue_tables_ddl(layout_of(definition))
    return "\n".join([_ddl.schema_ddl(schema), _ddl.registry_ddl(schema), tables]) + "\n"


async def open_queue(
    pool: colonnade.Pool,
    name: str,
    *,
    schema: str = "jobs",
    poll: float = 1.0,
    notify: bool = True,
) -> Queue:
    """Open a queue that exists: its definition comes from the database.

    A waiting `get` is woken by a notification, and looks for jobs every `poll` seconds besides:
    through a pooler in transaction mode, notifications do not arrive. With `notify=False`, the
    verbs of this object notify nobody: waiting workers find its jobs when they look. Raises
    QueueDefinitionError if there is no such queue.
    """
    check_pool(pool)
    check_identifier("schema", schema)
    check_identifier("name", name)
    async with pool.acquire() as connection:
        found = await find(connection, schema, name, is_read_only=True)
        if found is None:
            raise missing(schema, name)
        if found.is_old:
            raise QueueDefinitionError(must_migrate(found))
        columns = await payload_of(connection, found.tables())
    payload = {column: kind for column, (kind, _) in columns.items()}
    return Queue(pool, found.definition(payload), poll, notify=notify)


async def drop_queue(pool: colonnade.Pool, name: str, *, schema: str = "jobs") -> None:
    """Drop a queue with all its jobs and dead letters, in one transaction.

    Raises QueueDefinitionError if there is no such queue.
    """
    check_pool(pool)
    check_identifier("schema", schema)
    check_identifier("name", name)
    for _ in range(_DROPS_MOST - 1):
        # A worker's statement may hold a lock that the drop needs, and wait for one of the drop's.
        with suppress(DeadlockDetectedError):
            return await _drop(pool, schema, name)
    return await _drop(pool, schema, name)


async def _drop(pool: colonnade.Pool, schema: str, name: str) -> None:
    async with own_transaction(pool) as connection:
        await lock_schema(connection, schema)
        found = await find(connection, schema, name)
        if found is None:
            raise missing(schema, name)
        await connection.execute(_ddl.drop_ddl(found.tables()))


async def grant_queue(pool: colonnade.Pool, name: str, role: str, *, schema: str = "jobs") -> None:
    """Let a role add and process the jobs of this queue.

    It gets no right on other queues; it can read the names and rules of all queues of the schema.
    """
    check_pool(pool)
    check_identifier("role", role)
    check_identifier("schema", schema)
    check_identifier("name", name)
    async with pool.acquire() as connection:
        found = await find(connection, schema, name)
        if found is None:
            raise missing(schema, name)
        layout = found.tables()
        await connection.execute(_ddl.rights_ddl(layout, role))
        # Without the right to grant, GRANT grants nothing and only warns.
        rows = await connection.fetch_plain(_MAY_ADD, role, layout.definition.dead_table)
        if not rows[0][0]:
            msg = (
                f"the role of this connection may not grant rights on the queue "
                f"{layout.definition}: let the role that owns its tables call grant_queue"
            )
            raise QueueDefinitionError(msg)


def rights_ddl(name: str, role: str, *, schema: str = "jobs", layout: LayoutName = "rows") -> str:
    """Return the statements that `grant_queue` runs for a queue of this layout."""
    check_identifier("role", role)
    definition = Definition(schema, name, {"?": "text"}, layout=layout)
    return _ddl.rights_ddl(layout_of(definition), role)


async def _check_same(connection: Any, wanted: Definition, found: Found) -> None:
    there = await payload_of(connection, found.tables())
    await connection.execute(_ddl.sample_ddl(wanted.payload))
    rows = await connection.fetch_plain(COLUMNS, "pg_temp.colonnade_wanted")
    asked = {row[0]: (row[1], row[2]) for row in rows}
    differences = [
        _difference(name, there.get(name), asked.get(name))
        for name in dict.fromkeys([*there, *asked])
        if there.get(name) != asked.get(name)
    ]
    if not differences and list(there) != list(asked):
        differences = [f"the columns stand in the order {', '.join(there)}"]
    rules = {**settings_from(found.settings), "layout": found.layout}
    differences += [
        f"{option} is {rules[option]}, not {getattr(wanted, option)}"
        for option in rules
        if rules[option] != getattr(wanted, option)
    ]
    if differences:
        msg = (
            f"the queue {wanted} exists with another definition: {'; '.join(differences)}. "
            "open_queue opens it as it is, and another definition needs another name"
        )
        raise QueueDefinitionError(msg)


def _difference(name: str, there: tuple[str, bool] | None, asked: tuple[str, bool] | None) -> str:
    if there is None:
        return f'it has no column "{name}"'
    if asked is None:
        return f'it has a column "{name}", {_spelled(there)}, too'
    return f'the column "{name}" is {_spelled(there)}, not {_spelled(asked)}'


def _spelled(column: tuple[str, bool]) -> str:
    return f"{column[0]} NOT NULL" if column[1] else column[0]
