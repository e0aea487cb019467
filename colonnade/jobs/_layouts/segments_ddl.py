"""The tables of the layout `segments`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade._driver.sql.quoting import quote_literal
from colonnade.jobs._layouts.base import times_ddl
from colonnade.jobs._layouts.lost import LOST_DDL
from colonnade.jobs._layouts.segments_names import KEY, SLOTS
from colonnade.jobs.definition import columns_ddl

if TYPE_CHECKING:
    from colonnade.jobs._layouts.segments_names import Names
    from colonnade.jobs.definition import Definition

# Jobs are never changed, and go with their table: there is nothing to vacuum.
_JOBS_STORAGE = "autovacuum_enabled = false, toast.autovacuum_enabled = false"
# Ranges are few and short-lived. Room in the pages makes a lease a change within its page.
_RANGES_STORAGE = (
    "fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, "
    "autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0, "
    "autovacuum_analyze_threshold = 500"
)


def tables_ddl(definition: Definition, names: Names) -> str:
    """The statements that make them."""
    of_adds = f"{quote_literal(names.adds)}::pg_catalog.regclass"
    made = (
        f"CREATE SEQUENCE {names.ids};\n"
        f"CREATE SEQUENCE {names.adds};\n"
        f"CREATE TABLE {names.ring} (\n"
        "    slot smallint PRIMARY KEY,\n"
        "    turned_at pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.now()\n"
        ");\n"
        f"INSERT INTO {names.ring} (slot) VALUES (0);\n"
        f"CREATE TABLE {names.jobs} (\n"
        "    job_slot smallint NOT NULL,\n"
        f"    job_add bigint NOT NULL DEFAULT pg_catalog.currval({of_adds}),\n"
        f"    job_id bigint NOT NULL DEFAULT {names.next_of(names.ids)},\n"
        "    job_errors pg_catalog.text[],\n"
        f"{columns_ddl(definition.payload)}\n"
        ") PARTITION BY LIST (job_slot);\n"
        f"CREATE INDEX ON {names.jobs} (job_add, job_id);\n"
        f"CREATE TABLE {names.ranges} (\n"
        "    job_slot smallint NOT NULL,\n"
        "    job_priority smallint NOT NULL DEFAULT 0,\n"
        "    job_place bigint NOT NULL,\n"
        "    job_add bigint NOT NULL,\n"
        "    job_first bigint NOT NULL,\n"
        "    job_last bigint NOT NULL,\n"
        "    job_count integer NOT NULL,\n"
        f"    {times_ddl(definition)},\n"
        "    job_attempts smallint NOT NULL DEFAULT 0,\n"
        f"    {LOST_DDL},\n"
        "    job_token bigint,\n"
        "    job_done bigint[],\n"
        "    job_trace pg_catalog.text\n"
        ") PARTITION BY LIST (job_slot);\n"
        f"{order_ddl(names)}\n"
    )
    parts = [
        f"CREATE TABLE {names.slot(number)} PARTITION OF {names.jobs} (job_slot DEFAULT {number})"
        f" FOR VALUES IN ({number}) WITH ({_JOBS_STORAGE});\n"
        f"CREATE TABLE {names.slot_ranges(number)} PARTITION OF {names.ranges}"
        f" FOR VALUES IN ({number}) WITH ({_RANGES_STORAGE});"
        for number in range(SLOTS)
    ]
    return made + "\n".join(parts)


def order_ddl(names: Names) -> str:
    """The statement that makes the index of the order of `get`.

    It is a key, so that a database that publishes all tables lets the ranges be changed.
    """
    key = f"PRIMARY KEY (job_waits_until, {', '.join(KEY)}, job_slot)"
    return f"ALTER TABLE {names.ranges} ADD {key};"


def drop_ddl(names: Names) -> str:
    """The statements that drop them: tables take their parts with them.

    `add` reads the ring before it writes, and `get` begins with the ranges: locks in this order
    let the statements of workers end.
    """
    return (
        f"LOCK TABLE {names.ring}, {names.ranges}, {names.jobs} IN ACCESS EXCLUSIVE MODE;\n"
        f"DROP TABLE {names.jobs}, {names.ranges}, {names.ring};\n"
        f"DROP SEQUENCE {names.ids}, {names.adds};"
    )


def rights_ddl(names: Names, role: str) -> str:
    """The rights to add, to lease and to empty a slot. Jobs are neither changed nor deleted."""
    slots = ", ".join(names.slot(number) for number in range(SLOTS))
    ranges = ", ".join(names.slot_ranges(number) for number in range(SLOTS))
    return (
        f"GRANT SELECT, INSERT ON {names.jobs} TO {role};\n"
        f"GRANT INSERT, TRUNCATE ON {slots} TO {role};\n"
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON {names.ranges} TO {role};\n"
        f"GRANT TRUNCATE ON {ranges} TO {role};\n"
        f"GRANT SELECT, UPDATE ON {names.ring} TO {role};\n"
        f"GRANT USAGE ON SEQUENCE {names.ids}, {names.adds} TO {role};"
    )
