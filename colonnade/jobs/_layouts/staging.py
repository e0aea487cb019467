"""The way of jobs that have values beside them: through another table.

For a small call it is a table beside the queue's, which COPY fills, and from which the statement
that adds the jobs deletes them in the same transaction: so nobody else sees them. It is not logged:
nothing in it outlives a transaction. A temporary table for each call would leave dead rows in the
catalogs, which make all sessions plan more slowly. A large call uses one nevertheless: that is
faster for each row, and its file goes when it is done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade._driver.sql.quoting import quote_identifier, quote_literal
from colonnade.jobs._add_arguments import ARRAYS_TABLE, LIMITS, TYPES
from colonnade.jobs._layouts.base import equal
from colonnade.jobs.definition import STAGING_SUFFIX, STORED_COLUMNS

if TYPE_CHECKING:
    from colonnade.jobs._add_arguments import AddOptions
    from colonnade.jobs.definition import Definition

_TEMPORARY = "colonnade_jobs_staging"
_ORDINAL = "job_ordinal bigint GENERATED ALWAYS AS IDENTITY"
_STORAGE = (
    "autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, "
    "autovacuum_vacuum_cost_delay = 0, toast.autovacuum_vacuum_scale_factor = 0, "
    "toast.autovacuum_vacuum_threshold = 5000, toast.autovacuum_vacuum_cost_delay = 0"
)
_THIS_CALL = equal("job_call", "pg_catalog.txid_current()")


def staging_ddl(definition: Definition) -> str:
    """The statements that make it. LIKE has the defaults, for columns that a source lacks."""
    table = definition.staging_table
    call = "job_call bigint NOT NULL DEFAULT pg_catalog.txid_current()"
    return (
        f"CREATE UNLOGGED TABLE {table} (LIKE {definition.table} INCLUDING DEFAULTS)"
        f" WITH ({_STORAGE});\n"
        f"ALTER TABLE {table} {_without_own(definition)}, ADD COLUMN {call} CHECK ({_THIS_CALL}),"
        f" ADD COLUMN {_ORDINAL},"
        " ADD PRIMARY KEY (job_call, job_ordinal);"
    )


def staging_rights_ddl(definition: Definition, role: str) -> str:
    """The rights that adding with a key, a delay, a priority or a ttl needs; `role` is quoted."""
    return f"GRANT SELECT, INSERT, DELETE ON {definition.staging_table} TO {role};"


def staging_granted_ddl(definition: Definition) -> str:
    """The statement that gives these rights to the roles that may already add to the queue."""
    grant = f"GRANT SELECT, INSERT, DELETE ON {definition.staging_table}"
    return granted_ddl(definition.table, quote_literal(grant))


def granted_ddl(table: str, grant: str) -> str:
    """The statement that grants something to all roles that may add to a table.

    `grant` is an expression of the statement without its end, which names the roles.
    """
    body = (
        "BEGIN EXECUTE pg_catalog.concat((SELECT pg_catalog.string_agg(pg_catalog.concat("
        f"{grant}, ' TO ', CASE WHEN a.grantee OPERATOR(pg_catalog.=) 0::pg_catalog.oid"
        " THEN 'PUBLIC' ELSE a.grantee::pg_catalog.regrole::pg_catalog.text END), '; ')"
        " FROM pg_catalog.pg_class AS c, pg_catalog.aclexplode(c.relacl) AS a"
        f" WHERE c.oid OPERATOR(pg_catalog.=) {quote_literal(table)}::pg_catalog.regclass"
        " AND a.privilege_type OPERATOR(pg_catalog.=) 'INSERT')); END"
    )
    return f"DO {quote_literal(body)};"


def into(definition: Definition, options: AddOptions) -> tuple[str, str]:
    """Schema and table of the COPY."""
    if options.is_large:
        return "pg_temp", _TEMPORARY
    return definition.schema, definition.name + STAGING_SUFFIX


def makes(definition: Definition, options: AddOptions) -> str:
    """The statements that make temporary tables for a large call: of the jobs, and of arrays."""
    if not options.is_large:
        return ""
    made = (
        f"CREATE TEMPORARY TABLE pg_temp.{_TEMPORARY} (LIKE {definition.table} INCLUDING DEFAULTS);"
        f" ALTER TABLE pg_temp.{_TEMPORARY} {_without_own(definition)}, ADD COLUMN {_ORDINAL};"
    )
    if options.arrays:
        listed = ", ".join(
            f"job_{name} {TYPES[name]}{LIMITS.get(name, '')}" for name in options.arrays
        )
        made += f" CREATE TEMPORARY TABLE pg_temp.{ARRAYS_TABLE} ({listed}, {_ORDINAL});"
    return made


def drops(options: AddOptions) -> str:
    """The statements that drop them."""
    if not options.is_large:
        return ""
    dropped = f"DROP TABLE pg_temp.{_TEMPORARY};"
    return dropped + f" DROP TABLE pg_temp.{ARRAYS_TABLE};" if options.arrays else dropped


def staged(definition: Definition, options: AddOptions, arguments: list[object]) -> tuple[str, str]:
    """The rows of this call as `s`, which the first text defines, and `b` beside them.

    The second text joins them. Arrays of a small call join the arguments of the statement.
    """
    if options.is_large:
        rows = f"s AS NOT MATERIALIZED (SELECT * FROM pg_temp.{_TEMPORARY})"
        if not options.arrays:
            return rows, "s"
        joined = equal("s.job_ordinal", "b.job_ordinal")
        return rows, f"s JOIN pg_temp.{ARRAYS_TABLE} AS b ON {joined}"
    payload = ", ".join(quote_identifier(name) for name in definition.payload)
    taken = (
        f"AS (DELETE FROM {definition.staging_table} WHERE {_THIS_CALL}"
        f" RETURNING job_ordinal, {payload})"
    )
    if not options.arrays:
        return f"s {taken}", "s"
    # Others draw ordinals meanwhile.
    rows = (
        f"taken {taken}, s AS (SELECT {payload}, pg_catalog.row_number() OVER"
        " (ORDER BY job_ordinal) AS job_ordinal FROM taken)"
    )
    calls = []
    for name, values in options.arrays.items():
        arguments.append(values)
        calls.append(f"pg_catalog.unnest(${len(arguments)}::{TYPES[name]}[])")
    names = ", ".join(f"job_{name}" for name in options.arrays)
    listed = f"ROWS FROM ({', '.join(calls)}) WITH ORDINALITY AS b ({names}, job_ordinal)"
    return rows, f"s JOIN {listed} ON {equal('s.job_ordinal', 'b.job_ordinal')}"


def _without_own(definition: Definition) -> str:
    # A queue that is being migrated may not have all of them yet.
    return ", ".join(f"DROP COLUMN IF EXISTS {name}" for name in STORED_COLUMNS[definition.layout])
