"""Makes the table of each shape once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import colonnade

if TYPE_CHECKING:
    from benches.shapes import Shape

SCHEMA = "colonnade_bench"


@dataclass(frozen=True)
class Table:
    """A shape's table on the server."""

    shape: Shape
    rows: int

    @property
    def name(self) -> str:
        """The name with its schema; tables of several sizes live side by side."""
        return f"{SCHEMA}.{self.shape.name}_{self.rows}"

    @property
    def query(self) -> str:
        """The query of every peer: a plain scan, to keep the server's share of the work small."""
        return f"SELECT * FROM {self.name}"


async def server_version(dsn: str) -> str:
    """Ask the server for its version."""
    connection = await colonnade.connect(dsn)
    try:
        return str(await connection.fetchval("SELECT version()"))
    finally:
        await connection.close()


async def ensure(dsn: str, table: Table) -> None:
    """Make the table unless it exists with the same definition, and read it once."""
    connection = await colonnade.connect(dsn)
    try:
        await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        fingerprint = table.shape.fingerprint(table.rows)
        found = await connection.fetchval(
            "SELECT obj_description(to_regclass($1), 'pg_class')", table.name
        )
        if found != fingerprint:
            await connection.execute(f"DROP TABLE IF EXISTS {table.name}")
            await connection.execute(table.shape.create_sql(table.name, table.rows))
            # Freeze the rows, so that no later scan checks their visibility or writes hint bits.
            await connection.execute(f"VACUUM (FREEZE, ANALYZE) {table.name}")
            await connection.execute(f"COMMENT ON TABLE {table.name} IS '{fingerprint}'")
        await connection.execute(f"SELECT count(*) FROM {table.name}")
    finally:
        await connection.close()
