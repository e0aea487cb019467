"""Jobs of the layout `rows` that wait behind another one with their key, which is leased.

They have the key in a column of its own (`job_after`), and wait for a time that never comes: so
nobody steps over them. When the other one is gone, done or a dead letter, they take its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade._driver.sql.quoting import quote_identifier
from colonnade.jobs._layouts.base import DUE, NO_TIME, equal
from colonnade.jobs._layouts.rows_keys import BY_KEY, ON_KEY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colonnade.jobs.definition import Definition

NEVER = "'infinity'::pg_catalog.timestamptz"
IS_BEHIND = "job_after IS NOT NULL"
_ON_AFTER = f"ON CONFLICT (job_after) WHERE {IS_BEHIND}"
_BY_AFTER = BY_KEY.replace("job_key", "job_after")


def behind_ddl(table: str) -> str:
    """The statement that creates the index of the keys behind which jobs wait."""
    return f"CREATE UNIQUE INDEX ON {table} (job_after) WHERE {IS_BEHIND};"


def awaited(job: str, table: str) -> str:
    """An expression: whether another job waits for this one to be gone."""
    behind = f"SELECT FROM {table} AS f WHERE {equal('f.job_after', f'{job}.job_key')}"
    return f"{job}.job_key IS NOT NULL AND EXISTS ({behind})"


def again_sql(table: str, columns: Sequence[str], jobs: str) -> str:
    """The end of a statement that adds jobs, also beside leased jobs with the same keys.

    `jobs` is a query of the jobs, with these columns and at most once each key. The statement
    answers how many it has added. Jobs that are there are locked until the transaction ends: so a
    worker that gets one that waits sees the transaction's changes. Leased jobs are written as they
    were, because the statement tells only of jobs that it writes.
    """
    listed = ", ".join(columns)
    rest = [name for name in columns if name not in {"job_key", "job_waits_until"}]
    payload = ", ".join(rest)
    of_behind = ", ".join(f"w.{name}" for name in rest)
    return (
        f"wanted AS MATERIALIZED ({jobs}),"
        f" placed AS (INSERT INTO {table} AS k ({listed}) SELECT {listed} FROM wanted"
        f" ORDER BY {BY_KEY} {ON_KEY} DO UPDATE SET job_trace = k.job_trace"
        " WHERE k.job_token IS NOT NULL RETURNING job_key, job_token IS NOT NULL AS is_leased),"
        f" behind AS (INSERT INTO {table} ({payload}, job_after, job_waits_until)"
        f" SELECT {of_behind}, w.job_key, {NEVER} FROM wanted AS w JOIN placed AS p"
        f" ON {equal('p.job_key', 'w.job_key')} WHERE p.is_leased"
        f" ORDER BY w.{BY_KEY} {_ON_AFTER} DO NOTHING RETURNING 1)"
        " SELECT (SELECT pg_catalog.count(*) FROM placed WHERE NOT is_leased)"
        " OPERATOR(pg_catalog.+) (SELECT pg_catalog.count(*) FROM behind)"
    )


def free_sql(definition: Definition) -> str:
    """A statement: those behind jobs that are gone get in line; a query of their number.

    If a job with the key was added meanwhile, that one does for both.
    """
    table = definition.table
    payload = ", ".join(quote_identifier(name) for name in definition.payload)
    kept = (
        "job_id, job_ready_at, job_expires_at, job_priority, job_attempts, job_trace, job_errors,"
        f" {payload}"
    )
    first = f"SELECT FROM {table} AS k WHERE {equal('k.job_key', 'f.job_after')}"
    return (
        f"WITH freed AS (DELETE FROM {table} WHERE ctid OPERATOR(pg_catalog.=) ANY (ARRAY("
        f"SELECT f.ctid FROM {table} AS f WHERE f.{IS_BEHIND} AND NOT EXISTS ({first})"
        f" ORDER BY f.{_BY_AFTER} FOR UPDATE OF f SKIP LOCKED))"
        f" RETURNING {kept}, job_after),"
        f" added AS (INSERT INTO {table} ({kept}, job_key, job_waits_until) SELECT {kept},"
        f" job_after, CASE WHEN {DUE} THEN {NO_TIME} ELSE job_ready_at END FROM freed"
        f" ORDER BY {_BY_AFTER} {ON_KEY} DO NOTHING RETURNING 1)"
        " SELECT pg_catalog.count(*) FROM added"
    )
