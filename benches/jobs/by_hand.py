"""A queue as a program writes it by hand on asyncpg: a table, SKIP LOCKED, and arrays of ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

_CREATE = """
CREATE TABLE by_hand (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_at timestamptz NOT NULL DEFAULT now(),
    locked_until timestamptz,
    attempts int NOT NULL DEFAULT 0,
    user_id bigint,
    body text
)
"""
_GET = """
UPDATE by_hand SET locked_until = now() + interval '1 minute', attempts = attempts + 1
WHERE id = ANY (ARRAY(
    SELECT id FROM by_hand
    WHERE run_at <= now() AND (locked_until IS NULL OR locked_until < now())
    ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED
))
RETURNING id, attempts, user_id, body
"""
_ACK = "DELETE FROM by_hand WHERE id = ANY ($1)"


async def create(connection: Any) -> None:
    """Make the table."""
    await connection.execute(_CREATE)


async def add(connection: Any, records: Sequence[tuple[int, str]]) -> None:
    """Add jobs by COPY."""
    columns = ["user_id", "body"]
    await connection.copy_records_to_table("by_hand", records=records, columns=columns)


async def work_off(connection: Any, batch: int) -> None:
    """Get and acknowledge until nothing is left."""
    while rows := await connection.fetch(_GET, batch):
        await connection.execute(_ACK, [row["id"] for row in rows])
