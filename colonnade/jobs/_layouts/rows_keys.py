"""Unique keys of the layout `rows`: all that wait for several of them wait in one order.

Two adders of the same keys, each in the order of its own jobs, would wait in a circle. So rows are
written in the order of their keys; their ids are drawn before that, in the order of the jobs.
"""

from __future__ import annotations

from colonnade._driver.sql.quoting import quote_literal
from colonnade.jobs._layouts.staging import granted_ddl

BY_KEY = 'job_key COLLATE pg_catalog."C"'
ON_KEY = "ON CONFLICT (job_key) WHERE job_key IS NOT NULL"


def next_id(table: str) -> str:
    """An expression: the next id. PostgreSQL has named the sequence, which is looked up once."""
    return f"pg_catalog.nextval((SELECT {_sequence(table)}::pg_catalog.regclass))"


def ids_rights_ddl(table: str, role: str) -> str:
    """The statement that lets a role draw ids; `role` is quoted."""
    body = f"BEGIN EXECUTE pg_catalog.concat({_grant(table)}, {quote_literal(f' TO {role}')}); END"
    return f"DO {quote_literal(body)};"


def ids_granted_ddl(table: str) -> str:
    """The statement that lets the roles that may already add to the queue draw ids."""
    return granted_ddl(table, _grant(table))


def _grant(table: str) -> str:
    return f"pg_catalog.concat('GRANT USAGE ON SEQUENCE ', {_sequence(table)})"


def _sequence(table: str) -> str:
    return f"pg_catalog.pg_get_serial_sequence({quote_literal(table)}, 'job_id')"
