"""Jobs of the layout `rows` that wait behind another one with their key, which is leased.

They have the key in a column of its own (`job_after`), and wait for a time that never comes: so
nobody steps over them. When the other one is gone, done or a dead letter, they take its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade._quoting import quote_identifier
from colonnade.jobs._layouts.base import DUE, NO_TIME, equal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colonnade.jobs.definition import Definition

NEVER = "'infinity'::pg_catalog.timestamptz"
IS_BEHIND = "job_after IS NOT NULL"
_COLLATED = 'COLLATE pg_catalog."C"'
_OF_AFTER = f"ON CONFLICT (job_after) WHERE {IS_BEHIND} DO NOTHING"
_OF_KEY = "ON CONFLICT (job_key) WHERE job_key IS NOT NULL DO NOTHING"


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
    answers how many it has added, and how many were in doubt: others have added their keys
    meanwhile. Then all of it must be undone, and tried again, so that nothing is locked while it
    waits. Jobs that are there are locked until the transaction ends: so a worker that gets one
    that waits sees what the transaction has written. All who add so lock in one order.
    """
    listed = ", ".join(columns)
    rest = [name for name in columns if name not in {"job_key", "job_waits_until"}]
    payload = ", ".join(rest)
    order = f"ORDER BY job_key {_COLLATED}"
    return (
        f"wanted AS MATERIALIZED ({jobs}),"
        " present AS MATERIALIZED (SELECT job_key, job_token FROM"
        f" {table} WHERE job_key OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT job_key FROM wanted))"
        f" {order} FOR UPDATE),"
        " absent AS MATERIALIZED (SELECT * FROM wanted AS w WHERE NOT EXISTS"
        f" (SELECT FROM present AS p WHERE {equal('p.job_key', 'w.job_key')})),"
        f" added AS (INSERT INTO {table} ({listed}) SELECT {listed} FROM absent {order}"
        f" {_OF_KEY} RETURNING 1),"
        f" behind AS (INSERT INTO {table} ({payload}, job_after, job_waits_until)"
        f" SELECT {payload}, job_key, {NEVER} FROM wanted AS w WHERE EXISTS (SELECT FROM present"
        f" AS p WHERE {equal('p.job_key', 'w.job_key')} AND p.job_token IS NOT NULL)"
        f" {order} {_OF_AFTER} RETURNING 1)"
        " SELECT (SELECT pg_catalog.count(*) FROM added) OPERATOR(pg_catalog.+)"
        " (SELECT pg_catalog.count(*) FROM behind),"
        " (SELECT pg_catalog.count(*) FROM absent) OPERATOR(pg_catalog.-)"
        " (SELECT pg_catalog.count(*) FROM added)"
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
        f" ORDER BY f.job_after {_COLLATED} FOR UPDATE OF f SKIP LOCKED))"
        f" RETURNING {kept}, job_after),"
        f" added AS (INSERT INTO {table} ({kept}, job_key, job_waits_until) SELECT {kept},"
        f" job_after, CASE WHEN {DUE} THEN {NO_TIME} ELSE job_ready_at END FROM freed"
        f" ORDER BY job_after {_COLLATED} {_OF_KEY} RETURNING 1)"
        " SELECT pg_catalog.count(*) FROM added"
    )
