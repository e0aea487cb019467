"""Knowledge about statements that outlives what it was learnt from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
import pytest

import colonnade
from colonnade import dbapi

if TYPE_CHECKING:
    from tests.reports.situations import Doors

#: The type of a column before and after, a text, and what is stored, as with psycopg.
CHANGES = (
    ("int", "text", "007"),
    ("float8", "numeric", "0.12345678901234567890"),
    ("timestamp", "timestamptz", "2024-01-05 00:00+05"),
    ("jsonb", "json", '{"b":1,  "a":2}'),
    ("date", "text", "2024-1-5"),
    ("bool", "text", "yes"),
    ("uuid", "text", "{00112233-4455-6677-8899-AABBCCDDEEFF}"),
)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("end", ["ON COMMIT DROP", "ROLLBACK", "another connection"])
def test_a_column_of_another_type(
    dsn: str, conn: dbapi.Connection, change: tuple[str, str, str], end: str
) -> None:
    """MagicStack/asyncpg#458, psycopg/psycopg#1307: the text is stored as the new type reads it."""
    with psycopg.connect(dsn) as peer:
        assert stored(dsn, conn, change, end) == stored(dsn, peer, change, end)


def stored(dsn: str, conn: Any, change: tuple[str, str, str], end: str) -> Any:
    before, after, text = change
    first = {"int": "1", "float8": "1", "timestamp": "2024-01-01", "jsonb": "1", "bool": "t"}
    plain = {"date": "2024-01-01", "uuid": "00112233-4455-6677-8899-aabbccddeeff"}
    value = {**first, **plain}[before]
    make = "CREATE TEMP TABLE changed (x {}) " + ("ON COMMIT DROP" if "DROP" in end else "")
    if end == "another connection":
        make = "CREATE TABLE changed (x {})"
    conn.execute(make.format(before))
    if end == "another connection":
        conn.commit()
    conn.execute("INSERT INTO changed VALUES (%s)", [value])
    if end == "ROLLBACK":
        conn.rollback()
    else:
        conn.commit()
    if end == "another connection":
        with colonnade.sync.connect(dsn) as other:
            other.execute(f"DROP TABLE changed; CREATE TABLE changed (x {after})")
    else:
        conn.execute(make.format(after))
    conn.execute("INSERT INTO changed VALUES (%s)", [text])
    found = conn.execute("SELECT x::text FROM changed").fetchone()
    conn.rollback()
    if end == "another connection":
        with colonnade.sync.connect(dsn) as other:
            other.execute("DROP TABLE changed")
    return found


def test_a_schema_for_each_transaction(dsn: str) -> None:
    """MagicStack/asyncpg#72, sqlalchemy/sqlalchemy#6645: SET LOCAL search_path, other shapes."""
    with colonnade.sync.connect(dsn) as other:
        for name, kind in (("tenant_a", "int"), ("tenant_b", "text")):
            other.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE; CREATE SCHEMA {name}")
            other.execute(
                f"CREATE TABLE {name}.shape (x {kind}); INSERT INTO {name}.shape VALUES ('7')"
            )
    with dbapi.connect(dsn) as conn:
        for _ in range(4):
            for name, right in (("tenant_a", 7), ("tenant_b", "7")):
                conn.execute(f"SET LOCAL search_path = {name}")
                assert conn.execute("SELECT x FROM shape WHERE x = %s", ["7"]).fetchone() == (
                    right,
                )
                conn.commit()
    with colonnade.sync.connect(dsn) as other:
        other.execute("DROP SCHEMA tenant_a CASCADE; DROP SCHEMA tenant_b CASCADE")


def test_a_type_made_again(doors: Doors) -> None:
    """sqlalchemy/sqlalchemy#6645, MagicStack/asyncpg#1078: an enum dropped and made again."""
    for _ in range(4):
        doors.core.execute("DROP TYPE IF EXISTS again; CREATE TYPE again AS ENUM ('a')")
        assert doors.core.fetchval("SELECT $1::again", "a") == "a"
    doors.core.execute("DROP TYPE again")
