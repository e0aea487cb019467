"""Creates the demo's tables in a schema of their own, and drops the schema at the end."""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING

import colonnade.sync
from colonnade.cli.demo import flights

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path


@contextmanager
def loaded(dsn: str | None, directory: Path) -> Generator[colonnade.sync.Connection, None, None]:
    """Load the tables and yield a connection that finds them by unqualified names.

    The connection is in a transaction. The schema is dropped even if the block raises.
    """
    schema = f"colonnade_demo_{secrets.token_hex(4)}"
    try:
        with colonnade.sync.connect(dsn) as connection:
            connection.execute(f"CREATE SCHEMA {schema}")
            for data_file in flights.DATA_FILES:
                _load(connection, schema, data_file, directory)
            with _plain_names(connection, schema):
                yield connection
    finally:
        # After an interrupt the first connection may be unusable.
        with colonnade.sync.connect(dsn) as connection:
            connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


def _load(
    connection: colonnade.sync.Connection,
    schema: str,
    data_file: flights.DataFile,
    directory: Path,
) -> None:
    table = f"{schema}.{data_file.table}"
    with _plain_names(connection, schema):
        connection.execute(f"CREATE UNLOGGED TABLE {table} ({data_file.columns})")
    connection.copy_to_table(
        data_file.table,
        source=data_file.chunks(directory),
        schema_name=schema,
        format="csv",
        header=True,
        null=flights.NULL,
    )
    connection.execute(f"VACUUM (FREEZE, ANALYZE) {table}")


@contextmanager
def _plain_names(connection: colonnade.sync.Connection, schema: str) -> Generator[None, None, None]:
    """Run a transaction whose search path has only pg_catalog and the demo's schema.

    So the SQL that the demo prints needs no schema before each name.
    """
    with connection.transaction():
        connection.execute(f"SET LOCAL search_path TO pg_catalog, {schema}, pg_temp")
        yield
