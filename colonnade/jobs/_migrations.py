"""From one version of a layout's tables to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade._driver.sql.quoting import quote_identifier, quote_literal
from colonnade.jobs import _ddl
from colonnade.jobs._layouts.base import NOW, WAITS_DDL, times_changed_ddl
from colonnade.jobs._layouts.lost import LOST_DDL
from colonnade.jobs._layouts.rows import KEY, TOAST
from colonnade.jobs._layouts.rows_again import behind_ddl
from colonnade.jobs._layouts.rows_keys import ids_granted_ddl
from colonnade.jobs._layouts.segments_ddl import order_ddl
from colonnade.jobs._layouts.segments_names import Names
from colonnade.jobs._layouts.staging import staging_ddl, staging_granted_ddl

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from colonnade.jobs._layouts.base import Layout


def _vacuum_large_values(layout: Layout) -> str:
    """Version 2: the table of large values is vacuumed as soon as the jobs."""
    return f"ALTER TABLE {layout.definition.table} SET ({TOAST});"


def _time_rows_from_the_adding(layout: Layout) -> str:
    """Version 3."""
    return times_changed_ddl(layout.definition, layout.definition.table)


def _time_ranges_from_the_adding(layout: Layout) -> str:
    """Version 2."""
    return times_changed_ddl(layout.definition, Names(layout.definition).ranges)


def _waiting_apart(table: str) -> str:
    """The column with the time for which jobs wait, and its value for those that do.

    Those whose lease has not ended are in line.
    """
    return (
        f"ALTER TABLE {table} ADD COLUMN {WAITS_DDL};\n"
        f"UPDATE {table} SET job_waits_until = job_ready_at WHERE job_token IS NULL"
        f" AND job_ready_at OPERATOR(pg_catalog.>) {NOW};"
    )


def _let_rows_wait_apart(layout: Layout) -> str:
    """Version 4."""
    table, key = layout.definition.table, quote_identifier(f"{layout.definition.name}_pkey")
    return f"{_waiting_apart(table)}\nALTER TABLE {table} DROP CONSTRAINT {key}, ADD {KEY};"


def _let_ranges_wait_apart(layout: Layout) -> str:
    """Version 3."""
    names = Names(layout.definition)
    return (
        f"{_waiting_apart(names.ranges)}\n"
        f"{_without_index(names)}\n"
        f"CREATE INDEX ON {names.ranges} (job_waits_until, job_priority, job_place, job_first);"
    )


def _give_ranges_keys(layout: Layout) -> str:
    """Version 5."""
    names = Names(layout.definition)
    return (
        f"{_without_index(names)}\n"
        f"{order_ddl(names)}\n"
        f"ALTER TABLE {names.ring} ADD PRIMARY KEY (slot);"
    )


def _without_index(names: Names) -> str:
    """The statement that drops the index of the ranges, whose name may have been cut."""
    drop = (
        "BEGIN EXECUTE pg_catalog.format('DROP INDEX %s', (SELECT indexrelid::pg_catalog.regclass"
        " FROM pg_catalog.pg_index WHERE indrelid OPERATOR(pg_catalog.=)"
        f" {quote_literal(names.ranges)}::pg_catalog.regclass)); END"
    )
    return f"DO {quote_literal(drop)};"


def _add_without_temporary_tables(layout: Layout) -> str:
    """Version 5 of rows, and 4 of segments."""
    definition = layout.definition
    return f"{staging_ddl(definition)}\n{staging_granted_ddl(definition)}"


def _let_rows_wait_behind(layout: Layout) -> str:
    """Version 6."""
    table = layout.definition.table
    return f"ALTER TABLE {table} ADD COLUMN job_after pg_catalog.text;\n{behind_ddl(table)}"


def _write_rows_by_their_keys(layout: Layout) -> str:
    """Version 7: the ids are drawn before the rows are written."""
    return ids_granted_ddl(layout.definition.table)


def _count_lost_leases(table: str) -> str:
    """The column that says how many leases of a job have ended before it was settled."""
    return f"ALTER TABLE {table} ADD COLUMN {LOST_DDL};"


def _count_lost_leases_of_rows(layout: Layout) -> str:
    """Version 8."""
    return _count_lost_leases(layout.definition.table)


def _count_lost_leases_of_ranges(layout: Layout) -> str:
    """Version 6."""
    return _count_lost_leases(Names(layout.definition).ranges)


# Layout -> version -> the statements that lead to the next one.
STEPS: Mapping[str, Mapping[int, Callable[[Layout], str]]] = {
    "rows": {
        1: _vacuum_large_values,
        2: _time_rows_from_the_adding,
        3: _let_rows_wait_apart,
        4: _add_without_temporary_tables,
        5: _let_rows_wait_behind,
        6: _write_rows_by_their_keys,
        7: _count_lost_leases_of_rows,
    },
    "segments": {
        1: _time_ranges_from_the_adding,
        2: _let_ranges_wait_apart,
        3: _add_without_temporary_tables,
        4: _give_ranges_keys,
        5: _count_lost_leases_of_ranges,
    },
}


def steps_ddl(layout: Layout, version: int) -> str:
    """The statements that lead from a version to the present one."""
    definition = layout.definition
    steps = [STEPS[layout.name][at](layout) for at in range(version, layout.version)]
    written = (
        f"UPDATE {_ddl.registry(definition.schema)} SET version = {layout.version}"
        f" WHERE name OPERATOR(pg_catalog.=) {quote_literal(definition.name)};"
    )
    return "\n".join([*steps, written])
