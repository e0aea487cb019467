"""Fetch a result as columns, and read it with three libraries without a copy."""

from __future__ import annotations

import asyncio

import duckdb

import colonnade
from colonnade import embedded

QUERY = """
    SELECT g AS id, 'shop ' || g % 7 AS shop, (g * 37 % 1000)::float8 / 10 AS price,
           '2026-01-01'::timestamptz + g * interval '1 minute' AS sold_at
    FROM generate_series(1, $1::int) g
"""


async def main(dsn: str) -> None:
    """Fetch once, then read the same memory with NumPy, Polars and DuckDB."""
    async with await colonnade.connect(dsn) as connection:
        sales = await connection.fetch_columns(QUERY, 100_000)
    print(sales)

    prices = sales["price"]
    print(f"NumPy: {prices.mean():.2f} on average over {len(prices)} sales")

    by_shop = sales.to_polars().group_by("shop").mean().sort("shop")
    print("Polars:", by_shop.select("shop", "price"))

    print("DuckDB:")
    print(duckdb.sql("SELECT shop, count(*) AS sold, max(price) FROM sales GROUP BY shop"))


if __name__ == "__main__":
    with embedded.start(tcp=True) as server:
        asyncio.run(main(server.dsn))
