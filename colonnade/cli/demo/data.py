"""Puts the demo's tables on the server, in a schema of their own, and takes them away again."""

from __future__ import annotations

import secrets
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import colonnade
from colonnade.cli.demo import flights
from colonnade.cli.measure.shapes import SEED

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

#: What the table of generated rows is called.
ROWS_TABLE = "observations"


#: What the demo's own SQL means, whatever the server's search path has in store.
_OWN_WORDS = "SET LOCAL search_path TO pg_catalog, pg_temp"


@asynccontextmanager
async def plain_words(connection: colonnade.Connection) -> AsyncGenerator[None, None]:
    """A transaction in which names without a schema are those of PostgreSQL itself.

    The demo shows the SQL that it runs, and tables are made of expressions that people read.
    """
    async with connection.transaction():
        await connection.execute(_OWN_WORDS)
        yield


@asynccontextmanager
async def connected(dsn: str) -> AsyncGenerator[colonnade.Connection, None]:
    """Connect for the length of a block."""
    connection = await colonnade.connect(dsn)
    try:
        yield connection
    finally:
        await connection.close()


async def create_schema(dsn: str) -> str:
    """Make a schema under a name that nobody else has."""
    schema = f"colonnade_demo_{secrets.token_hex(4)}"
    async with connected(dsn) as connection:
        await connection.execute(f"CREATE SCHEMA {schema}")
    return schema


async def drop_schema(dsn: str, schema: str) -> None:
    """Take everything away."""
    async with connected(dsn) as connection:
        await connection.execute(f"DROP SCHEMA {schema} CASCADE")


async def server_version(dsn: str) -> str:
    """Ask the server what it is."""
    async with connected(dsn) as connection:
        return str(await connection.fetchval("SELECT pg_catalog.version()"))


async def load(
    dsn: str, schema: str, rows: int, directory: Path, report: Callable[[str], None]
) -> None:
    """Make and fill all tables, telling each to `report`."""
    async with connected(dsn) as connection:
        for data_file in flights.DATA_FILES:
            report(data_file.table)
            table = f"{schema}.{data_file.table}"
            async with plain_words(connection):
                await connection.execute(f"CREATE UNLOGGED TABLE {table} ({data_file.columns})")
            await connection.copy_to_table(
                data_file.table,
                source=data_file.chunks(directory),
                schema_name=schema,
                format="csv",
                header=True,
                null=flights.NULL,
            )
            await connection.execute(f"VACUUM (FREEZE, ANALYZE) {table}")
        report(ROWS_TABLE)
        table = f"{schema}.{ROWS_TABLE}"
        async with plain_words(connection):
            await connection.execute(SEED.create_sql(table, rows))
        await connection.execute(f"VACUUM (FREEZE, ANALYZE) {table}")
