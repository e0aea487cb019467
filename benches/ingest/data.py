"""The rows to copy, read before the measurement begins."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import colonnade

if TYPE_CHECKING:
    from colonnade.columns import Columns


def source_table(sql: str) -> str:
    """The name of the table that is read."""
    return sql.rpartition(" ")[2]


def target_table(sql: str) -> tuple[str, str]:
    """The schema and name of the table that is filled."""
    schema, _, name = source_table(sql).partition(".")
    return schema, f"{name}_in"


def empty_target(dsn: str, sql: str) -> None:
    """Recreate the table, unlogged to keep the server's share of the work small."""
    schema, name = target_table(sql)
    with colonnade.sync.connect(dsn) as connection:
        connection.execute(f"DROP TABLE IF EXISTS {schema}.{name}")
        connection.execute(
            f"CREATE UNLOGGED TABLE {schema}.{name} (LIKE {source_table(sql)}) "
            "WITH (autovacuum_enabled = off)"
        )


def read_columns(dsn: str, sql: str) -> Columns:
    """Read all rows as columns."""
    with colonnade.sync.connect(dsn) as connection:
        return connection.fetch_columns(sql)


def read_records(dsn: str, sql: str) -> list[tuple[object, ...]]:
    """Read all rows as tuples of Python objects."""
    with colonnade.sync.connect(dsn) as connection:
        return [tuple(row) for row in connection.fetch(sql)]


def read_bytes(dsn: str, sql: str) -> bytes:
    """Read all rows as the bytes of a binary COPY."""
    out = io.BytesIO()
    with colonnade.sync.connect(dsn) as connection:
        connection.copy_from_query(sql, output=out, format="binary")
    return out.getvalue()


def rows_in(status: str) -> int:
    """The row count in a command tag."""
    return int(status.rpartition(" ")[2])
