"""The DDL that all layouts share: schema, table of queues, dead letters, rights."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from colonnade._driver.sql.quoting import quote_identifier, quote_literal
from colonnade.jobs._layouts.staging import staging_ddl, staging_rights_ddl
from colonnade.jobs._table_owner import guard_ddl
from colonnade.jobs.definition import REGISTRY, columns_ddl

if TYPE_CHECKING:
    from collections.abc import Mapping

    from colonnade.jobs._layouts.base import Layout


def registry(schema: str) -> str:
    """The table of the schema's queues, quoted."""
    return f"{quote_identifier(schema)}.{quote_identifier(REGISTRY)}"


def lock_key(schema: str) -> int:
    """The key of the advisory lock under which queues of a schema are made and dropped."""
    digest = blake2b(f"colonnade.jobs\0{schema}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def schema_ddl(schema: str) -> str:
    """The statement that makes the schema."""
    return f"CREATE SCHEMA IF NOT EXISTS {quote_identifier(schema)};"


def registry_ddl(schema: str) -> str:
    """The statement that makes the table of queues. All roles may read it: it has no jobs."""
    return (
        f"CREATE TABLE IF NOT EXISTS {registry(schema)} (\n"
        "    name pg_catalog.text PRIMARY KEY,\n"
        "    layout pg_catalog.text NOT NULL,\n"
        "    version integer NOT NULL,\n"
        "    settings pg_catalog.jsonb NOT NULL,\n"
        "    created_at pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.now()\n);"
    )


def queue_tables_ddl(layout: Layout) -> str:
    """The statements that make a queue's tables and its row in the table of queues.

    The first one refuses a table of queues that a stranger has made, even a moment ago.
    """
    definition = layout.definition
    return (
        f"{guard_ddl(definition.schema)}\n"
        f"{layout.tables_ddl()}\n"
        f"{staging_ddl(definition)}\n"
        f"CREATE TABLE {definition.dead_table} (\n"
        "    job_id bigint PRIMARY KEY,\n"
        "    job_priority smallint NOT NULL,\n"
        "    job_attempts smallint NOT NULL,\n"
        "    job_key pg_catalog.text,\n"
        "    job_trace pg_catalog.text,\n"
        "    job_reason pg_catalog.text NOT NULL,\n"
        "    job_errors pg_catalog.text[],\n"
        "    job_died_at pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.now(),\n"
        f"{columns_ddl(definition.payload)}\n"
        ");\n"
        f"INSERT INTO {registry(definition.schema)} (name, layout, version, settings)"
        f" VALUES ( {quote_literal(definition.name)}, '{layout.name}', {layout.version},"
        f" {quote_literal(definition.settings)});"
    )


def drop_ddl(layout: Layout) -> str:
    """The statements that drop a queue with all its jobs and dead letters."""
    definition = layout.definition
    return (
        f"{layout.drop_ddl()}\n"
        f"DROP TABLE {definition.dead_table}, {definition.staging_table};\n"
        f"DELETE FROM {registry(definition.schema)} WHERE name OPERATOR(pg_catalog.=)"
        f" {quote_literal(definition.name)};"
    )


def rights_ddl(layout: Layout, role: str) -> str:
    """The rights to add and process the jobs of this queue, and of no other."""
    grantee = quote_identifier(role)
    schema = layout.definition.schema
    return (
        f"GRANT USAGE ON SCHEMA {quote_identifier(schema)} TO {grantee};\n"
        f"GRANT SELECT ON {registry(schema)} TO {grantee};\n"
        f"{layout.rights_ddl(grantee)}\n"
        f"{staging_rights_ddl(layout.definition, grantee)}\n"
        f"GRANT SELECT, INSERT, DELETE ON {layout.definition.dead_table} TO {grantee};"
    )


def sample_ddl(payload: Mapping[str, str]) -> str:
    """A table that lasts for the transaction, to learn how the server spells the types."""
    columns = columns_ddl(payload)
    return f"CREATE TEMPORARY TABLE pg_temp.colonnade_wanted (\n{columns}\n) ON COMMIT DROP"
