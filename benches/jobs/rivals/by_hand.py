"""A queue as a program writes it by hand on asyncpg: a table, SKIP LOCKED, and arrays of ids."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import asyncpg

from benches.jobs.rivals.rival import TEXT

if TYPE_CHECKING:
    from collections.abc import Callable

_CREATE = """
CREATE TABLE IF NOT EXISTS by_hand (
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
_POLL_S = 1.0


class ByHand:
    """Connections of asyncpg: one adds, one works, one listens."""

    name = "SKIP LOCKED by hand, asyncpg"
    jobs_most = 10**9

    async def open(self, dsn: str) -> None:
        """Make the table."""
        self._adder, self._worker, self._ear = [await asyncpg.connect(dsn) for _ in range(3)]
        await self._adder.execute(_CREATE)

    async def close(self) -> None:
        """Close the connections."""
        for connection in (self._adder, self._worker, self._ear):
            await connection.close()

    async def add(self, count: int) -> None:
        """One COPY of records."""
        records = [(number, TEXT) for number in range(count)]
        columns = ["user_id", "body"]
        await self._adder.copy_records_to_table("by_hand", records=records, columns=columns)

    async def work_off(self, batch: int) -> None:
        """Get and acknowledge until nothing is left."""
        while rows := await self._worker.fetch(_GET, batch):
            await self._worker.execute(_ACK, [row["id"] for row in rows])

    async def add_one(self, number: int) -> None:
        """Insert and notify, in one transaction."""
        async with self._adder.transaction():
            await self._adder.execute("INSERT INTO by_hand (user_id) VALUES ($1)", number)
            await self._adder.execute("NOTIFY by_hand")

    async def serve(self, arrived: Callable[[int], None]) -> None:
        """Wait for notifications, and look each second besides."""
        bell = asyncio.Event()

        def ring(*_: Any) -> None:
            bell.set()

        await self._ear.add_listener("by_hand", ring)
        while True:
            while rows := await self._worker.fetch(_GET, 1000):
                for row in rows:
                    arrived(row["user_id"])
                await self._worker.execute(_ACK, [row["id"] for row in rows])
            try:
                await asyncio.wait_for(bell.wait(), _POLL_S)
            except TimeoutError:
                continue
            bell.clear()
