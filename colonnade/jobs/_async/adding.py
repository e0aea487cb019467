"""Adding a table of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade.errors import InterfaceError
from colonnade.jobs import _staged
from colonnade.jobs._sources import BESIDE, STAGING, evident_names, records_of
from colonnade.jobs.definition import OWN_COLUMNS
from colonnade.jobs.errors import QueueFullError

if TYPE_CHECKING:
    from colonnade.jobs._sources import Beside
    from colonnade.jobs._statements import Statements
    from colonnade.jobs.definition import Definition


async def add_jobs(
    connection: Any, definition: Definition, statements: Statements, table: Any, beside: Beside
) -> int:
    """Add the jobs within the connection's open transaction; return how many were added."""
    names = evident_names(table)
    if definition.max_length is not None:
        # Two callers that count at once would both find room.
        await connection.fetch_plain(
            "SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended($1, 0))",
            f"colonnade.jobs {definition}",
        )
    if beside.is_plain and (names is not None or records_of(table) is not None):
        _check_names(names or ())
        count = await _copied(connection, definition, table, definition.schema, definition.name)
    else:
        count = await _staged_jobs(connection, definition, table, beside)
    if definition.max_length is not None:
        rows = await connection.fetch_plain(statements.excess, definition.max_length + 1)
        if rows[0][0] > definition.max_length:
            raise QueueFullError(str(definition), definition.max_length)
    if count:
        await connection.fetch_plain(statements.notify, definition.channel)
    return count


def _check_names(names: Any) -> None:
    for name in names:
        if name in OWN_COLUMNS:
            msg = (
                f"the jobs have a column {name}, which is the queue's own: leave it out; delay, "
                "priority, ttl and key are arguments"
            )
            raise InterfaceError(msg)


async def _copied(
    connection: Any, definition: Definition, source: Any, schema: str, table: str
) -> int:
    records = records_of(source)
    if records is None:
        status = await connection.copy_columns_to_table(table, source, schema_name=schema)
    else:
        columns = list(definition.payload)
        status = await connection.copy_records_to_table(
            table, records=records, columns=columns, schema_name=schema
        )
    return int(status.split()[-1])


async def _staged_jobs(connection: Any, definition: Definition, source: Any, beside: Beside) -> int:
    await connection.execute(_staged.open_sql(definition, beside))
    count = await _copied(connection, definition, source, "pg_temp", STAGING)
    if beside.arrays:
        columns = {f"job_{name}": values for name, values in beside.arrays.items()}
        status = await connection.copy_columns_to_table(BESIDE, columns, schema_name="pg_temp")
        if int(status.split()[-1]) != count:
            listed = ", ".join(beside.arrays)
            msg = f"there are {count} jobs, and {status.split()[-1]} values for each of {listed}"
            raise InterfaceError(msg)
    sql, arguments = _staged.insert_sql(definition, beside)
    status = await connection.execute(sql, *arguments)
    await connection.execute(_staged.close_sql(beside))
    return int(status.split()[-1])
