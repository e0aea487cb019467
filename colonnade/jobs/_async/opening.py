"""Making, opening and dropping queues, and the rights of workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade._quoting import quote_literal
from colonnade.jobs import _ddl
from colonnade.jobs._async.queue import Queue
from colonnade.jobs.definition import (
    LAYOUT,
    LAYOUT_VERSION,
    Definition,
    check_identifier,
    settings_from,
)
from colonnade.jobs.errors import QueueDefinitionError
from colonnade.jobs.retry import Retry

if TYPE_CHECKING:
    from collections.abc import Mapping

    import colonnade

_HAS_TABLE = "SELECT pg_catalog.to_regclass($1) IS NOT NULL"
_HAS_SCHEMA = "SELECT pg_catalog.to_regnamespace($1) IS NOT NULL"
_COLUMNS = (
    "SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull"
    " FROM pg_catalog.pg_attribute AS a"
    " WHERE a.attrelid OPERATOR(pg_catalog.=) $1::pg_catalog.regclass"
    " AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped ORDER BY a.attnum"
)
_OWN_COLUMNS_COUNT = 9


async def create_queue(
    pool: colonnade.Pool,
    name: str,
    payload: Mapping[str, str],
    *,
    schema: str = "jobs",
    retry: Retry | None = None,
    ttl: float | None = None,
    max_length: int | None = None,
    poll: float = 1.0,
) -> Queue:
    """Make a queue, or open it if it exists with the same definition.

    `payload` maps names of columns to SQL types, such as `{"user_id": "int8 NOT NULL"}`. `retry` is
    the policy for jobs that fail; a job that is older than `ttl` seconds is not handed out any
    more; more than `max_length` jobs are refused. `queue_ddl` returns the DDL that this runs.

    The DDL runs in one transaction, under an advisory lock: of several processes that create the
    queue together, one does, and the others open it. Raises QueueDefinitionError, with the
    difference, if the queue exists with another definition.
    """
    definition = Definition(schema, name, dict(payload), retry or Retry(), ttl, max_length)
    async with (
        pool.acquire() as connection,
        connection.transaction(isolation="read_committed"),
    ):
        await connection.execute(
            f"SELECT pg_catalog.pg_advisory_xact_lock({_ddl.lock_key(schema)})"
        )
        found = await _found(connection, schema, name)
        if found is not None:
            await _check_same(connection, definition, found)
        else:
            if not await _is_true(connection, _HAS_SCHEMA, _quoted(schema)):
                await connection.execute(_ddl.schema_ddl(schema))
            if not await _is_true(connection, _HAS_TABLE, _ddl.registry(schema)):
                await connection.execute(_ddl.registry_ddl(schema))
            await connection.execute(_ddl.queue_tables_ddl(definition))
    return Queue(pool, definition, poll)


def queue_ddl(
    name: str,
    payload: Mapping[str, str],
    *,
    schema: str = "jobs",
    retry: Retry | None = None,
    ttl: float | None = None,
    max_length: int | None = None,
) -> str:
    """Return the DDL that `create_queue` runs for a new queue in a new schema."""
    definition = Definition(schema, name, dict(payload), retry or Retry(), ttl, max_length)
    parts = _ddl.schema_ddl(schema), _ddl.registry_ddl(schema), _ddl.queue_tables_ddl(definition)
    return "\n".join(parts) + "\n"


async def open_queue(
    pool: colonnade.Pool, name: str, *, schema: str = "jobs", poll: float = 1.0
) -> Queue:
    """Open a queue that exists: its definition comes from the database.

    A waiting `get` is woken by a notification, and looks for jobs every `poll` seconds besides:
    through a pooler in transaction mode, notifications do not arrive. Raises QueueDefinitionError
    if there is no such queue.
    """
    check_identifier("schema", schema)
    check_identifier("name", name)
    async with pool.acquire() as connection:
        found = await _found(connection, schema, name)
        if found is None:
            raise _missing(schema, name)
        columns = await _payload(connection, Definition(schema, name, {"?": "text"}).table)
    payload = {column: kind for column, (kind, _) in columns.items()}
    return Queue(pool, Definition(schema, name, payload, **settings_from(found)), poll)


async def drop_queue(pool: colonnade.Pool, name: str, *, schema: str = "jobs") -> None:
    """Drop a queue with all its jobs and dead letters, in one transaction.

    Raises QueueDefinitionError if there is no such queue.
    """
    check_identifier("schema", schema)
    check_identifier("name", name)
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute(
            f"SELECT pg_catalog.pg_advisory_xact_lock({_ddl.lock_key(schema)})"
        )
        if await _found(connection, schema, name) is None:
            raise _missing(schema, name)
        await connection.execute(_ddl.drop_ddl(Definition(schema, name, {"?": "text"})))


async def grant_queue(pool: colonnade.Pool, name: str, role: str, *, schema: str = "jobs") -> None:
    """Let a role add and work off the jobs of this queue.

    It gets no right on other queues; it can read the names and rules of all queues of the schema.
    """
    await pool.execute(rights_ddl(name, role, schema=schema))


def rights_ddl(name: str, role: str, *, schema: str = "jobs") -> str:
    """Return the statements that `grant_queue` runs."""
    check_identifier("role", role)
    return _ddl.rights_ddl(Definition(schema, name, {"?": "text"}), role)


async def _is_true(connection: Any, query: str, argument: str) -> bool:
    rows = await connection.fetch_plain(query, argument)
    return bool(rows[0][0])


def _quoted(schema: str) -> str:
    return _ddl.registry(schema).rpartition(".")[0]


async def _found(connection: Any, schema: str, name: str) -> str | None:
    """Return the settings of a queue that exists."""
    registry = _ddl.registry(schema)
    if not await _is_true(connection, _HAS_TABLE, registry):
        return None
    rows = await connection.fetch_plain(
        f"SELECT layout, version, settings::pg_catalog.text FROM {registry}"
        f" WHERE name OPERATOR(pg_catalog.=) $1",
        name,
    )
    if not rows:
        return None
    layout, version, settings = rows[0]
    if (layout, version) != (LAYOUT, LAYOUT_VERSION):
        msg = (
            f'the queue "{schema}.{name}" has the layout {layout} {version}, and this version of '
            f"Colonnade works with {LAYOUT} {LAYOUT_VERSION}"
        )
        raise QueueDefinitionError(msg)
    return str(settings)


async def _payload(connection: Any, table: str) -> dict[str, tuple[str, bool]]:
    """Return name, type and whether it is NOT NULL, of each column of a queue's payload."""
    rows = await connection.fetch_plain(_COLUMNS, table)
    return {row[0]: (row[1], row[2]) for row in rows[_OWN_COLUMNS_COUNT:]}


async def _check_same(connection: Any, wanted: Definition, settings: str) -> None:
    there = await _payload(connection, wanted.table)
    await connection.execute(_ddl.sample_ddl(wanted.payload))
    rows = await connection.fetch_plain(_COLUMNS, "pg_temp.colonnade_wanted")
    asked = {row[0]: (row[1], row[2]) for row in rows}
    differences = [
        f'the column "{name}" is {_spelled(there.get(name))}, not {_spelled(asked.get(name))}'
        for name in dict.fromkeys([*there, *asked])
        if there.get(name) != asked.get(name)
    ]
    if not differences and list(there) != list(asked):
        differences = [f"the columns stand in the order {', '.join(there)}"]
    rules = settings_from(settings)
    differences += [
        f"{option} is {rules[option]}, not {getattr(wanted, option)}"
        for option in rules
        if rules[option] != getattr(wanted, option)
    ]
    if differences:
        msg = f"the queue {wanted} exists with another definition: {'; '.join(differences)}"
        raise QueueDefinitionError(msg)


def _spelled(column: tuple[str, bool] | None) -> str:
    if column is None:
        return "missing"
    return f"{column[0]} NOT NULL" if column[1] else column[0]


def _missing(schema: str, name: str) -> QueueDefinitionError:
    return QueueDefinitionError(
        f"there is no queue {quote_literal(name)} in the schema {quote_literal(schema)}: make it "
        "with create_queue"
    )
