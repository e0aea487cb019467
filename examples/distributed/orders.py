"""The table that both programs read, and the answer that PostgreSQL gives itself."""

from __future__ import annotations

from colonnade import sync

ROWS = 200_000
# Floats that are sums of quarters add up to the same number in any order.
CREATE = f"""
CREATE TABLE orders AS
SELECT i AS id, date '2020-01-01' + i % 365 AS day,
       (ARRAY['DE', 'JP', 'PT', 'US'])[i % 4 + 1] AS country,
       CASE WHEN i % 100 > 0 THEN (i % 1000) / 4.0::float8 END AS amount
FROM generate_series(1, {ROWS}) AS i;
ANALYZE orders;
"""


def prepared(dsn: str) -> dict[str, float]:
    """Make the table, and return the sum of each country."""
    with sync.connect(dsn) as connection:
        connection.execute(CREATE)
        rows = connection.fetch("SELECT country, sum(amount) FROM orders GROUP BY country")
        return {row["country"]: row["sum"] for row in rows}
