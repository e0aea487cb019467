"""Notifications as an async iterator, which reconnects when the connection is lost."""

from __future__ import annotations

import asyncio

import colonnade
from colonnade import embedded


async def tell(dsn: str) -> None:
    """Send the notifications that `main` waits for."""
    async with await colonnade.connect(dsn) as connection:
        for step in ("one", "two", "last"):
            await connection.execute("SELECT pg_notify('steps', $1)", step)


async def main(dsn: str) -> None:
    """Print the notifications until the last one, and each gap in which some may be lost."""
    async with colonnade.listen(dsn, "steps", on_gap=print) as notifications:
        telling = asyncio.create_task(tell(dsn))
        async for notification in notifications:
            print(f"{notification.channel}: {notification.payload}")
            if notification.payload == "last":
                break
        await telling


if __name__ == "__main__":
    with embedded.start(tcp=True) as server:
        asyncio.run(main(server.dsn))
