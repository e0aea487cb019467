"""Many tasks on few connections, and several queries in one round trip."""

from __future__ import annotations

import asyncio

import colonnade
from colonnade import embedded


async def price_of(pool: colonnade.Pool, item: int) -> float:
    """Run the query of one request to a service."""
    price: float = await pool.fetchval("SELECT ($1::int * 37 % 1000)::float8 / 10", item)
    return price


async def main(dsn: str) -> None:
    """Serve a thousand requests with four connections, then send three queries together."""
    async with colonnade.create_pool(dsn, min_size=1, max_size=4) as pool:
        prices = await asyncio.gather(*(price_of(pool, item) for item in range(1000)))
        stats = pool.get_stats()
        print(f"{len(prices)} prices, {max(prices)} at most, by {stats.size} connections")
        print(f"longest wait for a connection: {stats.wait_seconds_max * 1e3:.1f} ms")

        async with pool.acquire() as connection:
            async with connection.pipeline() as pipeline:
                version = pipeline.fetchval("SHOW server_version")
                now = pipeline.fetchval("SELECT now()")
                rows = pipeline.fetch("SELECT g, g * g AS square FROM generate_series(1, 3) g")
            print("PostgreSQL", version.result(), "at", now.result())
            print(*rows.result(), sep="\n")
            print(connection.last_timing)


if __name__ == "__main__":
    with embedded.start(tcp=True) as server:
        asyncio.run(main(server.dsn))
