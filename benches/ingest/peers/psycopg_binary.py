"""psycopg's binary COPY, from a ready list of tuples."""

from __future__ import annotations

import types
from typing import Any

from benches.ingest.data import empty_target, read_records, target_table
from benches.measure.measurement import Fetched

TITLE = "psycopg copy, binary"
KIND = "rows"
REQUIRES = ("psycopg",)


def connect(dsn: str) -> Any:
    """Connect, and keep the DSN."""
    import psycopg

    link = psycopg.connect(dsn, autocommit=True)
    return types.SimpleNamespace(dsn=dsn, link=link, source=None, types=None)


def prepare(connection: Any, sql: str) -> None:
    """Read the table."""
    empty_target(connection.dsn, sql)
    connection.source = read_records(connection.dsn, sql)
    description = connection.link.execute(f"{sql} LIMIT 0").description
    connection.types = [column.type_code for column in description]


def fetch(connection: Any, sql: str) -> Fetched:
    """Copy the tuples in."""
    statement = f"COPY {'.'.join(target_table(sql))} FROM STDIN (FORMAT binary)"
    with connection.link.cursor() as cursor:
        with cursor.copy(statement) as copy:
            copy.set_types(connection.types)
            for record in connection.source:
                copy.write_row(record)
        return Fetched(None, cursor.rowcount)


def close(connection: Any) -> None:
    """Close the connection."""
    connection.link.close()
