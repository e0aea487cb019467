"""Adding a table of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade._driver.exact_dates import exact_dates
from colonnade._driver.plain_values import plain_values
from colonnade._words.shown import shown
from colonnade.errors import InterfaceError, InterfaceValueError
from colonnade.jobs._add_arguments import ARRAYS_TABLE, evident_names, records_of
from colonnade.jobs.errors import QueueFullError
from colonnade.jobs.observing import tell

if TYPE_CHECKING:
    from colonnade.jobs._add_arguments import AddOptions
    from colonnade.jobs._layouts.base import Layout, Route
    from colonnade.jobs.definition import Definition


async def add_jobs(connection: Any, layout: Layout, table: Any, options: AddOptions) -> int:
    """Add the jobs within the connection's open transaction; return how many were added."""
    definition = layout.definition
    names = evident_names(table)
    if definition.max_length is not None:
        await _lock_length(connection, definition)
    is_evident = names is not None or records_of(table) is not None
    route = layout.route(options, is_evident=is_evident)
    _check_names(names or (), definition)
    count = await _routed(connection, definition, route, table, options)
    if definition.max_length is not None:
        rows = await connection.fetch_plain(layout.excess, definition.max_length + 1)
        if rows[0][0] > definition.max_length:
            raise QueueFullError(str(definition), definition.max_length)
    tell(definition, "added", count)
    return count


async def _lock_length(connection: Any, definition: Definition) -> None:
    """Wait for other adders: two that count at once would both find room."""
    rows = await connection.fetch_plain(
        "SELECT pg_catalog.current_setting('transaction_isolation'),"
        " pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended($1, 0))::pg_catalog.text",
        f"colonnade.jobs {definition}",
    )
    if rows[0][0] in {"repeatable read", "serializable"}:
        msg = (
            f"the queue {definition} has a max_length, and a transaction of {rows[0][0].upper()} "
            "does not see the jobs that others have added since it began: add in one of READ "
            "COMMITTED"
        )
        raise InterfaceError(msg)


def _check_names(names: Any, definition: Definition) -> None:
    for name in names:
        if name in definition.own_columns:
            msg = (
                f"the jobs have a column {name}, which is the queue's own: leave it out; delay, "
                "priority, ttl and key are arguments"
            )
            raise InterfaceValueError(msg)
        # The server would list the queue's own columns, too, and a table of its layout.
        if name not in definition.payload:
            known = ", ".join(f'"{column}"' for column in definition.payload)
            msg = f"the queue {definition} has no column {shown(name)}: its payload has {known}"
            raise InterfaceValueError(msg)


async def _routed(
    connection: Any, definition: Definition, route: Route, source: Any, options: AddOptions
) -> int:
    if route.makes:
        await connection.execute(route.makes)
    opened = (await connection.fetch_plain(route.opens))[0] if route.opens else ()
    count = await _copied(connection, definition, source, *route.into(opened))
    lengths = {name: len(values) for name, values in options.arrays.items()}
    if lengths and options.is_large:
        columns = {f"job_{name}": values for name, values in options.arrays.items()}
        with plain_values(connection):
            status = await connection.copy_columns_to_table(
                ARRAYS_TABLE, columns, schema_name="pg_temp"
            )
        lengths = dict.fromkeys(lengths, int(status.split()[-1]))
    for name, length in lengths.items():
        if length != count:
            msg = f"there are {count} jobs, and {length} values for each of {name}"
            raise InterfaceValueError(msg)
    if route.files is not None:
        sql, arguments = route.files(opened)
        rows = await connection.fetch_plain(sql, *arguments)
        if route.counts_filed:
            count = rows[0][0]
    if route.drops:
        await connection.execute(route.drops)
    return count


async def _copied(
    connection: Any, definition: Definition, source: Any, schema: str, table: str
) -> int:
    records = records_of(source)
    if records is None:
        status = await connection.copy_columns_to_table(table, source, schema_name=schema)
    else:
        columns = list(definition.payload)
        with exact_dates(connection):
            status = await connection.copy_records_to_table(
                table, records=records, columns=columns, schema_name=schema
            )
    return int(status.split()[-1])
